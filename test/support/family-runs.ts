import { randomUUID } from 'node:crypto'
import type { NewMessage, ThreadHandle } from '../../src/client/index.js'
import type { Registry } from '../../src/definitions/known-definitions.js'
import type { AgentName } from '../../src/definitions/registry.js'
import type { ThreadLimits } from '../../src/protocol/messages.js'
import type { ScriptedRequest, TestEnvironment } from '../../src/testing/index.js'
import { familyDesk } from './family-desk.js'
import type { FamilyDesk } from './family-desk.js'
import { createFamilyScripts } from './family-scripts.js'
import type { FamilyScript, FamilyScripts } from './family-scripts.js'
import { kindsDesk } from './kinds-desk.js'
import type { KindsDesk } from './kinds-desk.js'
import { marked } from './marker.js'
import { threeModes } from './three-modes.js'
import type { ModeEnvironment, ModeOptions } from './three-modes.js'
import { until } from './until.js'

export interface NewFamily<Agent extends string = AgentName<FamilyDesk>> extends FamilyScript {
  /** @default 'planner', or 'lead' where there are subagents of every kind */
  readonly agent?: Agent
  /** @default a greeting; null sends none */
  readonly message?: string | NewMessage | null
  readonly limits?: ThreadLimits
}

/** A root thread and those that came of it. */
export interface Family {
  readonly thread: ThreadHandle
  /** Every request that a prompt of the family made. */
  requests(prompt: string): readonly ScriptedRequest[]
  /** The children of the root thread so far, the first one first. */
  children(): Promise<readonly ThreadHandle[]>
  /** The first child, as soon as it is there. */
  child(): Promise<ThreadHandle>
}

/** The environment of one mode, with agents that talk to agents. */
export interface Families<R extends Registry = FamilyDesk> extends ModeEnvironment<R> {
  start(family: NewFamily<AgentName<R>>): Promise<Family>
}

type FamilyOptions<R extends Registry> = Pick<ModeOptions<R>, 'limits' | 'restarts'>

/** Runs a suite of tests of conversations between agents in each mode; a root thread is a planner, if nothing else is said. */
export function familyRuns(
  suite: (families: Families) => void,
  options: FamilyOptions<FamilyDesk> = {},
): void {
  familiesOf({ registry: familyDesk, agent: 'planner', ...options }, suite)
}

/** The same with subagents of every kind; a root thread is a lead. */
export function kindsRuns(
  suite: (families: Families<KindsDesk>) => void,
  options: FamilyOptions<KindsDesk> = {},
): void {
  familiesOf({ registry: kindsDesk, agent: 'lead', ...options }, suite)
}

function familiesOf<R extends FamilyDesk | KindsDesk>(
  { agent, ...options }: FamilyOptions<R> & { readonly registry: R; readonly agent: AgentName<R> },
  suite: (families: Families<R>) => void,
): void {
  const scripts = createFamilyScripts(options.registry)
  const { models, tools } = scripts
  // Both desks have one model, and tools by these names.
  threeModes({ ...options, models, tools } as unknown as ModeOptions<R>, (environment) => {
    const start = (family: NewFamily<AgentName<R>>): Promise<Family> =>
      startFamily(environment.env, scripts, { agent, ...family })
    // Not a spread: the environment is made before the first test, and read when it is asked for.
    suite(Object.assign(environment, { start }))
  })
}

export async function startFamily<R extends Registry>(
  env: Pick<TestEnvironment<R>, 'threads' | 'store'>,
  { script }: FamilyScripts,
  family: NewFamily<AgentName<R>>,
): Promise<Family> {
  const { agent = 'planner' as AgentName<R>, message = marked('Hello'), limits, ...scripted } = family
  const id = `${agent}-${randomUUID()}`
  const voices = script(id, env.store, scripted)
  const thread = await env.threads.create({
    agent,
    id,
    ...(message !== null && { message }),
    ...(limits !== undefined && { limits }),
  })
  const children = async (): Promise<readonly ThreadHandle[]> =>
    (await thread.snapshot()).children.map(({ reference }) => env.threads.get(reference))
  return {
    thread,
    requests: (prompt) => voices[prompt]?.requests ?? [],
    children,
    child: () => until('a child', async () => (await children())[0]),
  }
}
