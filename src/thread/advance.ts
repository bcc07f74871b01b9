/**
 * The transitions that need nothing from outside: a run starts when an item waits, a finished step is judged (phase 7).
 * T1: there is one run, one step and one call at a time, because there is one place for each.
 */
import type { EventScope } from '../protocol/events.js'
import { fact, phaseFact } from '../protocol/facts.js'
import type { Fact } from '../protocol/facts.js'
import { runIdOf, stepIdOf } from '../protocol/ids.js'
import type { Plan } from '../protocol/plan.js'
import { runOutcome } from '../protocol/status.js'
import { NO_USAGE } from './control.js'
import type { Ending, QueueEntry, Run, Step, ThreadControl } from './control.js'
import { withFacts } from './facts.js'
import { drained } from './inbox.js'
import { evaluateStop } from './stop-conditions.js'
import type { StepVerdict } from './stop-conditions.js'
import { handedOff, turnLeft } from './turns.js'

export function advance(control: ThreadControl): ThreadControl {
  const next = advanced(control)
  return next === control ? control : advance(next)
}

function advanced(control: ThreadControl): ThreadControl {
  if (control.terminating || control.closing !== null) return control
  const { run } = control
  if (run === null) return mayStart(control) ? startRun(control) : control
  if (run.ending !== null || run.stopRequested || run.waitUntil !== null || run.pending !== undefined)
    return control
  if (run.step === null) return beginTool(control, run)
  if (!run.step.calls.every((call) => call.state === 'done')) return control
  return run.step.outside ? finishTool(control, run, run.step) : judgeStep(control, run, run.step)
}

/** The plan of a run whose first model call was answered. */
export function planOf(control: ThreadControl): Plan {
  if (control.plan === null)
    throw new Error(`Thread ${control.threadId} has no plan after its first model call.`)
  return control.plan
}

/**
 * What a run ended with is told before the next one begins. A thread that closes after its session is never parked: a stop
 * ends it, and its parent learns that (T7).
 */
function mayStart({ stopped, start, report }: ThreadControl): boolean {
  return report === null && (!stopped || start.resumable === false)
}

/** An effect needs no run; what waits behind it gets one when it is done. */
function startRun(control: ThreadControl): ThreadControl {
  const [first] = control.queue
  if (first === undefined) return endsUnasked(control) ? runOf(control, 'message', NOTHING_LEFT) : control
  if (first.kind === 'effect' && !control.stopped) return control
  return runOf(control, triggerOf(first), null)
}

/** All that it was asked for was removed or refused. */
const NOTHING_LEFT: Ending = { reason: 'hook_blocked', outcome: 'failed', sessionCall: null }

/** T8: a thread that closes after its session has none any more, and would stay in no list of its parent. */
function endsUnasked({ start, invocations }: ThreadControl): boolean {
  return start.resumable === false && invocations.length > 0
}

/** The next run, with fresh counters. */
export function runOf(control: ThreadControl, trigger: string, ending: Ending | null): ThreadControl {
  const number = control.runs + 1
  const run: Run = {
    number,
    side: 'a',
    trigger,
    begun: false,
    steps: 0,
    sideSteps: { a: 0, b: 0 },
    sessionTurns: 0,
    usage: NO_USAGE,
    planned: false,
    sideStarts: true,
    turnHasText: false,
    wordless: false,
    repeatedError: null,
    step: null,
    waitUntil: null,
    resumed: false,
    again: null,
    stopRequested: control.stopped,
    stopsChildren: false,
    reported: false,
    ending,
  }
  return { ...control, runs: number, run }
}

function triggerOf(entry: QueueEntry): string {
  return entry.kind === 'child_closed' || entry.kind === 'group' ? 'report' : entry.kind
}

/** A tool at the head of the queue is run between two steps, as soon as the run has a plan. */
function beginTool(control: ThreadControl, run: Run): ThreadControl {
  const [first] = control.queue
  if (first?.kind !== 'tool' || !run.planned || run.again !== null) return control
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
  return { ...drained(control, [first]), run: { ...run, step } }
}

/** Only calls of a step are judged; what a queued tool asked for happens all the same. */
function finishTool(control: ThreadControl, run: Run, { handOff, forcedTurn }: Step): ThreadControl {
  const done = { ...control, run: { ...run, step: null } }
  if (handOff !== null) return handedOff(turnLeft(done, 'hand_off'), handOff, forcedTurn ?? 'a')
  if (forcedTurn === null || forcedTurn === run.side || planOf(control).sides[forcedTurn] === null)
    return done
  const left = turnLeft(done, 'forced_turn')
  return { ...left, run: { ...done.run, side: forcedTurn, sideStarts: true, turnHasText: false } }
}

function judgeStep(control: ThreadControl, run: Run, step: Step): ThreadControl {
  const verdict = evaluateStop(planOf(control), run, step)
  const told = withFacts(control, ...stepFacts(run, step, verdict))
  if (verdict.kind === 'hand_off')
    return handedOff({ ...told, run: { ...run, step: null } }, verdict.agent, verdict.to)
  const judged = { ...told, run: { ...afterVerdict(run, step, verdict), step: null } }
  // A cap ends the run and leaves the thread to the new agent; a session that ended keeps the old one.
  const lost = step.handOff === null || verdict.kind !== 'end' || verdict.sessionCall !== null
  return lost ? judged : handedOff(judged, step.handOff, 'a')
}

function afterVerdict(
  run: Run,
  step: Step,
  verdict: Exclude<StepVerdict, { readonly kind: 'hand_off' }>,
): Run {
  const turnHasText = run.turnHasText || step.text
  if (verdict.kind === 'go_on') return { ...run, turnHasText, sideStarts: false, wordless: false }
  if (verdict.kind === 'end') {
    const { reason, sessionCall } = verdict
    const turns = run.sessionTurns + 1
    return { ...run, sessionTurns: turns, ending: { reason, outcome: runOutcome(reason), sessionCall } }
  }
  return {
    ...run,
    side: verdict.to,
    sessionTurns: run.sessionTurns + 1,
    sideStarts: true,
    turnHasText: false,
    wordless: !turnHasText,
  }
}

/** Marks the phases that no activity marked, and how step and turn ended. */
function stepFacts(run: Run, step: Step, verdict: StepVerdict): readonly Fact[] {
  const scope: EventScope = { runId: runIdOf(run.number), stepId: stepIdOf(run.number, step.number) }
  const reason = reasonOf(verdict)
  const facts: Fact[] = remainingPhases(step, scope)
  facts.push(fact('step.completed', { step: step.number, reason }, scope))
  if (verdict.kind !== 'go_on') facts.push(fact('side.completed', { side: step.side, reason }, scope))
  return facts
}

function reasonOf(verdict: StepVerdict): string | null {
  if (verdict.kind === 'go_on') return null
  return verdict.kind === 'hand_off' ? 'hand_off' : verdict.reason
}

/** Every step has all seven phases, in order, also when it was cut. */
export function remainingPhases(step: Step, scope: EventScope): Fact[] {
  return ([5, 6, 7] as const).filter((phase) => phase > step.phase).map((phase) => phaseFact(phase, scope))
}
