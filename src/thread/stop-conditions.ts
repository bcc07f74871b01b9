/**
 * Phase 7: the verdict on a step.
 *
 * It owns: the order of the conditions, which is that of Standard Agents: session tools (fail before stop), a handoff, stop tool,
 * response, a forced turn, then the limits for the side that would act next. It does not own: the changes that a verdict
 * makes (`advance.ts`).
 * Invariant: it is a pure function of plan, run and step.
 */
import { promptPlanOf, sidePlanOf } from '../protocol/plan.js'
import type { Plan, Side, SidePlan } from '../protocol/plan.js'
import type { StopReason } from '../protocol/status.js'
import type { Call, Run, Step } from './run.js'

type StepVerdict =
  | { readonly kind: 'end'; readonly reason: StopReason; readonly sessionCall: string | null }
  | { readonly kind: 'switch_side'; readonly reason: StopReason; readonly to: Side }
  | { readonly kind: 'hand_off'; readonly agent: string; readonly to: Side }
  | { readonly kind: 'go_on' }

/** `run` already counts the step. */
export function evaluateStop(plan: Plan, run: Run, step: Step): StepVerdict {
  const side = sidePlanOf(plan, step.side)
  const session = sessionEnd(side, step.calls)
  if (session !== null) return session
  // A handoff ends no turn, and the caps of the old sides do not apply to the new agent.
  if (step.handOff !== null)
    return runtimeCap(plan, run) ?? { kind: 'hand_off', agent: step.handOff, to: step.forcedTurn ?? 'a' }
  const turnEnd = turnEndReason(plan, run, step)
  const forced = findForcedSide(plan, step)
  if (forced === step.side || (forced === null && turnEnd === null))
    return findCap(plan, run, step.side) ?? { kind: 'go_on' }
  const reason = turnEnd ?? 'forced_turn'
  if (plan.type === 'ai_human') return { kind: 'end', reason, sessionCall: null }
  const to: Side = step.side === 'a' ? 'b' : 'a'
  return turnCap(plan, run) ?? findCap(plan, run, to) ?? { kind: 'switch_side', reason, to }
}

/** A side that the agent does not have cannot be forced. */
function findForcedSide(plan: Plan, { forcedTurn }: Step): Side | null {
  return forcedTurn !== null && plan.sides[forcedTurn] !== null ? forcedTurn : null
}

/** A session tool that failed ends nothing: the step is judged as if it had not been called. */
function sessionEnd(side: SidePlan, calls: readonly Call[]): StepVerdict | null {
  for (const [tool, reason] of [
    [side.sessionFail, 'session_fail'],
    [side.sessionStop, 'session_stop'],
  ] as const) {
    const succeeded = calls.find(
      (call) => call.name === tool && call.state === 'done' && call.outcome === 'succeeded',
    )
    if (succeeded !== undefined) return { kind: 'end', reason, sessionCall: succeeded.id }
  }
  return null
}

function turnEndReason(plan: Plan, run: Run, step: Step): StopReason | null {
  const side = sidePlanOf(plan, step.side)
  if (side.stopTool !== null && step.calls.some((call) => call.name === side.stopTool)) return 'stop_tool'
  // A hook may have queued a tool; the response itself has none.
  if (!step.text || !step.calls.every((call) => call.queued)) return null
  if (step.truncated === true && isAskedForRest(plan, step.side, run)) return null
  // In a conversation of two agents, a side that could never end its turn would only talk to itself.
  const isEndless = plan.type === 'dual_ai' && side.stopTool === null
  if (!side.stopOnResponse && !isEndless) return null
  return step.truncated === true ? 'answer_cut' : 'stop_on_response'
}

/** Whether the model is to continue a truncated answer: as often in a row as its prompt allows, if it may take a step. */
function isAskedForRest(plan: Plan, side: Side, run: Run): boolean {
  const { continueCutAnswers = 0 } = promptPlanOf(plan, sidePlanOf(plan, side).prompt)
  return (run.truncatedAnswers ?? 0) <= continueCutAnswers && findCap(plan, run, side) === null
}

function turnCap(plan: Plan, run: Run): StepVerdict | null {
  const turns = run.sessionTurns + 1
  if (plan.maxSessionTurns !== null)
    return turns >= plan.maxSessionTurns
      ? { kind: 'end', reason: 'max_session_turns', sessionCall: null }
      : null
  return turns >= plan.caps.sessionTurns ? { kind: 'end', reason: 'hard_cap', sessionCall: null } : null
}

function findCap(plan: Plan, run: Run, next: Side): StepVerdict | null {
  const cap = sidePlanOf(plan, next).maxSteps
  const ended = runtimeCap(plan, run)
  if (ended?.reason === 'repeated_tool_error') return ended
  if (cap !== null && run.sideSteps[next] >= cap)
    return { kind: 'end', reason: 'max_steps', sessionCall: null }
  const { toolIterations } = plan.caps
  if (toolIterations !== undefined && (run.toolSteps ?? 0) >= toolIterations)
    return { kind: 'end', reason: 'max_steps', sessionCall: null }
  return ended
}

type RunEnd = Extract<StepVerdict, { readonly kind: 'end' }>

/** The caps that an agent cannot raise. */
function runtimeCap(plan: Plan, run: Run): RunEnd | null {
  if ((run.repeatedError?.count ?? 0) >= plan.caps.repeatedToolErrors)
    return { kind: 'end', reason: 'repeated_tool_error', sessionCall: null }
  if (run.steps >= plan.caps.stepsPerRun) return { kind: 'end', reason: 'hard_cap', sessionCall: null }
  return null
}
