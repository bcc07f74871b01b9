import type { Plan, SidePlan, ToolPlan } from '../../src/protocol/plan.js'

const LIFECYCLE = { stopTool: 'finish', sessionStop: 'close', sessionFail: 'give_up', maxSteps: 6 }

function side(prompt: string, patch: Partial<SidePlan> = {}): SidePlan {
  return { label: null, prompt, stopOnResponse: true, ...LIFECYCLE, ...patch }
}

const WORK: ToolPlan = { kind: 'function', timeout: 1000 }
const ASK: ToolPlan = { kind: 'subagent', agent: 'helper' }
/** All that a tool can be. */
export const TOOLS: Readonly<Record<string, ToolPlan>> = {
  work: WORK,
  careful: WORK,
  form: WORK,
  draw: WORK,
  elsewhere: { kind: 'function', timeout: 1000, taskQueue: 'gpu' },
  ask: ASK,
  create: { kind: 'subagent_create' },
  write: { kind: 'subagent_message' },
  draft: { kind: 'prompt', prompt: 'writer' },
  transfer: { kind: 'hand_off', agent: 'boss' },
}

const PROMPTS: Plan['prompts'] = {
  clerk: { model: 'chat', tools: TOOLS },
  chief: { model: 'chat', taskQueue: 'gpu', tools: TOOLS },
  writer: {
    model: 'writing',
    tools: { work: WORK, ask: ASK, draft: { kind: 'prompt', prompt: 'writer' } },
  },
  plain: { model: 'chat', tools: { work: WORK, careful: WORK } },
}

/** With the prompts of its sides, and the one that those reach as a tool. */
function plan(agent: string, sides: Plan['sides'], patch: Partial<Plan> = {}): Plan {
  const names = ['writer', sides.a.prompt, ...(sides.b === null ? [] : [sides.b.prompt])]
  return {
    digest: `plan-${agent}`,
    agent,
    type: sides.b === null ? 'ai_human' : 'dual_ai',
    maxSessionTurns: null,
    caps: { stepsPerRun: 9, sessionTurns: 6, repeatedToolErrors: 3 },
    sides,
    prompts: Object.fromEntries(Object.entries(PROMPTS).filter(([name]) => names.includes(name))),
    ...patch,
  }
}

/** The agents of simulated threads: a person's, one with its model elsewhere, one of two sides, and subagents. */
const PLANS: Readonly<Record<string, Plan>> = {
  clerk: plan('clerk', { a: side('clerk'), b: null }),
  boss: plan('boss', { a: side('chief', { stopTool: null }), b: null }),
  pair: plan(
    'pair',
    { a: side('clerk'), b: side('plain', { stopOnResponse: false, stopTool: null }) },
    { maxSessionTurns: 5 },
  ),
  helper: plan('helper', { a: side('clerk', { maxSteps: 3 }), b: null }),
  keeper: plan('keeper', {
    a: side('plain', { maxSteps: 3 }),
    b: side('plain', { maxSteps: 3, stopTool: null }),
  }),
}

/** Agents whose prompt starts a subagent by itself. */
export const IMMEDIATE: ReadonlySet<string> = new Set(['boss'])

/** @throws for an agent that nobody has: a bug of the simulation */
export function planNamed(agent: string): Plan {
  const found = PLANS[agent]
  if (found === undefined) throw new Error(`Expected an agent of the simulation, got ${agent}.`)
  return found
}

export function planOfDigest(digest: string): Plan {
  return planNamed(digest.slice('plan-'.length))
}
