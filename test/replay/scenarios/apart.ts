import { randomUUID } from 'node:crypto'
import { Context } from '@temporalio/activity'
import { z } from 'zod'
import type { ThreadClient } from '../../../src/client/index.js'
import {
  defineAgent,
  defineModel,
  definePrompt,
  defineRemoteTool,
  defineTool,
  registry,
} from '../../../src/index.js'
import type { RemoteCallInput } from '../../../src/protocol/activities.js'
import { scriptedModel } from '../../../src/testing/index.js'
import { marked } from '../../support/marker.js'
import { closed, doing, idle } from './scenario.js'
import type { Scenarios } from './scenario.js'

export const MODELS_QUEUE = `recorded-models-${randomUUID()}`
export const TOOLS_QUEUE = `recorded-tools-${randomUUID()}`

/** Asks for the tool that the last message names. */
const echoing = scriptedModel(({ messages }) => {
  const last = messages.at(-1)
  if (last?.role !== 'user') return { text: marked('Done') }
  const [name = ''] = last.text.split(' ')
  return { toolCalls: [{ name, args: { task: marked('it') } }] }
})
// Its other workers have the registry as it is.
const provider = { languageModel: () => echoing }
const task = z.object({ task: z.string() })
const remote = { args: task, taskQueue: TOOLS_QUEUE }

/** Agents whose models and tools are on other task queues, and in other languages. */
export const apartDesk = registry({
  models: [
    defineModel({ name: 'here', provider, model: 'scripted' }),
    defineModel({ name: 'away', provider, model: 'scripted', taskQueue: MODELS_QUEUE }),
  ],
  prompts: (['here', 'away'] as const).map((model) =>
    definePrompt({
      ...{ name: model, model, toolDescription: 'Answers', prompt: marked('You answer.') },
      ...{
        includeChat: true,
        includePastTools: true,
        tools: ['far', 'lost', 'claimed', 'forgotten', 'dropped', 'hung'],
      },
    }),
  ),
  agents: (['here', 'away'] as const).map((name) => defineAgent({ name, sideA: { prompt: name } })),
  tools: {
    far: defineTool({
      ...{ description: 'Runs elsewhere', args: task, taskQueue: TOOLS_QUEUE },
      execute: () => ({ status: 'success', result: marked('far') }),
    }),
    lost: defineTool({
      ...{ description: 'Has no worker', args: task, taskQueue: `${TOOLS_QUEUE}-nobody` },
      execute: () => ({ status: 'success' }),
    }),
    claimed: defineRemoteTool({ ...remote, description: 'Claims its call', activity: 'claimed' }),
    dropped: defineRemoteTool({ ...remote, description: 'Forgets its call', activity: 'dropped' }),
    forgotten: defineRemoteTool({ ...remote, description: 'Says nothing', activity: 'forgotten' }),
    hung: defineRemoteTool({ ...remote, description: 'Never ends', activity: 'hung' }),
  },
})

/** Behaviours of threads whose work is done by other workers. */
export function threadsApart(threads: ThreadClient<typeof apartDesk>): Scenarios {
  return {
    async 'work-on-other-task-queues'() {
      const thread = await threads.create({ agent: 'away', message: marked('far') })
      await idle(thread)
      await thread.queueTool('far', { task: marked('once more') })
      await idle(thread)
      return [thread.threadId]
    },

    async 'stopped-before-anybody-took-it'() {
      const thread = await threads.create({ agent: 'here', message: marked('lost') })
      await doing(thread, 'tool lost')
      await thread.stop()
      await idle(thread)
      return [thread.threadId]
    },

    async 'tools-in-another-language'() {
      const thread = await threads.create({ agent: 'here', message: marked('claimed') })
      await idle(thread)
      for (const name of ['dropped', 'forgotten']) {
        await thread.send(marked(name))
        await idle(thread)
      }
      await thread.send(marked('hung'))
      await doing(thread, 'tool hung')
      await thread.terminate()
      await closed(thread)
      return [thread.threadId]
    },
  }
}

/** The activities of the other worker. */
export function apartActivities({ remoteCalls }: ThreadClient<typeof apartDesk>) {
  return {
    async claimed({ threadId, callId }: RemoteCallInput): Promise<void> {
      const claimId = Context.current().info.base64TaskToken
      const { token } = await remoteCalls.claim({ threadId, callId, claimId, taskQueues: [TOOLS_QUEUE] })
      await remoteCalls.answer({ threadId, callId, token }, { status: 'success', result: marked('claimed') })
    },
    async forgotten({ threadId, callId }: RemoteCallInput): Promise<void> {
      const claimId = Context.current().info.base64TaskToken
      await remoteCalls.claim({ threadId, callId, claimId, taskQueues: [TOOLS_QUEUE] })
    },
    dropped: async (): Promise<void> => undefined,
    async hung(): Promise<void> {
      const beat = setInterval(() => Context.current().heartbeat(), 200)
      await Context.current().cancelled.finally(() => clearInterval(beat))
    },
  }
}
