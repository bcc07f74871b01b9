/**
 * The transitions that need nothing from outside: a run starts when an item waits, a queued tool begins between two steps, a
 * finished step is judged (phase 7), and a stop or terminate ends the run.
 *
 * It owns: when a run starts and what follows a step. It does not own: the rule of the stop conditions
 * (`stop-conditions.ts`), and what is done next (`next-action.ts`).
 * Invariants: there is one run, one step and one call at a time (T1). `advance` is called only when nothing is in flight, and
 * calling it twice changes nothing.
 */
import type { EventScope } from '../protocol/events.js'
import { fact } from '../protocol/facts.js'
import type { Fact } from '../protocol/facts.js'
import { runIdOf, stepIdOf } from '../protocol/ids.js'
import type { Plan } from '../protocol/plan.js'
import { runOutcome } from '../protocol/status.js'
import type { QueueEntry, ThreadControl } from './control.js'
import {
  switchAgent,
  listRemainingPhases,
  sideCompletedFact,
  leaveTurn,
  withFacts,
  withQueueChange,
} from './facts.js'
import { removeItems } from './inbox.js'
import { beginStep, createRun, endRun, endingOf, leaveStep, restartTurn } from './run.js'
import type { Ending, Run, Step } from './run.js'
import { evaluateStop } from './stop-conditions.js'

type StepVerdict = ReturnType<typeof evaluateStop>

export function advance(control: ThreadControl): ThreadControl {
  const next = advanceOnce(control)
  return next === control ? control : advance(next)
}

function advanceOnce(control: ThreadControl): ThreadControl {
  if (control.closing !== null) return control
  const { run } = control
  if (run === null) return mayStart(control) ? startRun(control) : control
  const ending = endingOf(control)
  if (ending !== null) return interruptRun(control, run, ending)
  switch (run.phase.kind) {
    case 'between_steps':
      return run.phase.call === null ? beginTool(control, run) : control
    case 'stepping':
      return finishStep(control, run, run.phase.step)
    case 'waiting':
    case 'pending':
    case 'ending':
      return control
  }
}

/** A stop or a terminate ends the run, unless it has ended by itself; a terminate counts more than a stop. */
function interruptRun(control: ThreadControl, run: Run, ending: Ending): ThreadControl {
  if (run.phase.kind === 'ending' && run.phase.ending.reason === ending.reason) return control
  return { ...control, run: endRun(run, ending, true) }
}

function finishStep(control: ThreadControl, run: Run, step: Step): ThreadControl {
  if (!step.calls.every((call) => call.state === 'done')) return control
  return step.outside ? finishTool(control, run, step) : judgeStep(control, run, step)
}

/** The plan of a run whose first model call was answered. */
export function planOf(control: ThreadControl): Plan {
  if (control.plan === null)
    throw new Error(`Thread ${control.threadId} has no plan after its first model call.`)
  return control.plan
}

/**
 * The report of a run is announced before the next run begins. A thread that closes after its session is never parked: a stop
 * ends it, and its parent gets a report of that (T7).
 */
function mayStart({ stopped, start, report, terminating }: ThreadControl): boolean {
  return !terminating && report === null && (!stopped || start.resumable === false)
}

/** An effect needs no run; the items behind it start one when the effect is done. */
function startRun(control: ThreadControl): ThreadControl {
  const [first] = control.queue
  if (first === undefined)
    return hasNoWorkLeft(control) ? createNextRun(control, 'message', NOTHING_LEFT) : control
  if (first.kind === 'effect' && !control.stopped) return control
  return createNextRun(control, triggerOf(first), null)
}

/** All messages that the thread had to answer were removed or refused. */
const NOTHING_LEFT: Ending = { reason: 'hook_blocked', outcome: 'failed', sessionCall: null }

/** T8: a thread that closes after its session must end by a run: with nothing left to do it would stay open for ever. */
function hasNoWorkLeft({ start, invocations }: ThreadControl): boolean {
  return start.resumable === false && invocations.length > 0
}

/** The next run of the thread. With an `ending` it has nothing to do and ends at once. */
function createNextRun(control: ThreadControl, trigger: string, ending: Ending | null): ThreadControl {
  const run = createRun({ number: control.runs + 1, trigger, stop: control.stopped ? 'run' : null })
  return { ...control, runs: run.number, run: ending === null ? run : endRun(run, ending) }
}

function triggerOf(entry: QueueEntry): string {
  return entry.kind === 'child_closed' || entry.kind === 'group' ? 'report' : entry.kind
}

/** A tool at the head of the queue runs between two steps, as soon as the run has a plan. */
function beginTool(control: ThreadControl, run: Run): ThreadControl {
  const [first] = control.queue
  if (first?.kind !== 'tool' || run.planning !== 'known') return control
  const { id, name } = first
  const step: Step = {
    number: run.steps,
    side: run.side,
    text: false,
    phase: 4,
    calls: [{ id, name, queued: true, state: 'open' }],
    outside: true,
    handOff: null,
    forcedTurn: null,
  }
  const taken = withQueueChange(removeItems(control, [first]), { taken: [id] })
  return { ...taken, run: beginStep(run, step) }
}

/** The stop conditions judge only steps. A handoff or forced turn that a queued tool requested takes effect without them. */
function finishTool(control: ThreadControl, run: Run, { handOff, forcedTurn }: Step): ThreadControl {
  const done = { ...control, run: leaveStep(run) }
  if (handOff !== null) return switchAgent(leaveTurn(done, 'hand_off'), handOff, forcedTurn ?? 'a')
  if (forcedTurn === null || forcedTurn === run.side || planOf(control).sides[forcedTurn] === null)
    return done
  const left = leaveTurn(done, 'forced_turn')
  return { ...left, run: { ...done.run, side: forcedTurn, turn: restartTurn(run.turn) } }
}

function judgeStep(control: ThreadControl, run: Run, step: Step): ThreadControl {
  const verdict = evaluateStop(planOf(control), run, step)
  const recorded = withFacts(control, ...listStepFacts(run, step, verdict))
  if (verdict.kind === 'hand_off')
    return switchAgent({ ...recorded, run: leaveStep(run) }, verdict.agent, verdict.to)
  const judged = { ...recorded, run: applyVerdict(leaveStep(run), step, verdict) }
  // A cap ends the run and leaves the thread to the new agent; a session that ended keeps the old one.
  const lost = step.handOff === null || verdict.kind !== 'end' || verdict.sessionCall !== null
  return lost ? judged : switchAgent(judged, step.handOff, 'a')
}

function applyVerdict(
  run: Run,
  step: Step,
  verdict: Exclude<StepVerdict, { readonly kind: 'hand_off' }>,
): Run {
  const hasText = (run.turn.kind === 'under_way' && run.turn.hasText) || step.text
  if (verdict.kind === 'go_on') return { ...run, turn: { kind: 'under_way', hasText } }
  if (verdict.kind === 'end') {
    const { reason, sessionCall } = verdict
    const ended = { ...run, sessionTurns: run.sessionTurns + 1 }
    return endRun(ended, { reason, outcome: runOutcome(reason), sessionCall })
  }
  return {
    ...run,
    side: verdict.to,
    sessionTurns: run.sessionTurns + 1,
    turn: { kind: 'starting', wordless: !hasText },
  }
}

/** The events of the phases that no activity marked, and of the end of step and turn. */
function listStepFacts(run: Run, step: Step, verdict: StepVerdict): readonly Fact[] {
  const scope: EventScope = { runId: runIdOf(run.number), stepId: stepIdOf(run.number, step.number) }
  const reason = reasonOf(verdict)
  const facts: Fact[] = listRemainingPhases(step, scope)
  facts.push(fact('step.completed', { step: step.number, reason }, scope))
  if (verdict.kind !== 'go_on') facts.push(sideCompletedFact(scope, step.side, reason))
  return facts
}

function reasonOf(verdict: StepVerdict): string | null {
  if (verdict.kind === 'go_on') return null
  return verdict.kind === 'hand_off' ? 'hand_off' : verdict.reason
}
