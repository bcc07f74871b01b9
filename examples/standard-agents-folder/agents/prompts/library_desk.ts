import { definePrompt } from 'everthread'

export default definePrompt({
  name: 'library_desk',
  toolDescription: 'Helps readers',
  model: 'chat',
  includeChat: true,
  includePastTools: true,
  prompt: [
    { type: 'include', prompt: 'tone' },
    { type: 'text', content: ' You help readers of a library.' },
  ],
  tools: ['find_book', 'summarize'],
  hooks: ['trim_messages'],
})
