import type { ThreadSummary } from '../../client/lists/list-threads.js'
import { shorten } from './format.js'

/** What a person knows a thread by: its title, else the words that it began with, else its agent. Its id stands elsewhere. */
export function titleOf({
  title,
  opening,
  agent,
}: Pick<ThreadSummary, 'title' | 'opening' | 'agent'>): string {
  const words = [title, opening].map((text) => shorten(text ?? '', 80)).find((text) => text !== '')
  return words ?? agent
}
