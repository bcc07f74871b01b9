import type { ThreadEvent } from '../client/index.js'
import type { Terminal } from './terminal.js'
import { messageLines } from './thread-lines.js'

/** One event as a line, with the words of the error that it names; text as it streams is left to the message that replaces it. */
export function showEvent(terminal: Terminal, event: ThreadEvent, words: readonly string[] = []): void {
  if (event.type === 'model.delta' || event.type === 'reasoning.delta' || event.type === 'step.phase') return
  const time = event.timestamp.slice(11, 19)
  if (event.type === 'message.created' && event.payload.message !== null) {
    const [first = '', ...rest] = messageLines(event.payload.message)
    terminal.line(`${time} ${first.trim()}`)
    for (const line of rest) terminal.line(`         ${line.trim()}`)
    return
  }
  terminal.line(`${time} ${event.type} ${JSON.stringify(event.payload)}`)
  for (const line of words) terminal.line(`         ${line}`)
}
