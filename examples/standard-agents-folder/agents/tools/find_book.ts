import { defineTool } from 'everthread'
import { z } from 'zod'

const BOOKS = ['The Left Hand of Darkness', 'The Dispossessed', 'A Wizard of Earthsea']

export default defineTool({
  description: 'Find books by a word of their title.',
  args: z.object({ word: z.string() }),
  idempotent: true,
  execute(_state, { word }) {
    const found = BOOKS.filter((title) => title.toLowerCase().includes(word.toLowerCase()))
    return { status: 'success', result: found }
  },
})
