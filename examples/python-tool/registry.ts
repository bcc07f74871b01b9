import { openai } from '@ai-sdk/openai'
import { defineAgent, defineModel, definePrompt, defineRemoteTool, registry } from 'everthread'
import { z } from 'zod'

const chat = defineModel({ name: 'chat', provider: openai, model: 'gpt-5-mini' })

/** Its code is in worker.py: an activity of this type, on this task queue. */
const count_words = defineRemoteTool({
  description: 'Count the words of a text file of this conversation, and report the most frequent ones.',
  args: z.object({ path: z.string(), top: z.int().min(1).max(100).default(10) }),
  taskQueue: 'python-tools',
  activity: 'count_words',
  timeout: 60_000,
  // It changes nothing outside the thread, so it may run again after a crash.
  idempotent: true,
})

const reader = definePrompt({
  name: 'reader',
  toolDescription: 'Reads files',
  model: 'chat',
  includeChat: true,
  includePastTools: true,
  prompt: 'You answer questions about the text files that people attach.',
  tools: ['count_words'],
})

export const reading_room = registry({
  agents: [defineAgent({ name: 'reader', sideA: { prompt: 'reader' } })],
  prompts: [reader],
  models: [chat],
  tools: { count_words },
})
