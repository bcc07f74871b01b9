import { defineEffect } from 'everthread'
import { z } from 'zod'

export default defineEffect(
  'Reminds a reader to return a book',
  z.object({ title: z.string() }),
  async (state, { title }) => {
    await state.queueMessage({
      role: 'user',
      silent: true,
      content: `Remind the reader to return "${title}".`,
    })
  },
)
