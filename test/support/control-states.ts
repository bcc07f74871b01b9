import type { CallOutcome, CallRequest, ResultAnswer, Usage } from '../../src/protocol/activities.js'
import type { ThreadStart } from '../../src/protocol/messages.js'
import type { Plan, Side, SidePlan } from '../../src/protocol/plan.js'
import { advance } from '../../src/thread/advance.js'
import { initialControl } from '../../src/thread/continue-as-new.js'
import type { QueueEntry, ThreadControl } from '../../src/thread/control.js'
import { applyModelAnswer } from '../../src/thread/model-answers.js'
import { createRun, endRun } from '../../src/thread/run.js'
import type { Call, Ending, ModelCall, Run, Step, Work } from '../../src/thread/run.js'

/** Control states for tests of the pure logic, each with as little as it needs. */
export const NOW = 1_763_767_000_000

export const USAGE: Usage = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 2, cost: 7 }

function sidePlan(patch: Partial<SidePlan> = {}): SidePlan {
  return {
    label: null,
    prompt: 'clerk',
    stopOnResponse: true,
    stopTool: null,
    maxSteps: null,
    sessionStop: null,
    sessionFail: null,
    ...patch,
  }
}

export function plan(a: Partial<SidePlan> = {}, patch: Partial<Plan> = {}): Plan {
  return {
    digest: 'plan-1',
    agent: 'clerk',
    type: 'ai_human',
    maxSessionTurns: null,
    caps: { stepsPerRun: 250, sessionTurns: 100, repeatedToolErrors: 8 },
    sides: { a: sidePlan(a), b: null },
    prompts: {
      clerk: {
        model: 'chat',
        tools: {
          work: { kind: 'function', timeout: 1000 },
          ask: { kind: 'subagent', agent: 'helper' },
          create: { kind: 'subagent_create' },
          write: { kind: 'subagent_message' },
          draft: { kind: 'prompt', prompt: 'writer' },
          transfer: { kind: 'hand_off', agent: 'boss' },
        },
      },
      writer: {
        model: 'writing',
        tools: {
          work: { kind: 'function', timeout: 1000 },
          ask: { kind: 'subagent', agent: 'helper' },
          draft: { kind: 'prompt', prompt: 'writer' },
        },
      },
    },
    ...patch,
  }
}

export function dualPlan(a: Partial<SidePlan>, b: Partial<SidePlan>, patch: Partial<Plan> = {}): Plan {
  return plan(a, { type: 'dual_ai', sides: { a: sidePlan(a), b: sidePlan(b) }, ...patch })
}

export function idleControl(
  start: Partial<ThreadStart> = {},
  patch: Partial<ThreadControl> = {},
): ThreadControl {
  return { ...initialControl('t', { agent: 'clerk', ...start }, NOW), ...patch }
}

export function message(id: string, role: 'user' | 'assistant' = 'user'): QueueEntry {
  return { kind: 'message', id, role, queuedAt: NOW }
}

/** A run that was just started by a message. */
export function started(control: ThreadControl = idleControl()): ThreadControl {
  return advance({ ...control, queue: [...control.queue, message('m1')] })
}

/** The same after its model answered with these calls. */
export function answered(
  control: ThreadControl,
  answer: { readonly text?: boolean; readonly calls?: readonly CallRequest[]; readonly plan?: Plan } = {},
): ThreadControl {
  const { text = false, calls = [], plan: given = plan() } = answer
  const side = control.run?.side ?? 'a'
  return applyModelAnswer(
    control,
    { ...asked(side), drain: control.queue },
    { type: 'answered', text, calls, usage: USAGE, plan: given },
    NOW,
  )
}

/** A step that nobody asked for. */
export function asked(side: Side = 'a'): ModelCall {
  return { side, asked: false, toolFirst: false }
}

export function withCalls(...names: readonly string[]): ThreadControl {
  return answered(started(), { calls: names.map((name, index) => ({ id: `c${index}`, name })) })
}

/** A run of tests; its phase is said by what it is at. */
interface RunPatch extends Partial<Omit<Run, 'phase'>> {
  readonly step?: Step
  /** A model call that is made again. */
  readonly call?: ModelCall
  readonly waitUntil?: number
  readonly ending?: Ending
}

export function run({ step: inFlight, call, waitUntil, ending, ...patch }: RunPatch = {}): Run {
  const { steps = 1 } = patch
  const work: Work =
    inFlight === undefined
      ? { kind: 'between_steps', call: call ?? null, resumed: false }
      : { kind: 'stepping', step: inFlight, resumed: false }
  const made: Run = {
    ...createRun({ number: 1, trigger: 'message', stop: null }),
    steps,
    began: steps === 0 ? 'not_yet' : 'with_step',
    sideSteps: { a: 1, b: 0 },
    planning: 'known',
    turn: { kind: 'under_way', hasText: false },
    phase: waitUntil === undefined ? work : { kind: 'waiting', until: waitUntil, work },
    ...patch,
  }
  return ending === undefined ? made : endRun(made, ending)
}

/** What the run of a state ended with, or null. */
export function endOf({ run: ended }: Pick<ThreadControl, 'run'>): Ending | null {
  return ended?.phase.kind === 'ending' ? ended.phase.ending : null
}

export function step(patch: Partial<Step> = {}): Step {
  return {
    number: 1,
    side: 'a',
    text: false,
    phase: 6,
    calls: [],
    outside: false,
    handOff: null,
    forcedTurn: null,
    ...patch,
  }
}

export function doneCall(name: string, outcome: CallOutcome = 'succeeded'): Call {
  return { id: `call-${name}`, name, state: 'done', outcome }
}

export function resultOf(outcome: CallOutcome = 'succeeded', more: Partial<ResultAnswer> = {}): ResultAnswer {
  return { type: 'result', outcome, ...more }
}

/** The run of a state that must have one. */
export function runOf(control: ThreadControl): Run {
  if (control.run === null) throw new Error('Expected a run, got none.')
  return control.run
}
