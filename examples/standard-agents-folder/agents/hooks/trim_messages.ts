import { defineHook } from 'everthread'

export default defineHook({
  hook: 'before_create_message',
  id: 'trim_messages',
  execute: (_state, message) => ({ ...message, content: message.content?.trim() ?? null }),
})
