import { LIMITS } from '../../protocol/limits.js'
import type { AnswerDelta } from '../../model/model-answer.js'
import { noteFleeting } from '../../store/changes.js'
import { appendDelta } from '../../store/deltas.js'
import type { NewDelta } from '../../store/deltas.js'
import { isHeld } from '../../store/operations.js'
import { StoreError } from '../../store/store-error.js'
import type { Store } from '../../store/store.js'
import { operationOf } from './model-step.js'
import type { ModelStep } from './model-step.js'

type Kind = AnswerDelta['kind']

/**
 * Streams an answer into the store for subscribers: the first text at once, then in small batches. What comes while a
 * batch is being written waits for it as one: a store that is slow makes larger batches, not a line of them.
 */
export interface DeltaWriter {
  add(delta: AnswerDelta): void
  /** The request of this number begins: its text starts at offset 0. */
  begin(request: number): void
  /** Waits for what is being written; nothing is added after this. */
  done(): Promise<void>
}

export function writeDeltas(store: Store, step: ModelStep): DeltaWriter {
  let attempt = 1
  let offsets: Record<Kind, number> = { text: 0, reasoning: 0 }
  let waiting: NewDelta[] = []
  let waitingLength = 0
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> | null = null
  let lastWrite = 0

  function flush(): void {
    if (timer !== null) clearTimeout(timer)
    timer = null
    if (waiting.length === 0 || writing !== null) return
    const deltas = waiting
    waiting = []
    waitingLength = 0
    lastWrite = performance.now()
    const written = write(store, step, deltas).then(() => {
      writing = null
      schedule()
    })
    // What is no StoreError is a bug: `done` throws it, and nothing is written any more.
    written.catch(() => undefined)
    writing = written
  }

  function schedule(): void {
    const age = performance.now() - lastWrite
    if (waitingLength >= LIMITS.deltaBytes || age >= LIMITS.deltaInterval) flush()
    else if (waiting.length > 0) timer ??= setTimeout(flush, LIMITS.deltaInterval - age)
  }

  return {
    add({ kind, text }) {
      if (text.length === 0) return
      merge(waiting, {
        threadId: step.input.threadId,
        messageId: step.messageId,
        attempt,
        kind,
        offset: offsets[kind],
        text,
      })
      offsets[kind] += text.length
      waitingLength += text.length
      schedule()
    },
    begin(request) {
      flush()
      attempt = request
      offsets = { text: 0, reasoning: 0 }
    },
    async done() {
      flush()
      while (writing !== null) {
        await writing
        flush()
      }
    },
  }
}

/** Joins text that follows on the last waiting delta. */
function merge(waiting: NewDelta[], delta: NewDelta): void {
  const last = waiting.at(-1)
  const follows = last?.kind === delta.kind && last.attempt === delta.attempt
  if (last !== undefined && follows) waiting[waiting.length - 1] = { ...last, text: last.text + delta.text }
  else waiting.push(delta)
}

/**
 * Deltas are a convenience: a store that cannot take them costs the live text, never the answer. A worker that was given
 * up and does not know it streams to nobody: its text would stand among its successor's (T4).
 */
async function write(store: Store, step: ModelStep, deltas: readonly NewDelta[]): Promise<void> {
  const held = { ...operationOf(step.input), attempt: step.attempt }
  try {
    await store.write(async (tx) => {
      noteFleeting(tx)
      if (!(await isHeld(tx, held))) return
      for (const delta of deltas) await appendDelta(tx, delta)
    })
  } catch (error) {
    if (!StoreError.isInstance(error)) throw error
  }
}
