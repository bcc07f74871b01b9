/**
 * The calls that the code of one call made in place: what was decided about each, and what came of it.
 *
 * Owns: the log of them, and their rows, which are committed with the call whose code made them. Does not own: the decision (`permit.ts`),
 * and the calls themselves (`named-call.ts`).
 * Invariants: each call that was judged has a row, also one of a try that failed; what an attempt that was lost has called in place is in
 * no row, as nothing of that attempt is. The model has not made these calls: their rows belong to no message.
 */
import type { ToolResult } from '../../definitions/tool-result.js'
import type { ActionTraits } from '../../policy/action.js'
import { keepAction } from '../../policy/action-record.js'
import type { KeptDecision } from '../../policy/action-record.js'
import type { PermissionDecision } from '../../policy/judge.js'
import { nowMicros } from '../../protocol/time.js'
import type { Micros } from '../../protocol/time.js'
import { insertToolCalls } from '../../store/calls/tool-calls.js'
import type { ToolCallRecord, ToolCallStatus } from '../../store/calls/tool-calls.js'
import type { Writer } from '../../store/store.js'

interface JudgedInPlace {
  readonly id: string
  readonly kind: 'tool' | 'prompt'
  readonly name: string
  readonly traits: ActionTraits
  /** As the code gave them, and as the call went on with them; both without secrets. */
  readonly given: unknown
  readonly args: unknown
  readonly decision: PermissionDecision
}

interface LoggedCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
  readonly decision: KeptDecision
  readonly startedAt: Micros | null
  readonly ended: Pick<ToolCallRecord, 'status' | 'error_code' | 'finished_at'>
}

export interface InPlaceLog {
  readonly judge: (call: JudgedInPlace) => void
  readonly end: (id: string, result: ToolResult) => void
  readonly calls: () => readonly LoggedCall[]
}

/** Nobody knows how a call has ended that still ran when its caller had ended. */
const NOT_ENDED = { status: 'unknown', error_code: null, finished_at: null } as const

export function createInPlaceLog(): InPlaceLog {
  const calls: LoggedCall[] = []
  return {
    judge({ id, kind, name, traits, given, args, decision: { ...decision } }) {
      const text = textOf(given)
      calls.push({
        ...{ id: nextId(calls, id), name, arguments: text, ended: NOT_ENDED },
        decision: keepAction(decision, { kind, args, traits }, text),
        startedAt: decision.decision === 'allowed' ? nowMicros() : null,
      })
    },
    end(id, { status, error_code: code = null }) {
      const index = calls.findLastIndex((call) => call.id === id || call.id.startsWith(`${id}_t`))
      const call = calls[index]
      if (call === undefined) return
      const at = nowMicros()
      const ended = { status: endOf(call, status, code), error_code: code, finished_at: at }
      calls[index] = { ...call, ended }
    },
    calls: () => calls,
  }
}

/** A try of a tool begins to number its calls again. */
function nextId(calls: readonly LoggedCall[], id: string): string {
  const before = calls.filter((call) => call.id === id || call.id.startsWith(`${id}_t`)).length
  return before === 0 ? id : `${id}_t${before + 1}`
}

function endOf({ startedAt }: LoggedCall, status: string, code: string | null): ToolCallStatus {
  if (startedAt === null) return 'denied'
  if (status === 'success') return 'succeeded'
  return code === 'interrupted' ? 'interrupted' : 'failed'
}

/** What code gives may be nested too deep to be written (T10). */
function textOf(given: unknown): string {
  try {
    return JSON.stringify(given) ?? 'null'
  } catch {
    return 'null'
  }
}

type Caller = Pick<ToolCallRecord, 'thread_id' | 'run' | 'step' | 'call_index' | 'side'> & {
  /** Null: an endpoint made them. */
  readonly id: string | null
}

/** Writes the rows of these calls, beside the end of the call that made them. */
export async function storeInPlace(
  tx: Writer,
  log: InPlaceLog,
  { id, thread_id, run, step, call_index, side }: Caller,
): Promise<void> {
  const rows = log.calls().map(({ id: own, name, arguments: text, decision, startedAt, ended }) => ({
    ...{ thread_id, run, step, call_index, side, id: own, name, arguments: text, decision, ...ended },
    ...{ message_id: '', parent_call_id: id, provider_call_id: '', started_at: startedAt },
  }))
  await insertToolCalls(tx, rows)
}
