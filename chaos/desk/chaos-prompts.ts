import { definePrompt } from 'everthread'
import { z } from 'zod'

/** Of the agents: each restart of a worker may bring the other one. */
export type DeskVersion = 'old' | 'new'

const order = z.object({ task: z.string(), files: z.array(z.string()).default([]) })
const MAPPED = { initUserMessageProperty: 'task', initAttachmentsProperty: 'files' } as const
const RESUMABLE = { receives_messages: 'side_a' } as const
const EXPLICIT = { ...RESUMABLE, parentCommunication: 'explicit' } as const
const voice = { model: 'voice', includeChat: true, includePastTools: true } as const

/** One subagent for each way in which it can be called. */
const LEAD_TOOLS = [
  'book',
  'charge',
  'retrying',
  'permit',
  'note',
  'remind',
  'stamp',
  'hold',
  { name: 'outline', initUserMessageProperty: 'task' },
  { name: 'helper', ...MAPPED },
  { name: 'runner', blocking: false, ...MAPPED },
  { name: 'crew', fanOut: true, ...MAPPED },
  { name: 'swarm', fanOut: true, blocking: false, ...MAPPED },
  { name: 'partner', resumable: RESUMABLE },
  { name: 'keeper', blocking: false, resumable: RESUMABLE },
  { name: 'scout', blocking: false, resumable: EXPLICIT },
] as const

const HAND_TOOLS = [
  'book',
  'charge',
  'note',
  'stamp',
  'tell',
  'deliver',
  'give_up',
  { name: 'helper', ...MAPPED },
] as const

export function leadPrompt(version: DeskVersion) {
  const prompt = `You lead, by the ${version} rules.`
  const lead = { ...voice, name: 'lead', toolDescription: 'Leads', prompt } as const
  return version === 'old'
    ? definePrompt({ ...lead, tools: LEAD_TOOLS })
    : definePrompt({ ...lead, tools: [...LEAD_TOOLS, 'extra'] })
}

export function handPrompt(version: DeskVersion) {
  return definePrompt({
    ...voice,
    name: 'hand',
    toolDescription: 'Works',
    prompt: `You work, by the ${version} rules.`,
    requiredSchema: order,
    tools: HAND_TOOLS,
  })
}

export const OBSERVER = definePrompt({
  ...voice,
  name: 'observer',
  toolDescription: 'Observes',
  prompt: 'You observe.',
})

/** A prompt as a tool: it sees its own task only. */
export const OUTLINE = definePrompt({
  model: 'voice',
  name: 'outline',
  toolDescription: 'Makes an outline',
  prompt: 'You make an outline.',
  requiredSchema: z.object({ task: z.string() }),
  tools: ['book', 'charge'],
})
