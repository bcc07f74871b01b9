/**
 * What the code of a call reports while it runs: its progress, and pieces of its output.
 *
 * Owns: the pace and the bounds of reports, and that no secret of the thread is in them. Does not own: their rows
 * (`store/messages/deltas.ts`), and how subscribers get them (`client/events/`).
 * Invariants: a call that reports nothing costs no statement. One write is under way at a time, and what comes meanwhile is joined. A stale
 * attempt writes nothing (T4). Reports fail no call, delay it at most by the write under way, and are never the only copy of anything: those that the store
 * cannot take are dropped. Each try begins anew under a higher number.
 */
import type { ToolCall } from '../../definitions/tool.js'
import type { ToolProgress } from '../../protocol/payloads/live-text.js'
import { isObject } from '../../protocol/values.js'
import { appendDelta, deleteDeltas, deleteProgress } from '../../store/messages/deltas.js'
import type { NewDelta } from '../../store/messages/deltas.js'
import { isHeld } from '../../store/operations.js'
import { StoreError } from '../../store/store-error.js'
import type { Store, Writer } from '../../store/store.js'
import { kindOf } from '../thread-state/strict-json.js'
import type { Redactor } from '../variables/redactor.js'
import type { HeldCall } from './held-call.js'

/** Milliseconds between two writes: people see a change within a tenth of a second as immediate. */
const PACE = 100

/** Characters of the output of one try. */
const OUTPUT_LENGTH = 64 * 1024

const CUT_OUTPUT = '\n[The rest of the output is not shown.]'

const MESSAGE_LENGTH = 1000

/** More than the tries of any attempt, so that those of the next attempt have higher numbers. */
const TRIES = 10_000

interface LiveReports extends Pick<ToolCall, 'progress' | 'output'> {
  /** Waits for the write that is under way, and drops what is not written: the outcome follows. */
  end(): Promise<void>
}

type CallOfReports = Pick<HeldCall, 'input' | 'operation' | 'live'>

/** Opens the reports of one try. After `end` its reports are dropped. */
export function openReports(
  store: Store,
  { input: { threadId, callId: messageId }, operation, live }: CallOfReports,
  { number, redactor }: { readonly number: number; readonly redactor: Redactor },
): LiveReports {
  const place = { threadId, messageId, attempt: operation.attempt * TRIES + number }
  const output = createOutput(redactor)
  let report: ToolProgress | null = null
  let reports = 0
  let writing: Promise<void> | null = null
  let timer: NodeJS.Timeout | null = null
  let last = -Infinity
  let ended = false

  function take(): readonly NewDelta[] {
    const piece = output.take()
    const taken: NewDelta[] = piece.text === '' ? [] : [{ ...place, kind: 'output', ...piece }]
    if (report !== null)
      taken.push({ ...place, kind: 'progress', offset: reports++, text: JSON.stringify(report) })
    report = null
    return taken
  }

  function flush(): void {
    timer = null
    const deltas = take()
    if (deltas.length === 0) return
    live.isUsed = true
    last = performance.now()
    writing = write(store, operation, deltas).then(() => {
      writing = null
      if (!ended) schedule()
    })
    // Any error other than a StoreError is a bug, and `end` throws it.
    writing.catch(() => undefined)
  }

  function schedule(): void {
    if (writing !== null || timer !== null || (report === null && !output.hasText())) return
    const pause = last + PACE - performance.now()
    if (pause <= 0) flush()
    else timer = setTimeout(flush, pause)
  }

  return {
    progress(given) {
      const checked = redactor.redactJson(checkProgress(given))
      if (ended) return
      report = checked
      schedule()
    },
    output(text) {
      if (typeof text !== 'string') throw new Error(`Expected the output to be a text, got ${kindOf(text)}.`)
      if (ended) return
      output.add(text)
      schedule()
    },
    async end() {
      ended = true
      if (timer !== null) clearTimeout(timer)
      await writing
    },
  }
}

/** The output of a try that is not in the store yet. */
interface Output {
  add(text: string): void
  hasText(): boolean
  /** What may be shown now. The beginning of a secret stays until the rest of it has come. */
  take(): Pick<NewDelta, 'offset' | 'text'>
}

function createOutput(redactor: Redactor): Output {
  let waiting = ''
  let offset = 0
  let isCut = false
  return {
    add(text) {
      // A text in PostgreSQL cannot have the character 0. What cannot be shown is not kept.
      if (!isCut) waiting = `${waiting}${text.slice(0, 2 * OUTPUT_LENGTH).replaceAll('\0', '\uFFFD')}`
    },
    hasText: () => waiting !== '',
    take() {
      const [ready, rest] = redactor.split(waiting)
      const whole = wholeCharacters(ready)
      const shown = redactor.redact(whole)
      waiting = ready.slice(whole.length) + rest
      const room = OUTPUT_LENGTH - offset
      isCut = isCut || shown.length > room
      if (isCut) waiting = ''
      const text = shown.length > room ? `${wholeCharacters(shown.slice(0, room))}${CUT_OUTPUT}` : shown
      const piece = { offset, text }
      offset += text.length
      return piece
    },
  }
}

/** Half of a surrogate pair cannot be stored. */
function wholeCharacters(text: string): string {
  return text.replace(HALF, '')
}

const HALF = /[\uD800-\uDBFF]$/

function checkProgress(given: unknown): ToolProgress {
  if (!isObject(given)) throw new Error(`Expected progress to be an object, got ${kindOf(given)}.`)
  const { progress, total, message } = given
  const numbers = { ...(progress !== undefined && { progress }), ...(total !== undefined && { total }) }
  for (const [name, value] of Object.entries(numbers)) {
    if (Number.isFinite(value)) continue
    const came = typeof value === 'number' ? String(value) : kindOf(value)
    throw new Error(`Expected "${name}" of progress to be a finite number, got ${came}.`)
  }
  if (message !== undefined && typeof message !== 'string')
    throw new Error(`Expected "message" of progress to be a text, got ${kindOf(message)}.`)
  const cut = message === undefined ? undefined : wholeCharacters(message.slice(0, MESSAGE_LENGTH))
  return { ...numbers, ...(cut !== undefined && { message: cut }) } as ToolProgress
}

async function write(
  store: Store,
  operation: HeldCall['operation'],
  deltas: readonly NewDelta[],
): Promise<void> {
  try {
    await store.write(async (tx) => {
      if (!(await isHeld(tx, operation))) return
      for (const delta of deltas) {
        if (delta.kind === 'progress') await deleteProgress(tx, delta)
        await appendDelta(tx, delta)
      }
    })
  } catch (error) {
    if (!StoreError.isInstance(error)) throw error
  }
}

/** Drops what a call has reported, in the transaction of its outcome. An attempt that repeats it finds what an earlier one has left. */
export async function dropReports(
  tx: Writer,
  { input: { threadId, callId }, operation, live }: CallOfReports,
): Promise<void> {
  if (live.isUsed || operation.attempt > 1) await deleteDeltas(tx, { threadId, messageId: callId })
}
