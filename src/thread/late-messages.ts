/**
 * After a reset in Temporal a thread repeats its runs from their rows, and the server gives it all signals at once: a
 * recorded step meets messages that came after it. Those that no run has answered get a run of their own behind the
 * recorded ones, so that nobody waits for an answer that was lost (T3, T7).
 */
import type { CallModelAnswer } from '../protocol/activities.js'
import type { QueueEntry, ThreadControl } from './control.js'
import { acceptContinue } from './inbox.js'
import { queuedInvocations } from './invocations.js'

/** The step has taken these; what came late is set aside, and no report of a recorded run names it. */
export function lateSetAside(
  control: ThreadControl,
  drain: readonly QueueEntry[],
  answer: CallModelAnswer,
): ThreadControl {
  const operations = 'operations' in answer ? (answer.operations ?? []) : []
  const found = operations.find((operation) => operation.kind === 'came_late')
  if (found === undefined) return control
  const { ids, runs, settles, reports } = found
  const late = queuedInvocations(drain.filter(({ id }) => ids.includes(id)))
  return {
    ...control,
    invocations: control.invocations.filter((invocation) => !late.includes(invocation)),
    late: {
      ...{ runs, settles, reports },
      invocations: [...new Set([...(control.late?.invocations ?? []), ...late])],
    },
  }
}

/** No recorded run is left: the next one is new in the store too. */
export function lateBegins(control: ThreadControl, now: number): ThreadControl {
  const { late, run, report, terminating, closing, stopped } = control
  if (late === null || run !== null || report !== null || terminating || closing !== null) return control
  const next = {
    ...control,
    late: null,
    runs: Math.max(control.runs, late.runs),
    settles: Math.max(control.settles, late.settles),
    reports: Math.max(control.reports, late.reports),
    invocations: [...new Set([...control.invocations, ...late.invocations])],
  }
  return { ...acceptContinue(next, now), stopped }
}
