import { defineAgent } from 'everthread'

export default defineAgent({
  name: 'librarian',
  title: 'Librarian',
  sideA: { prompt: 'library_desk' },
})
