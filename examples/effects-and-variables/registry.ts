import { openai } from '@ai-sdk/openai'
import { defineAgent, defineEffect, defineModel, definePrompt, defineTool, registry } from 'everthread'
import { z } from 'zod'

const chat = defineModel({ name: 'chat', provider: openai, model: 'gpt-5-mini' })

const assistant_prompt = definePrompt({
  name: 'assistant_prompt',
  toolDescription: 'Reminds people',
  model: 'chat',
  includeChat: true,
  includePastTools: true,
  prompt: [
    { type: 'text', content: 'You remind ' },
    { type: 'env', property: 'OWNER' },
    { type: 'text', content: ' of things.' },
  ],
  // Without a value the run is blocked until one is supplied: create({ env }), setEnv(), or the answer to the request.
  variables: [{ name: 'OWNER', type: 'text', required: true, description: 'Whose assistant it is' }],
  tools: ['remind_me', 'list_reminders', 'forget_reminder', 'send_mail'],
})

const Reminder = z.object({ about: z.string() })

/** Durable: due in a minute or in a year, and not lost by restarts. */
const remind = defineEffect('Reminds of something', Reminder, async (state, { about }) => {
  await state.queueMessage({ role: 'user', silent: true, content: `It is time: remind of "${about}".` })
})

const remind_me = defineTool({
  description: 'Remind of something, some minutes from now. Replaces an earlier reminder of the same.',
  args: Reminder.extend({ minutes: z.number().positive() }),
  async execute(state, { about, minutes }) {
    for (const effect of await state.getScheduledEffects('remind'))
      if (effect.args['about'] === about) await state.removeScheduledEffect(effect.id)
    const id = await state.scheduleEffect('remind', { about }, minutes * 60_000)
    return { status: 'success', result: `Reminder ${id} is set.` }
  },
})

const list_reminders = defineTool({
  description: 'List the reminders that are set.',
  idempotent: true,
  async execute(state) {
    const effects = await state.getScheduledEffects('remind')
    return {
      status: 'success',
      result: effects.map(({ id, args }) => ({ id, about: args['about'] ?? null })),
    }
  },
})

const forget_reminder = defineTool({
  description: 'Remove a reminder by its id.',
  args: z.object({ id: z.string() }),
  async execute(state, { id }) {
    const removed = await state.removeScheduledEffect(id)
    return { status: 'success', result: removed ? 'It is removed.' : 'There is no such reminder.' }
  },
})

const send_mail = defineTool({
  description: 'Send a mail to the owner.',
  args: z.object({ text: z.string() }),
  // Sealed in the store and passed to tools only: never in a prompt, a log or a history.
  variables: [{ name: 'MAIL_KEY', type: 'secret', required: true, description: 'Key of the mail service' }],
  async execute(state, { text }) {
    const key = await state.env('MAIL_KEY')
    return { status: 'success', result: `Sent ${text.length} characters with a key of ${key.length}.` }
  },
})

const assistant = defineAgent({ name: 'assistant', sideA: { prompt: 'assistant_prompt' } })

export const office = registry({
  agents: [assistant],
  prompts: [assistant_prompt],
  models: [chat],
  tools: { remind_me, list_reminders, forget_reminder, send_mail },
  effects: { remind },
})
