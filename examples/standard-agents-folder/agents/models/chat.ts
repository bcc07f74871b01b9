import { openai } from '@ai-sdk/openai'
import { defineModel } from 'everthread'

export default defineModel({ name: 'chat', provider: openai, model: 'gpt-5-mini' })
