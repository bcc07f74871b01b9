import type { ThreadState } from 'everthread'

import type { Work } from './act.js'

/** A number that only whole calls move on, a file and a message: all three are there once, or none (T9). */
export async function takeNote(state: ThreadState, { ref }: Work): Promise<string> {
  const before = await state.getValue('notes')
  const count = (typeof before === 'number' ? before : 0) + 1
  await state.setValue('notes', count)
  await state.writeFile(noteFile(ref), ref, 'text/plain')
  await state.queueMessage({ role: 'user', content: `noted ${ref}`, silent: true })
  return `note ${count}`
}

export function noteFile(ref: string): string {
  return `/notes/${ref.slice(1, -1)}.txt`
}
