/**
 * The repair of a thread after a reset in Temporal. Its runs are repeated from their rows, and the server delivers the signals
 * of the lost time at once, before the steps and calls that they belong to.
 *
 * It owns: reports that came before the call which they answer, and messages that a recorded step meets before it has
 * drained them. It does not own: the answers of recorded steps (activities give them from their rows), and children that
 * run already (`children.ts` looks for them).
 * Invariants: a report answers its call once, however early it came (T7). A message that no recorded run has answered gets
 * a run of its own after them (T3, T7). All that is kept has a bound (T10).
 */
import type { CallModelAnswer } from '../protocol/activities.js'
import { LIMITS } from '../protocol/limits.js'
import type { ChildReport } from '../protocol/messages.js'
import { utf8Length } from '../protocol/values.js'
import type { QueueEntry, ThreadControl } from './control.js'
import { goOn, listInvocations } from './inbox.js'
import type { Millis } from '../protocol/time.js'

/** Keeps an early report within their share of the carried state: the oldest are dropped (T10). */
export function keepEarlyReport(control: ThreadControl, said: ChildReport): ThreadControl {
  const { reference, report, invocations, kind, messageId, closes } = said
  const ids = { reference, report, invocations, kind }
  // Senders may add fields of any size.
  const kept = { ...ids, ...(messageId !== undefined && { messageId }), ...(closes === true && { closes }) }
  const others = control.earlyReports.filter(
    (early) => early.reference !== reference || early.report !== report,
  )
  return { ...control, earlyReports: fitting([...others, kept]) }
}

/** Takes the reports that this child sent before its call was known, which are not kept any longer. */
export function takeEarlyReports(
  control: ThreadControl,
  reference: string,
): { readonly early: readonly ChildReport[]; readonly rest: ThreadControl } {
  const early = control.earlyReports.filter((said) => said.reference === reference)
  if (early.length === 0) return { early, rest: control }
  return {
    early,
    rest: { ...control, earlyReports: control.earlyReports.filter((said) => !early.includes(said)) },
  }
}

/** The child's answer to this call, if it came before the call was known. */
export function findEarlyAnswer(
  { earlyReports }: ThreadControl,
  { reference, callId }: { readonly reference: string; readonly callId: string },
): ChildReport | undefined {
  return earlyReports.find((said) => said.reference === reference && said.invocations.includes(callId))
}

function fitting(reports: readonly ChildReport[]): readonly ChildReport[] {
  if (utf8Length(JSON.stringify(reports)) <= LIMITS.earlyReportBytes) return reports
  return fitting(reports.slice(1))
}

/** Postpones the drained messages that no recorded run has answered, so that no report of a recorded run names their calls. */
export function postponeMessages(
  control: ThreadControl,
  drain: readonly QueueEntry[],
  answer: CallModelAnswer,
): ThreadControl {
  const operations = 'operations' in answer ? (answer.operations ?? []) : []
  const found = operations.find((operation) => operation.kind === 'postpone_messages')
  if (found === undefined) return control
  const { ids, runs, settles, reports } = found
  const unanswered = listInvocations(drain.filter(({ id }) => ids.includes(id)))
  return {
    ...control,
    invocations: control.invocations.filter((invocation) => !unanswered.includes(invocation)),
    postponed: {
      ...{ runs, settles, reports },
      invocations: [...new Set([...(control.postponed?.invocations ?? []), ...unanswered])],
    },
  }
}

/** Begins the run of the postponed messages: no recorded run is left, so the next one is new in the store too. */
export function resumePostponed(control: ThreadControl, now: Millis): ThreadControl {
  const { postponed, run, report, terminating, closing, stopped } = control
  if (postponed === null || run !== null || report !== null || terminating || closing !== null) return control
  const next = {
    ...control,
    postponed: null,
    runs: Math.max(control.runs, postponed.runs),
    settles: Math.max(control.settles, postponed.settles),
    reports: Math.max(control.reports, postponed.reports),
    invocations: [...new Set([...control.invocations, ...postponed.invocations])],
  }
  return { ...goOn(next, now), stopped }
}
