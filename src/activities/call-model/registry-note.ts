import type { LanguageModelV4Message } from '@ai-sdk/provider'
import { SYSTEM_NOTE } from '../../model/context/assemble-prompt.js'
import type { OpenInstance } from '../../store/open-instances.js'

const HEADING =
  'The subagents of this conversation that are there, one a line. One that is completed or failed has ended its last ' +
  'work: it is idle, and takes messages.'

/**
 * What a parent's model is told of its children, behind the history: they change from step to step, and what stands
 * before them stays (T12). Null without children. One JSON object a line: what a child says of itself cannot look like
 * another line.
 */
export function registryNote(instances: readonly OpenInstance[]): string | null {
  if (instances.length === 0) return null
  return [HEADING, ...instances.map(instanceLine)].join('\n')
}

/** A system message as every provider takes it in that place. */
export function registryMessage(note: string): LanguageModelV4Message {
  return { role: 'user', content: [{ type: 'text', text: SYSTEM_NOTE + note }] }
}

function instanceLine({ reference, name, title, threadName, description, status }: OpenInstance): string {
  return JSON.stringify({
    reference,
    name,
    ...(title === null ? {} : { title }),
    ...(threadName === null ? {} : { threadName }),
    description,
    status,
  })
}
