import { z } from 'zod'

import {
  defineAgent,
  defineHook,
  defineModel,
  definePrompt,
  defineRemoteTool,
  registry,
} from '../../src/index.js'
import { unscripted } from './unscripted.js'

const task = z.object({ task: z.string() })

/** A clerk whose tools are activities of a worker in another language, on the task queue of this name. */
export function remoteDesk(taskQueue: string) {
  return registry({
    models: [defineModel({ name: 'chat', provider: unscripted, model: 'scripted' })],
    prompts: [
      definePrompt({
        name: 'clerk',
        toolDescription: 'Answers people',
        prompt: 'You are the clerk.',
        model: 'chat',
        includeChat: true,
        includePastTools: true,
        tools: ['rework', 'fail', 'hold_once', 'hold_again', 'guarded', 'nobody', 'odd'],
        hooks: ['stamp'],
      }),
    ],
    agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } })],
    tools: {
      rework: defineRemoteTool({
        description: 'Writes a file in capitals',
        args: z.object({ path: z.string(), times: z.number().default(1) }),
        variables: [{ name: 'API_KEY', type: 'secret', required: false, description: 'Of the service' }],
        taskQueue,
        activity: 'rework',
      }),
      fail: defineRemoteTool({ description: 'Fails', args: task, taskQueue, activity: 'fail' }),
      hold_once: defineRemoteTool({
        description: 'Takes long, once',
        args: task,
        taskQueue,
        activity: 'hold',
      }),
      hold_again: defineRemoteTool({
        description: 'Takes long; safe to repeat',
        args: task,
        idempotent: true,
        taskQueue,
        activity: 'hold',
      }),
      guarded: defineRemoteTool({
        description: 'Is to be allowed',
        args: task,
        needsApproval: true,
        idempotent: true,
        taskQueue,
        activity: 'hold',
      }),
      odd: defineRemoteTool({
        description: 'Has odd results; safe to repeat',
        args: task,
        idempotent: true,
        taskQueue,
        activity: 'odd',
      }),
      nobody: defineRemoteTool({
        description: 'Has no worker',
        args: task,
        taskQueue: `${taskQueue}-nobody`,
        activity: 'hold',
      }),
    },
    hooks: [
      defineHook({
        hook: 'before_store_tool_result',
        id: 'stamp',
        execute: (_state, _call, result) =>
          result.status === 'error' ? { ...result, error: `${result.error} [seen]` } : result,
      }),
    ],
  })
}
