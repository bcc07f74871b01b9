import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import { assertReplays, createTestEnvironment } from '../../src/testing/index.js'
import type { TestEnvironment, TestEnvironmentOptions } from '../../src/testing/index.js'
import { recordedRuns, searchForContent } from './histories.js'
import type { RecordedRun } from './histories.js'
import { marked } from './marker.js'
import { createThreadScripts } from './thread-scripts.js'
import type { ScriptedThread, ThreadScript } from './thread-scripts.js'
import { workflowDesk } from './workflow-desk.js'
import type { WorkflowDesk } from './workflow-desk.js'

type Options = Pick<TestEnvironmentOptions<WorkflowDesk>, 'limits' | 'worker' | 'continueAsNewEveryStep'>

/** Every workflow test runs in each: the same facts must hold however often a workflow's state is rebuilt. */
const MODES: readonly ({ readonly mode: string } & Options)[] = [
  { mode: 'default cache' },
  { mode: 'every task replayed', worker: { maxCachedWorkflows: 0 } },
  { mode: 'continued as new at every point', continueAsNewEveryStep: true },
]

export interface NewScenario extends ThreadScript {
  /** @default 'clerk' */
  readonly agent?: 'auditor' | 'capped' | 'clerk' | 'closer'
  /** @default a greeting; null sends none */
  readonly message?: string | null
}

export interface Scenario extends ScriptedThread {
  readonly thread: ThreadHandle
}

/** The environment of one mode, and the threads that its tests started. */
export interface Desk {
  readonly mode: string
  readonly env: TestEnvironment<WorkflowDesk>
  /** Starts a thread of the tests' agents, with a script of its own. */
  start(scenario: NewScenario): Promise<Scenario>
  /** A script for a thread that the test starts itself. */
  script(threadId: string, script: ThreadScript): ScriptedThread
  /** Inline signals are in history by their sender's choice. */
  allowInline(threadId: string, signal: string): void
  runs(threadId: string): Promise<readonly RecordedRun[]>
}

/** Runs a suite of workflow tests three times, each in an environment of its own, and replays all its histories. */
export function threeRuns(suite: (desk: Desk) => void, options: Options = {}): void {
  describe.each(MODES)('$mode', ({ mode, ...modeOptions }) => {
    const scripts = createThreadScripts()
    const threadIds: string[] = []
    const inline: string[] = []
    let environment: TestEnvironment<WorkflowDesk> | undefined
    const desk: Desk = {
      mode,
      get env() {
        if (environment === undefined) throw new Error('The environment is not there before the first test.')
        return environment
      },
      script(threadId, script) {
        threadIds.push(threadId)
        return scripts.script(threadId, script)
      },
      async start({ agent = 'clerk', message = marked('Hello'), ...script }) {
        const id = `${agent}-${randomUUID()}`
        const models = desk.script(id, script)
        const thread = await desk.env.threads.create({ agent, id, ...(message !== null && { message }) })
        return { ...models, thread }
      },
      allowInline: (threadId, signal) => void inline.push(`${threadId}/${signal}`),
      runs: (threadId) => recordedRuns(desk.env.threads.temporal, threadId),
    }

    beforeAll(async () => {
      const { models, tools } = scripts
      environment = await createTestEnvironment({
        registry: workflowDesk,
        models,
        tools,
        ...options,
        ...modeOptions,
      })
    })
    afterAll(() => environment?.close())

    suite(desk)

    test('SA-R-01.0 every history of this file replays', async () => {
      const runs = (await Promise.all(threadIds.map((id) => desk.runs(id)))).flat()
      expect(await assertReplays(runs)).toBe(runs.length)
      expect(runs.length).toBeGreaterThan(0)
    })

    test('no text, argument or result is in a history', async () => {
      const runs = (await Promise.all(threadIds.map((id) => desk.runs(id)))).flat()
      const { bytes, leaks } = searchForContent(runs, inline)
      expect(leaks).toEqual([])
      expect(bytes).toBeGreaterThan(1000)
    })
  })
}
