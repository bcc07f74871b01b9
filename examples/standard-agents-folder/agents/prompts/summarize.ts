import { definePrompt } from 'everthread'
import { z } from 'zod'

/** A prompt as a tool: one model step of its own, whose text is the result. */
export default definePrompt({
  name: 'summarize',
  toolDescription: 'Summarize a text in one sentence.',
  model: 'chat',
  requiredSchema: z.object({ text: z.string() }),
  prompt: 'Summarize the text that you are given in one sentence.',
})
