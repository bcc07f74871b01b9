import type { DeltaPayload } from 'everthread/client'

import { bold, dim } from './terminal.ts'

export interface Speaker {
  /** Sets the speaker of the following text. */
  name(name: string): void
  /** Writes a piece of an unfinished answer. */
  say(messageId: string, delta: DeltaPayload): void
  /** Writes the stored answer, which replaces its pieces. */
  finish(message: { readonly id: string; readonly content: string | null }): void
}

/** Writes answers to the terminal while they are produced, each with the name of its speaker. */
export function createSpeaker(indent: string, firstName = ''): Speaker {
  let name = firstName
  let shown = { messageId: '', attempt: 0, text: '' }
  const write = (messageId: string, attempt: number, text: string): void => {
    if (text === '') return
    if (shown.messageId !== messageId || shown.attempt !== attempt) {
      if (shown.messageId === messageId)
        console.log(`\n${indent}  ${dim('the answer that was cut off is dropped; the model is asked again')}`)
      process.stdout.write(`${indent}${bold(name)}: `)
      shown = { messageId, attempt, text: '' }
    }
    process.stdout.write(text.replaceAll('\n', `\n${indent}`))
    shown = { ...shown, text: shown.text + text }
  }
  return {
    name(given) {
      name = given
    },
    say: (messageId, { attempt, text }) => write(messageId, attempt, text),
    finish({ id, content }) {
      const text = content ?? ''
      // Pieces that were not read before the answer was stored are deleted: the rest comes from the answer.
      const known = shown.messageId === id && text.startsWith(shown.text)
      write(id, known ? shown.attempt : 0, known ? text.slice(shown.text.length) : text)
      if (text !== '') process.stdout.write('\n')
    },
  }
}
