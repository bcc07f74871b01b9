import { LIMITS } from '../../protocol/limits.js'
import type { AnswerDelta } from '../../model/model-answer.js'
import type { NewDelta } from '../../store/deltas.js'
import type { Store } from '../../store/store.js'
import { joinDeltas } from './join-deltas.js'
import type { ModelStep } from './model-step.js'
import { createStreamedText } from './streamed-text.js'

type Kind = AnswerDelta['kind']

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
  let attempt = 1
  let offsets: Record<Kind, number> = { text: 0, reasoning: 0 }
  let waiting: readonly NewDelta[] = []
  let waitingLength = 0
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
    const deltas = waiting
    setWaiting([])
    lastWrite = performance.now()
    const written = streamed.append(deltas).then((taken) => {
      writing = null
      if (!taken) refused(deltas)
      schedule()
    })
    // What is no StoreError is a bug: `done` throws it, and nothing is written any more.
    written.catch(() => undefined)
    writing = written
  }

  function refused(deltas: readonly NewDelta[]): void {
    notBefore = performance.now() + LIMITS.deltaRetry
    // Without it what follows would stand behind a gap, and the message comes at once.
    const again = ended ? [] : [...deltas, ...waiting]
    setWaiting(joinDeltas(again.filter((delta) => delta.attempt === attempt)))
  }

  function setWaiting(deltas: readonly NewDelta[]): void {
    waiting = deltas
    waitingLength = deltas.reduce((length, { text }) => length + text.length, 0)
  }

  function schedule(): void {
    if (waiting.length === 0 || writing !== null) return
    const due = waitingLength >= LIMITS.deltaBytes ? 0 : lastWrite + LIMITS.deltaInterval
    const pause = Math.max(due, notBefore) - performance.now()
    if (pause <= 0) flush()
    else timer ??= setTimeout(flush, pause)
  }

  return {
    add({ kind, text }) {
      if (text.length === 0) return
      const { threadId } = step.input
      const delta = { threadId, messageId: step.messageId, attempt, kind, offset: offsets[kind], text }
      waiting = joinDeltas([...waiting, delta])
      offsets[kind] += text.length
      waitingLength += text.length
      schedule()
    },
    begin(request) {
      flush()
      attempt = request
      offsets = { text: 0, reasoning: 0 }
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
