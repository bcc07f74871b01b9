import type { AnswerDelta } from '../../model/model-answer.js'
import { LIMITS } from '../../protocol/limits.js'
import { noteFleeting } from '../../store/changes.js'
import { appendDelta, countDeltas } from '../../store/messages/deltas.js'
import type { NewDelta } from '../../store/messages/deltas.js'
import { isHeld } from '../../store/operations.js'
import { StoreError } from '../../store/store-error.js'
import type { Store } from '../../store/store.js'
import { streamedMessage } from './model-step.js'
import type { ModelStep } from './model-step.js'

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

/** What an answer has streamed into the store so far. */
interface StreamedText {
  /** False: the store could not take it. */
  append(deltas: readonly NewDelta[]): Promise<boolean>
  /** The text of earlier attempts is of no interest any more. */
  begin(attempt: number): void
}

interface Row {
  readonly id: number
  readonly at: number
}

/**
 * A database that is killed forgets the last moments of what it took: nobody waits for live text to be on its disk. So what
 * was written lately is looked for each second, and after a write that took so long, for it may have waited for the
 * database to come back; if any of it is gone, the whole text is written again, and readers skip what they saw of it.
 */
export function createStreamedText(store: Store, step: ModelStep): StreamedText {
  let attempt = 1
  let text: readonly NewDelta[] = []
  /** Not known to be on the disk; only a look that finds all of them takes the older ones off. */
  let recent: readonly Row[] = []
  let looked = performance.now()

  async function isForgotten(): Promise<boolean> {
    const began = performance.now()
    const ids = recent.map(({ id }) => id)
    const found = ids.length === 0 ? 0 : await store.read((db) => countDeltas(db, streamedMessage(step), ids))
    if (found < ids.length) return true
    looked = began
    recent = recent.filter((row) => began - row.at < LIMITS.deltaFleeting)
    return false
  }

  function isCurrent(delta: NewDelta): boolean {
    return delta.attempt === attempt
  }

  function taken(deltas: readonly NewDelta[], ids: readonly number[]): void {
    const at = performance.now()
    text = joinDeltas([...text, ...deltas.filter(isCurrent)])
    if (deltas.every(isCurrent)) recent = [...recent, ...ids.map((id) => ({ id, at }))]
  }

  /** What fails here is looked for after the next write. */
  async function mend(): Promise<void> {
    const mended = attempt
    try {
      if (!(await isForgotten())) return
      const ids = await write(store, step, text)
      const at = performance.now()
      if (mended === attempt) recent = ids.map((id) => ({ id, at }))
    } catch (error) {
      if (!StoreError.isInstance(error)) throw error
    }
  }

  return {
    async append(deltas) {
      try {
        taken(deltas, await write(store, step, deltas))
      } catch (error) {
        if (!StoreError.isInstance(error)) throw error
        return false
      }
      if (performance.now() - looked >= LIMITS.deltaLook) await mend()
      return true
    },
    begin(next) {
      attempt = next
      text = []
      recent = []
    },
  }
}

/**
 * A worker that was given up and does not know it streams to nobody: its text would stand among its successor's (T4).
 * Answers the rows' ids.
 */
function write(store: Store, step: ModelStep, deltas: readonly NewDelta[]): Promise<readonly number[]> {
  return store.write(async (tx) => {
    noteFleeting(tx)
    if (!(await isHeld(tx, step.operation))) return []
    const ids: number[] = []
    for (const delta of deltas) ids.push(await appendDelta(tx, delta))
    return ids
  })
}

type Kind = AnswerDelta['kind']

/** Text of an answer that is not in the store yet, each piece with its place in the answer. */
interface WaitingText {
  /** Characters. */
  readonly length: number
  add(kind: Kind, text: string): void
  /** All of it; nothing waits then. */
  take(): readonly NewDelta[]
  /** It goes before what waits; text of earlier attempts is left out. */
  giveBack(deltas: readonly NewDelta[]): void
  /** The request of this number begins: its text starts at offset 0. */
  begin(attempt: number): void
}

export function createWaitingText(message: Pick<NewDelta, 'threadId' | 'messageId'>): WaitingText {
  let attempt = 1
  let offsets: Record<Kind, number> = { text: 0, reasoning: 0 }
  let halves: Record<Kind, string> = { text: '', reasoning: '' }
  let deltas: readonly NewDelta[] = []
  return {
    get length() {
      return deltas.reduce((length, { text }) => length + text.length, 0)
    },
    add(kind, piece) {
      const whole = halves[kind] + piece
      // Half a character: no row keeps it, and the other half comes with the next piece.
      halves[kind] = /[\uD800-\uDBFF]?$/.exec(whole)?.[0] ?? ''
      const text = whole.slice(0, whole.length - halves[kind].length)
      if (text === '') return
      deltas = joinDeltas([...deltas, { ...message, attempt, kind, offset: offsets[kind], text }])
      offsets[kind] += text.length
    },
    take() {
      const taken = deltas
      deltas = []
      return taken
    },
    giveBack(taken) {
      deltas = joinDeltas([...taken, ...deltas].filter((delta) => delta.attempt === attempt))
    },
    begin(next) {
      attempt = next
      offsets = { text: 0, reasoning: 0 }
      halves = { text: '', reasoning: '' }
    },
  }
}

/** Text that follows on the delta before it is one with it. */
function joinDeltas(deltas: readonly NewDelta[]): readonly NewDelta[] {
  const joined: NewDelta[] = []
  for (const delta of deltas) {
    const last = joined.at(-1)
    if (last?.kind === delta.kind && last.attempt === delta.attempt)
      joined[joined.length - 1] = { ...last, text: last.text + delta.text }
    else joined.push(delta)
  }
  return joined
}
