/** The note that tells a model about the subagents of its thread. */
import type { LanguageModelV4Message } from '@ai-sdk/provider'
import { SYSTEM_NOTE } from './assemble-prompt.js'

/** A subagent of the thread, as its model sees it. */
interface ListedChild {
  readonly reference: string
  readonly name: string
  readonly title: string | null
  readonly threadName: string | null
  readonly description: string
  readonly status: string
}

const HEADING =
  'The subagents of this conversation, one a line. A subagent with the status completed or failed has ended its ' +
  'last work: it is idle and accepts messages.'

/**
 * The note to a parent's model about its children; null without children. It follows the history, because it changes
 * from step to step and the rows before it do not (T12). Each child is one JSON object on its own line, so that the
 * status text of a child cannot look like another line.
 */
export function registryNote(instances: readonly ListedChild[]): string | null {
  if (instances.length === 0) return null
  return [HEADING, ...instances.map(instanceLine)].join('\n')
}

/** A system message in a form that every provider accepts at the end of a prompt. */
export function registryMessage(note: string): LanguageModelV4Message {
  return { role: 'user', content: [{ type: 'text', text: SYSTEM_NOTE + note }] }
}

function instanceLine({ reference, name, title, threadName, description, status }: ListedChild): string {
  return JSON.stringify({
    reference,
    name,
    ...(title === null ? {} : { title }),
    ...(threadName === null ? {} : { threadName }),
    description,
    status,
  })
}
