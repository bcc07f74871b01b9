import type { AnswerDelta, WrittenCall } from '../../model/model-answer.js'
import { LIMITS } from '../../protocol/limits.js'
import { noteFleeting } from '../../store/changes.js'
import { appendDelta, countDeltas } from '../../store/messages/deltas.js'
import type { DeltaCall, NewDelta } from '../../store/messages/deltas.js'
import { isHeld } from '../../store/operations.js'
import type { Store } from '../../store/store.js'
import { StoreError } from '../../store/store-error.js'
import { answerCallId, toStreamedMessage } from './model-step.js'
import type { ModelStep } from './model-step.js'

/** Deltas of a stream are written at once, then in batches of this age or size. */
const BATCH_INTERVAL = 10
const BATCH_BYTES = 1024

/** Milliseconds that arguments of calls wait, unless text takes them along: most are written sooner, and then cost nothing. */
const ARGS_PAUSE = 100

/** Characters of the arguments of one request's calls, together. */
const ARGS_LENGTH = 64 * 1024

/** After a batch that the store could not take: the store itself has waited already. */
const RETRY_PAUSE = 500

/** How long a stream checks that its last rows are there (`LIMITS.deltaLook`). */
export const FLEETING = 2_000

/**
 * Streams an answer into the store for subscribers: the first text at once, then in small batches.
 * Owns: the size and time of batches, retries of failed batches, and the repair of text that a killed database has
 * lost.
 * Does not own: the answer itself, which is committed with its operation. Live text is never the only copy.
 * Text that arrives during a write becomes the next batch: with a slow store batches grow, and their number does not.
 * Arguments of calls go with the text; alone they are written ten times in a second at most, and not at the end, where the answer follows.
 * A failed batch is written again before newer text, so that the text has no gap. At most one answer is held in
 * memory.
 */
interface DeltaWriter {
  add(delta: AnswerDelta): void
  /** Begins the request with this number, whose text starts at offset 0. */
  begin(request: number): void
  /** Writes the rest, and waits for it; nothing may be added afterwards. */
  finish(): Promise<void>
}

export function writeDeltas(store: Store, step: ModelStep): DeltaWriter {
  const streamed = createStreamedText(store, step)
  const waiting = createWaitingText({ threadId: step.input.threadId, messageId: step.messageId })
  const alarm = createAlarm(flush)
  let writing: Promise<void> | null = null
  let lastWrite = 0
  /** When the oldest of what waits came. */
  let since = 0
  /** The time before which a store that has failed is not called again. */
  let notBefore = 0
  let ended = false

  function flush(): void {
    alarm.clear()
    if (waiting.length === 0 || writing !== null) return
    const deltas = waiting.take()
    lastWrite = performance.now()
    const written = streamed.append(deltas).then((taken) => {
      writing = null
      if (!taken) {
        notBefore = performance.now() + RETRY_PAUSE
        // Text after a gap is useless, and the whole message follows at once.
        if (ended) waiting.take()
        else waiting.giveBack(deltas)
      }
      schedule()
    })
    // Any error other than a StoreError is a bug: `finish` throws it, and nothing more is written.
    written.catch(() => undefined)
    writing = written
  }

  function schedule(): void {
    const { length, isArgs } = waiting
    if (length === 0 || writing !== null) return
    const due = isArgs ? since + ARGS_PAUSE : length >= BATCH_BYTES ? 0 : lastWrite + BATCH_INTERVAL
    const at = Math.max(due, notBefore)
    if (at <= performance.now()) flush()
    else alarm.set(at)
  }

  return {
    add(delta) {
      if (delta.text.length === 0) return
      if (waiting.length === 0) since = performance.now()
      if (delta.kind === 'args') waiting.add('args', delta.text, callOf(step, delta.call))
      else waiting.add(delta.kind, delta.text)
      schedule()
    },
    begin(request) {
      if (waiting.isArgs) waiting.take()
      flush()
      waiting.begin(request)
      streamed.begin(request)
    },
    async finish() {
      ended = true
      if (waiting.isArgs) waiting.take()
      flush()
      while (writing !== null) {
        await writing
        flush()
      }
    },
  }
}

/** Calls once, at the earliest of the times of `performance` that were set. */
function createAlarm(call: () => void) {
  let timer: { readonly id: NodeJS.Timeout; readonly at: number } | null = null
  function clear(): void {
    if (timer !== null) clearTimeout(timer.id)
    timer = null
  }
  return {
    clear,
    set(at: number): void {
      if (timer !== null && timer.at <= at) return
      clear()
      timer = { id: setTimeout(call, at - performance.now()), at }
    },
  }
}

function callOf(step: ModelStep, { index, name }: WrittenCall): WaitingCall {
  return { id: answerCallId(step, index), name }
}

/** The text of an answer that is in the store so far. */
interface StreamedText {
  /** False if the store has failed. */
  append(deltas: readonly NewDelta[]): Promise<boolean>
  /** Forgets the text of earlier attempts. */
  begin(attempt: number): void
}

interface Row {
  readonly id: number
  readonly at: number
}

/**
 * A killed database loses its newest rows of live text, because these writes do not wait for its disk. Recent rows
 * are therefore looked up once a second, and after a write of more than a second, during which the database may have
 * restarted. If a row is missing, the whole text is written again, and readers skip the text that they have.
 */
export function createStreamedText(store: Store, step: ModelStep): StreamedText {
  let attempt = 1
  let text: readonly NewDelta[] = []
  /** Rows that may not be on the disk yet. The older ones are dropped after a look-up that finds all of them. */
  let recent: readonly Row[] = []
  let looked = performance.now()

  async function isLost(): Promise<boolean> {
    const began = performance.now()
    const ids = recent.map(({ id }) => id)
    const found =
      ids.length === 0 ? 0 : await store.read((db) => countDeltas(db, toStreamedMessage(step), ids))
    if (found < ids.length) return true
    looked = began
    recent = recent.filter((row) => began - row.at < FLEETING)
    return false
  }

  function isCurrent(delta: NewDelta): boolean {
    return delta.attempt === attempt
  }

  function recordWritten(deltas: readonly NewDelta[], ids: readonly number[]): void {
    const at = performance.now()
    text = joinDeltas([...text, ...deltas.filter(isCurrent)])
    if (deltas.every(isCurrent)) recent = [...recent, ...ids.map((id) => ({ id, at }))]
  }

  /** A failure of the store is ignored here, because the next write looks up the rows again. */
  async function restoreLost(): Promise<void> {
    const mended = attempt
    try {
      if (!(await isLost())) return
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
        recordWritten(deltas, await write(store, step, deltas))
      } catch (error) {
        if (!StoreError.isInstance(error)) throw error
        return false
      }
      if (performance.now() - looked >= LIMITS.deltaLook) await restoreLost()
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
 * A stale attempt writes nothing, because its text would mix with that of its successor (T4). Returns the ids of the
 * rows.
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

type WaitingCall = Pick<DeltaCall, 'id' | 'name'>

/** The text of an answer that is not in the store yet, each piece with its offset in the answer. */
interface WaitingText {
  /** Characters. */
  readonly length: number
  /** It is nothing but arguments of calls. */
  readonly isArgs: boolean
  /** `call` is that of `args`, of which the first `ARGS_LENGTH` characters of a request are taken. */
  add(kind: Kind, text: string, call?: WaitingCall): void
  /** Removes all of the text and returns it. */
  take(): readonly NewDelta[]
  /** Puts it back before newer text; text of earlier attempts is dropped. */
  giveBack(deltas: readonly NewDelta[]): void
  /** Begins the request with this number, whose text starts at offset 0. */
  begin(attempt: number): void
}

export function createWaitingText(message: Pick<NewDelta, 'threadId' | 'messageId'>): WaitingText {
  let attempt = 1
  /** By kind, and of a call by its id. */
  let offsets = new Map<string, number>()
  let halves = new Map<string, string>()
  let deltas: readonly NewDelta[] = []
  let room = ARGS_LENGTH
  return {
    get length() {
      return deltas.reduce((length, { text }) => length + text.length, 0)
    },
    get isArgs() {
      return deltas.every(({ kind }) => kind === 'args')
    },
    add(kind, piece, call) {
      const place = call?.id ?? kind
      const offset = offsets.get(kind) ?? 0
      const given = (halves.get(place) ?? '') + piece
      const isCut = kind === 'args' && given.length > room
      const whole = isCut ? given.slice(0, room) : given
      // Half of a surrogate pair cannot be stored; it is joined with the next piece.
      const half = HALF.exec(whole)?.[0] ?? ''
      halves.set(place, half)
      const text = whole.slice(0, whole.length - half.length)
      if (kind === 'args') room = isCut ? 0 : room - text.length
      if (text === '') return
      const before = offsets.get(place) ?? 0
      const of = call === undefined ? {} : { call: { ...call, offset: before } }
      deltas = joinDeltas([...deltas, { ...message, attempt, kind, offset, text, ...of }])
      offsets.set(place, before + text.length)
      if (call !== undefined) offsets.set(kind, offset + text.length)
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
      offsets = new Map()
      halves = new Map()
      room = ARGS_LENGTH
    },
  }
}

const HALF = /[\uD800-\uDBFF]?$/

/** Joins each delta with the previous one if both have the same kind, attempt and call. */
function joinDeltas(deltas: readonly NewDelta[]): readonly NewDelta[] {
  const joined: NewDelta[] = []
  for (const delta of deltas) {
    const last = joined.at(-1)
    if (last?.kind === delta.kind && last.attempt === delta.attempt && last.call?.id === delta.call?.id)
      joined[joined.length - 1] = { ...last, text: last.text + delta.text }
    else joined.push(delta)
  }
  return joined
}

/** For a request whose text nobody reads while it is written. */
export const NO_STREAM: DeltaWriter = {
  add: () => undefined,
  begin: () => undefined,
  finish: async () => undefined,
}
