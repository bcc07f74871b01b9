import type { CallInput, ResultAnswer, TerminatedAnswer } from '../../src/protocol/activities.js'
import { phaseFact } from '../../src/protocol/facts.js'
import { queuesTool } from '../../src/protocol/operations.js'
import { say } from '../store/messages.js'
import type { CallRow, LoggedFact, ThreadRow } from '../store/rows.js'
import { stepScope } from './step-scope.js'
import { append, commit, hold, openThread, recorded, takeFacts, TERMINATED } from './steps.js'
import type { Attempt } from './steps.js'

export type CallPart = Pick<
  CallInput,
  'threadId' | 'callId' | 'run' | 'step' | 'queued' | 'first' | 'last' | 'facts' | 'unansweredFacts' | 'now'
>

/** A call that this attempt holds. */
export interface Held {
  readonly thread: ThreadRow
  readonly row: CallRow
  readonly id: string
  readonly number: number
  /** An earlier attempt started it and left no outcome. */
  readonly cutOff: boolean
}

export type Entered<T> =
  | { readonly kind: 'answered'; readonly answer: T }
  | ({ readonly kind: 'held' } & Held)

interface Beginning {
  readonly id: string
  /** The call begins here: it gets its opening events. */
  readonly opens: boolean
  readonly state?: 'started' | 'waiting'
}

/** The first transaction of a call: nothing of a terminated thread, and nothing that has an outcome (T4, T8). */
export function enterCall<T>(
  attempt: Attempt,
  input: CallPart,
  { id, opens, state = 'started' }: Beginning,
): Entered<T | ResultAnswer | TerminatedAnswer> {
  const thread = openThread(attempt, input)
  if (thread === null) return { kind: 'answered', answer: TERMINATED }
  const known = thread.operations.get(id)
  if (known?.state === 'finished') return { kind: 'answered', answer: recorded<T>(attempt, thread, known) }
  const row = thread.calls.get(input.callId)
  if (row === undefined) throw new Error(`Expected a row of the call ${input.callId}, found none.`)
  if (row.status !== 'open')
    return { kind: 'answered', answer: { type: 'result', outcome: row.status, storedNothing: true } }
  const cutOff = known?.state === 'started'
  const { number } = hold(thread, id, state)
  if (!cutOff)
    append(thread, [
      ...takeFacts(thread, input),
      ...opening(thread, row, input),
      ...(opens ? started(row, input) : []),
    ])
  return { kind: 'held', thread, row, id, number, cutOff }
}

/** A tool of the inbox gets its place when it begins. */
function opening(thread: ThreadRow, row: CallRow, { queued }: CallPart): readonly LoggedFact[] {
  if (!queued || row.placed) return []
  placeCall(thread, row)
  return []
}

export function placeCall(thread: ThreadRow, row: CallRow): void {
  row.placed = true
  const id = `call:${row.id}`
  thread.positions += 1
  thread.messages.set(id, {
    id,
    status: 'delivered',
    position: thread.positions,
    role: 'assistant',
    by: 'runtime',
  })
}

function started({ parentCall, id }: CallRow, input: CallPart): readonly LoggedFact[] {
  const phase = input.first && parentCall === null ? [phaseFact(5, stepScope(input))] : []
  return [...phase, { type: 'tool.started', scope: { ...stepScope(input), toolCallId: id } }]
}

/** The last transaction of a call: its result, and what it did to its thread, by the attempt that holds it (T9). */
export function commitResult(
  attempt: Attempt,
  { thread, row, id, number }: Held,
  input: CallPart,
  { make, closes }: { readonly make: () => ResultAnswer; readonly closes?: string },
): ResultAnswer {
  return commit(attempt, thread, { id, number }, () => {
    const answer = make()
    endCall(thread, row, answer.outcome)
    const outer = closes === undefined ? undefined : thread.operations.get(closes)
    if (outer !== undefined) Object.assign(outer, { state: 'finished', answer, by: attempt.activity })
    const ends = input.last && row.parentCall === null && !queuesTool(answer.operations)
    const phase = ends ? [phaseFact(6, stepScope(input))] : []
    append(thread, [...phase, { type: 'tool.result', scope: { ...stepScope(input), toolCallId: row.id } }])
    return answer
  })
}

/** A call gets one result. */
export function endCall(thread: ThreadRow, row: CallRow, outcome: ResultAnswer['outcome']): void {
  row.status = outcome
  row.results += 1
  if (row.placed) say(thread, { role: 'tool', by: 'runtime' })
}
