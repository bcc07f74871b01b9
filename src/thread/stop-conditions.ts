/**
 * Phase 7: what follows a step. Pure, in the order of Standard Agents: session tools (fail before stop), stop tool,
 * response, then the limits for the side that would act next.
 */
import { sidePlanOf } from '../protocol/plan.js'
import type { Plan, Side, SidePlan } from '../protocol/plan.js'
import type { StopReason } from '../protocol/status.js'
import type { Call, Run, Step } from './control.js'

export type StepVerdict =
  | { readonly kind: 'end'; readonly reason: StopReason; readonly sessionCall: string | null }
  | { readonly kind: 'switch_side'; readonly reason: StopReason; readonly to: Side }
  | { readonly kind: 'go_on' }

/** `run` already counts the step. */
export function evaluateStop(plan: Plan, run: Run, step: Step): StepVerdict {
  const side = sidePlanOf(plan, step.side)
  const session = sessionEnd(side, step.calls)
  if (session === 'failed_call') return capped(plan, run, step.side) ?? { kind: 'go_on' }
  if (session !== null) return session
  const turnEnd = turnEndReason(plan, side, step)
  if (turnEnd === null) return capped(plan, run, step.side) ?? { kind: 'go_on' }
  if (plan.type === 'ai_human') return { kind: 'end', reason: turnEnd, sessionCall: null }
  const to: Side = step.side === 'a' ? 'b' : 'a'
  return turnCap(plan, run) ?? capped(plan, run, to) ?? { kind: 'switch_side', reason: turnEnd, to }
}

function sessionEnd(side: SidePlan, calls: readonly Call[]): StepVerdict | 'failed_call' | null {
  for (const [tool, reason] of [
    [side.sessionFail, 'session_fail'],
    [side.sessionStop, 'session_stop'],
  ] as const) {
    const made = calls.filter((call) => call.name === tool)
    const succeeded = made.find((call) => call.state === 'done' && call.outcome === 'succeeded')
    if (succeeded !== undefined) return { kind: 'end', reason, sessionCall: succeeded.id }
    // A lifecycle tool that failed does not end the session, and the tests below it are skipped for this step.
    if (made.length > 0) return 'failed_call'
  }
  return null
}

function turnEndReason(plan: Plan, side: SidePlan, step: Step): StopReason | null {
  if (side.stopTool !== null && step.calls.some((call) => call.name === side.stopTool)) return 'stop_tool'
  if (!step.text) return null
  if (side.stopOnResponse) return step.calls.length === 0 ? 'stop_on_response' : null
  const neitherIsSet = plan.type === 'dual_ai' && side.stopTool === null
  return neitherIsSet ? 'stop_on_response' : null
}

function turnCap(plan: Plan, run: Run): StepVerdict | null {
  const turns = run.sessionTurns + 1
  if (plan.maxSessionTurns !== null)
    return turns >= plan.maxSessionTurns
      ? { kind: 'end', reason: 'max_session_turns', sessionCall: null }
      : null
  return turns >= plan.caps.sessionTurns ? { kind: 'end', reason: 'hard_cap', sessionCall: null } : null
}

function capped(plan: Plan, run: Run, next: Side): StepVerdict | null {
  const end = (reason: StopReason): StepVerdict => ({ kind: 'end', reason, sessionCall: null })
  if ((run.repeatedError?.count ?? 0) >= plan.caps.repeatedToolErrors) return end('repeated_tool_error')
  const cap = sidePlanOf(plan, next).maxSteps
  if (cap !== null && run.sideSteps[next] >= cap) return end('max_steps')
  return run.steps >= plan.caps.stepsPerRun ? end('hard_cap') : null
}
