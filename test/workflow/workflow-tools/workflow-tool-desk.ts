import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from 'vitest'
import { Context } from '@temporalio/activity'
import { Worker } from '@temporalio/worker'

import { agent } from '../../../src/index.js'
import type { AgentOptions, Message } from '../../../src/index.js'
import type { ThreadHandle } from '../../../src/client/index.js'
import { scriptedModel } from '../../../src/testing/index.js'
import type { ScriptedAnswer, TestEnvironment, TestEnvironmentOptions } from '../../../src/testing/index.js'
import type { Registry } from '../../../src/definitions/known-definitions.js'
import { testEnvironment } from '../../support/test-store.js'
import { startTimeSkippingServer } from '../../support/time-skipping-server.js'
import type { TimeSkippingServer } from '../../support/time-skipping-server.js'

/** The task queue of the user's worker. */
export const THEIRS = 'their-workflows'

export interface Running {
  readonly thread: ThreadHandle
  readonly environment: TestEnvironment
  readonly client: TimeSkippingServer['environment']['client']
  readonly skip: TimeSkippingServer['environment']['sleep']
  /** What the model was asked. */
  readonly model: ReturnType<typeof scriptedModel>
}

interface Scenario {
  readonly id: string
  readonly tools: NonNullable<AgentOptions['tools']>
  readonly says: readonly ScriptedAnswer[]
  readonly options?: Partial<TestEnvironmentOptions<Registry>>
}

/** Threads of an agent with workflow tools, beside a worker of the user's workflows. */
export function workflowToolDesk() {
  let server: TimeSkippingServer
  let ended: Promise<void>
  let worker: Worker
  beforeAll(async () => {
    server = await startTimeSkippingServer()
    worker = await Worker.create({
      connection: server.environment.nativeConnection,
      taskQueue: THEIRS,
      workflowsPath: fileURLToPath(new URL('./their-workflows.ts', import.meta.url)),
      activities: {
        book: async () => {
          throw new Error('The bank says no.')
        },
        hang: () => Context.current().cancelled,
      },
    })
    ended = worker.run()
  })
  afterAll(async () => {
    worker.shutdown()
    await ended.catch(() => undefined)
    await server.stop()
  })

  return {
    async run(
      { id, tools, says, options }: Scenario,
      work: (running: Running) => Promise<void>,
    ): Promise<void> {
      const answers = [...says]
      const model = scriptedModel(() => {
        const next = answers.shift()
        if (next === undefined) throw new Error('Expected no request, got one.')
        return next
      })
      const clerk = agent({ name: 'clerk', model, instructions: 'You are the clerk.', tools })
      const environment = (await testEnvironment({
        ...{ agents: [clerk], models: model, server: server.environment, ...options },
      } as TestEnvironmentOptions<Registry>)) as TestEnvironment
      try {
        const thread = await environment.threads.create({ agent: 'clerk', id, message: 'Go on.' })
        const { client } = server.environment
        const skip: Running['skip'] = (time) => server.environment.sleep(time)
        await work({ thread, environment, client, skip, model })
      } finally {
        await environment.close()
      }
    },
  }
}

export const call = (name: string, args: object = {}): ScriptedAnswer => ({ toolCalls: [{ name, args }] })
export const done: ScriptedAnswer = { text: 'Done.' }

/** The messages with outcomes of workflows, which are in no transcript for people. */
export async function outcomeMessages(thread: ThreadHandle): Promise<readonly Message[]> {
  const { messages } = await thread.messages({ limit: 1000, includeSilent: true })
  return messages.filter(({ id }) => id.endsWith('_workflow'))
}
