import { marked } from '../../support/marker.js'
import type { WireAnswer } from '../../support/provider-wire.js'

/** A message of a request as the wire has it. */
export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: unknown
  readonly tool_calls?: readonly unknown[]
}

/** Every message of a test names its case, `#like-this`. */
export function caseOf(messages: readonly ChatMessage[]): string {
  return /#([\w-]+)/.exec(JSON.stringify(messages))?.[1] ?? ''
}

/** What the model says: it does what the last message asks for, and depends on nothing else. */
export function answerTo(messages: readonly ChatMessage[]): WireAnswer {
  const name = caseOf(messages)
  const last = messages.at(-1)
  const system = JSON.stringify(messages[0]?.content)
  if (last?.role === 'tool') return { text: marked(`All is done for #${name} now.`) }
  if (system.includes('researcher')) return call('deliver', deliver(name))
  const asked = /please (book|charge|research)( and hold)?/.exec(JSON.stringify(last?.content))
  if (asked === null) return { text: marked(`Gladly, #${name}, and many words more.`) }
  const [, tool = '', hold] = asked
  if (tool === 'research')
    return call(tool, { question: marked(`What is it? #${name}`), files: ['/attachments/notes.txt'] })
  return call(tool, { task: marked(`It is for #${name}`), hold: hold !== undefined })
}

function deliver(name: string): object {
  return { summary: marked(`Found for #${name}`), files: ['/attachments/notes.txt'] }
}

function call(name: string, input: object): WireAnswer {
  return { toolCalls: [{ name, input: JSON.stringify(input) }] }
}
