import { LIMITS } from '../../protocol/limits.js'
import type { AnswerDelta } from '../../model/model-answer.js'
import type { Store } from '../../store/store.js'
import type { ModelStep } from './model-step.js'
import { createStreamedText } from './streamed-text.js'
import { createWaitingText } from './waiting-text.js'

/**
 * Streams an answer into the store for subscribers: the first text at once, then in small batches. What comes while a
 * batch is being written waits for it as one: a store that is slow makes larger batches, not a line of them. A batch that
 * the store could not take goes before what waits, so that the text has no gap; it is never more than one answer.
 */
export interface DeltaWriter {
  add(delta: AnswerDelta): void
  /** The request of this number begins: its text starts at offset 0. */
  begin(request: number): void
  /** Waits for what is being written; nothing is added after this. */
  done(): Promise<void>
}

export function writeDeltas(store: Store, step: ModelStep): DeltaWriter {
  const streamed = createStreamedText(store, step)
  const waiting = createWaitingText({ threadId: step.input.threadId, messageId: step.messageId })
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> | null = null
  let lastWrite = 0
  /** Of a store that has just refused. */
  let notBefore = 0
  let ended = false

  function flush(): void {
    if (timer !== null) clearTimeout(timer)
    timer = null
    if (waiting.length === 0 || writing !== null) return
    const deltas = waiting.take()
    lastWrite = performance.now()
    const written = streamed.append(deltas).then((taken) => {
      writing = null
      if (!taken) {
        notBefore = performance.now() + LIMITS.deltaRetry
        // Without it what follows would stand behind a gap, and the message comes at once.
        if (ended) waiting.take()
        else waiting.giveBack(deltas)
      }
      schedule()
    })
    // What is no StoreError is a bug: `done` throws it, and nothing is written any more.
    written.catch(() => undefined)
    writing = written
  }

  function schedule(): void {
    const { length } = waiting
    if (length === 0 || writing !== null) return
    const due = length >= LIMITS.deltaBytes ? 0 : lastWrite + LIMITS.deltaInterval
    const pause = Math.max(due, notBefore) - performance.now()
    if (pause <= 0) flush()
    else timer ??= setTimeout(flush, pause)
  }

  return {
    add({ kind, text }) {
      if (text.length === 0) return
      waiting.add(kind, text)
      schedule()
    },
    begin(request) {
      flush()
      waiting.begin(request)
      streamed.begin(request)
    },
    async done() {
      ended = true
      flush()
      while (writing !== null) {
        await writing
        flush()
      }
    },
  }
}
