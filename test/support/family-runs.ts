import { randomUUID } from 'node:crypto'

import type { NewMessage, ThreadHandle } from '../../src/client/index.js'
import type { ThreadLimits } from '../../src/protocol/messages.js'
import type { ScriptedRequest, TestEnvironment } from '../../src/testing/index.js'
import { createFamilyScripts } from './family-scripts.js'
import { familyDesk } from './family-desk.js'
import type { FamilyDesk } from './family-desk.js'
import type { FamilyScript, FamilyScripts } from './family-scripts.js'
import { marked } from './marker.js'
import { threeModes } from './three-modes.js'
import type { ModeEnvironment, ModeOptions } from './three-modes.js'
import { until } from './until.js'

export interface NewFamily extends FamilyScript {
  /** @default 'planner' */
  readonly agent?: Parameters<TestEnvironment<FamilyDesk>['threads']['create']>[0]['agent']
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
export interface Families extends ModeEnvironment<FamilyDesk> {
  start(family: NewFamily): Promise<Family>
}

/** Runs a suite of tests of conversations between agents three times. */
export function familyRuns(
  suite: (families: Families) => void,
  options: Pick<ModeOptions<FamilyDesk>, 'limits' | 'restarts'> = {},
): void {
  const scripts = createFamilyScripts()
  const { models, tools } = scripts
  threeModes({ registry: familyDesk, models, tools, ...options }, (environment) => {
    // Not a spread: the environment is made before the first test, and read when it is asked for.
    suite(
      Object.assign(environment, {
        start: (family: NewFamily) => startFamily(environment.env, scripts, family),
      }),
    )
  })
}

export async function startFamily(
  env: TestEnvironment<FamilyDesk>,
  { script }: FamilyScripts,
  { agent = 'planner', message = marked('Hello'), limits, ...scripted }: NewFamily,
): Promise<Family> {
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
    child: () => until('a child', async () => (await children())[0], 20_000),
  }
}
