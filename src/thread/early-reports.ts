/**
 * Reports that came before this thread knew what they answer: after a Temporal reset the signals of the lost time come
 * first, and the calls that they are about are made once more. They are kept for these calls (T7), ids only.
 */
import { LIMITS } from '../protocol/limits.js'
import type { ChildReport } from '../protocol/messages.js'
import { utf8Length } from '../protocol/utf8-length.js'
import type { ThreadControl } from './control.js'

/** Keeps a report within the share that they have of the carried state: the oldest give way (T10). */
export function earlyReportKept(control: ThreadControl, said: ChildReport): ThreadControl {
  const { reference, report, invocations, kind, messageId, closes } = said
  const ids = { reference, report, invocations, kind }
  // Senders may add fields of any size.
  const kept = { ...ids, ...(messageId !== undefined && { messageId }), ...(closes === true && { closes }) }
  const others = control.earlyReports.filter(
    (early) => early.reference !== reference || early.report !== report,
  )
  return { ...control, earlyReports: fitting([...others, kept]) }
}

/** What this child said before its call was known; it is kept no more. */
export function earlyReportsOf(
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
export function earlyAnswer(
  { earlyReports }: ThreadControl,
  { reference, callId }: { readonly reference: string; readonly callId: string },
): ChildReport | undefined {
  return earlyReports.find((said) => said.reference === reference && said.invocations.includes(callId))
}

function fitting(reports: readonly ChildReport[]): readonly ChildReport[] {
  if (utf8Length(JSON.stringify(reports)) <= LIMITS.earlyReportBytes) return reports
  return fitting(reports.slice(1))
}
