import { randomUUID } from 'node:crypto'
import type { ThreadHandle } from '../../src/client/index.js'
import type { AgentName } from '../../src/definitions/registry.js'
import { marked } from './marker.js'
import { createThreadScripts } from './thread-scripts.js'
import type { ScriptedThread, ThreadScript } from './thread-scripts.js'
import { threeModes } from './three-modes.js'
import type { ModeEnvironment, ModeOptions } from './three-modes.js'
import { workflowDesk } from './workflow-desk.js'
import type { WorkflowDesk } from './workflow-desk.js'

export interface NewScenario extends ThreadScript {
  /** @default 'clerk' */
  readonly agent?: AgentName<WorkflowDesk>
  /** @default a greeting; null sends none */
  readonly message?: string | null
}

export interface Scenario extends ScriptedThread {
  readonly thread: ThreadHandle
}

/** The environment of one mode, with agents that talk to a person. */
export interface Desk extends ModeEnvironment<WorkflowDesk> {
  /** Starts a thread of the tests' agents, with a script of its own. */
  start(scenario: NewScenario): Promise<Scenario>
  /** A script for a thread that the test starts itself. */
  script(threadId: string, script: ThreadScript): ScriptedThread
}

/** Runs a suite of tests of single threads in each mode. */
export function threeRuns(
  suite: (desk: Desk) => void,
  options: Pick<ModeOptions<WorkflowDesk>, 'limits' | 'restarts' | 'runAhead' | 'rateLimits'> = {},
): void {
  const { models, tools, script } = createThreadScripts()
  threeModes({ registry: workflowDesk, models, tools, ...options }, (environment) => {
    const start: Desk['start'] = async ({ agent = 'clerk', message = marked('Hello'), ...scripted }) => {
      const id = `${agent}-${randomUUID()}`
      const voices = script(id, scripted)
      const { threads } = environment.env
      const thread = await threads.create({ agent, id, ...(message !== null && { message }) })
      return { ...voices, thread }
    }
    // Not a spread: the environment is made before the first test, and read when it is asked for.
    suite(Object.assign(environment, { script, start }))
  })
}
