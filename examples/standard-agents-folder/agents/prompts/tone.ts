import { definePrompt } from 'everthread'

export default definePrompt({
  name: 'tone',
  toolDescription: 'Tone of voice',
  model: 'chat',
  prompt: 'Be brief and friendly.',
})
