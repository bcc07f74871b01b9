import { z } from 'zod'
import {
  defineAgent,
  defineEffect,
  defineHook,
  defineModel,
  definePrompt,
  defineTool,
  registry,
} from '../../../src/index.js'
import type { LanguageModel } from '../../../src/model/model-answer.js'

/** Every careless thing that code can do with a secret that it was given. */
export function canaryDesk(chat: LanguageModel) {
  return registry({
    models: [defineModel({ name: 'chat', provider: { languageModel: () => chat }, model: 'scripted' })],
    prompts: [
      definePrompt({
        name: 'careless',
        toolDescription: 'Is careless',
        prompt: 'You are careless.',
        model: 'chat',
        includeChat: true,
        includePastTools: true,
        tools: ['tell', 'throws', 'emits', 'queues', 'schedules', 'keeps', 'hands_over'],
        hooks: ['throws_in_hook', 'tells_the_model'],
      }),
      definePrompt({
        name: 'asked_in_place',
        toolDescription: 'Is told the secret',
        prompt: 'You listen.',
        model: 'chat',
        requiredSchema: z.object({ secret: z.string() }),
      }),
    ],
    agents: [defineAgent({ name: 'careless', sideA: { prompt: 'careless' } })],
    tools: {
      tell: defineTool({
        description: 'Tells the secret',
        variables: [{ name: 'CANARY', type: 'secret', required: true, description: 'Sings' }],
        execute: async (state) => ({ status: 'success', result: { told: await state.env('CANARY') } }),
      }),
      throws: defineTool({
        description: 'Throws the secret',
        execute: async (state) => {
          throw new Error(`The service refused ${await state.env('CANARY')}.`)
        },
      }),
      emits: defineTool({
        description: 'Emits the secret',
        execute: async (state) => {
          state.emit('song', { text: await state.env('CANARY') })
          return { status: 'error', error: `refused ${await state.env('CANARY')}`, error_code: 'refused' }
        },
      }),
      queues: defineTool({
        description: 'Queues the secret',
        execute: async (state) => {
          await state.queueMessage({ role: 'user', content: `Use ${await state.env('CANARY')}` })
          await state.injectMessage({ role: 'user', content: `Or ${await state.env('CANARY')}` })
          return { status: 'success' }
        },
      }),
      schedules: defineTool({
        description: 'Schedules an effect that throws the secret',
        execute: async (state) => {
          await state.scheduleEffect('sing', { of: await state.env('CANARY') }, 0)
          return { status: 'success' }
        },
      }),
      keeps: defineTool({
        description: 'Keeps the secret wherever it can',
        execute: async (state) => {
          const secret = await state.env('CANARY')
          await state.setValue(`of ${secret}`, { nested: [secret] })
          await state.setEnv('COPY', secret, { type: 'text' })
          await state.writeFile(`/${secret}.txt`, 'nothing', 'text/plain', { metadata: { of: secret } })
          state.context['secret'] = secret
          state.queueTool('tell', { secret })
          await state.invokeTool('asked_in_place', { secret })
          return { status: 'success', content: [{ type: 'text', text: `${'x'.repeat(70_000)}${secret}` }] }
        },
      }),
      hands_over: defineTool({
        description: 'Asks for approval with the secret in the reason',
        needsApproval: async (state) => {
          throw new Error(`Cannot decide about ${await state.env('CANARY')}`)
        },
        execute: () => ({ status: 'success' }),
      }),
    },
    hooks: [
      defineHook({
        hook: 'after_create_message',
        id: 'throws_in_hook',
        execute: async (state) => {
          throw new Error(`The hook saw ${await state.env('CANARY')}.`)
        },
      }),
      defineHook({
        hook: 'after_system_message',
        id: 'tells_the_model',
        execute: async (state, text) => `${text} Use ${await state.env('CANARY')}.`,
      }),
    ],
    effects: {
      sing: defineEffect('Sings', z.object({ of: z.string() }), async (state) => {
        throw new Error(`The effect saw ${await state.env('CANARY')}.`)
      }),
    },
  })
}
