import { defineAgent, defineModel, definePrompt, defineTool, registry } from 'everthread'
import { z } from 'zod'

import { chaosModel } from './chaos-model.js'
import { chaosEffects, chaosTools } from './chaos-tools.js'
import type { Deed } from './deeds.js'
import type { Journal } from './journal.js'

/** Of the agents: each restart of a worker may bring the other one. */
export type DeskVersion = 'old' | 'new'

const order = z.object({ task: z.string(), files: z.array(z.string()).default([]) })
const MAPPED = { initUserMessageProperty: 'task', initAttachmentsProperty: 'files' } as const
const RESUMABLE = { receives_messages: 'side_a' } as const
const EXPLICIT = { ...RESUMABLE, parentCommunication: 'explicit' } as const
const voice = { model: 'voice', includeChat: true, includePastTools: true } as const

/** One agent for each way in which a subagent can be called; what they do is the same. */
const SUBAGENTS = ['helper', 'runner', 'crew', 'swarm', 'partner', 'keeper', 'scout'] as const

const LEAD_TOOLS = [
  'book',
  'charge',
  'retrying',
  'permit',
  'note',
  'remind',
  'stamp',
  { name: 'outline', initUserMessageProperty: 'task' },
  { name: 'helper', ...MAPPED },
  { name: 'runner', blocking: false, ...MAPPED },
  { name: 'crew', fanOut: true, ...MAPPED },
  { name: 'swarm', fanOut: true, blocking: false, ...MAPPED },
  { name: 'partner', resumable: RESUMABLE },
  { name: 'keeper', blocking: false, resumable: RESUMABLE },
  { name: 'scout', blocking: false, resumable: EXPLICIT },
] as const

/** A lead who has tools of each rule and subagents of each kind; the new version has other words and one more tool. */
export function chaosDesk(journal: Journal<Deed>, version: DeskVersion) {
  const model = chaosModel(journal)
  const lead = {
    ...voice,
    name: 'lead',
    toolDescription: 'Leads',
    prompt: `You lead, by the ${version} rules.`,
  }
  return registry({
    models: [defineModel({ name: 'voice', provider: { languageModel: () => model }, model: 'voice' })],
    prompts: [
      version === 'old'
        ? definePrompt({ ...lead, tools: LEAD_TOOLS })
        : definePrompt({ ...lead, tools: [...LEAD_TOOLS, 'extra'] }),
      definePrompt({
        ...voice,
        name: 'hand',
        toolDescription: 'Works',
        prompt: `You work, by the ${version} rules.`,
        requiredSchema: order,
        tools: [
          'book',
          'charge',
          'note',
          'stamp',
          'tell',
          'deliver',
          'give_up',
          { name: 'helper', ...MAPPED },
        ],
      }),
      definePrompt({ ...voice, name: 'observer', toolDescription: 'Observes', prompt: 'You observe.' }),
      definePrompt({
        model: 'voice',
        name: 'outline',
        toolDescription: 'Makes an outline',
        prompt: 'You make an outline.',
        requiredSchema: z.object({ task: z.string() }),
        tools: ['book', 'charge'],
      }),
    ],
    agents: [
      defineAgent({ name: 'lead', sideA: { prompt: 'lead' } }),
      ...SUBAGENTS.map((name) =>
        defineAgent({
          name,
          type: 'dual_ai',
          exposeAsTool: true,
          toolDescription: version === 'old' ? 'Does a task' : 'Does a task well',
          maxSessionTurns: 4,
          sideA: {
            prompt: 'hand',
            sessionStop: { name: 'deliver', messageProperty: 'summary', attachmentsProperty: 'files' },
            sessionFail: { name: 'give_up', messageProperty: 'summary', attachmentsProperty: 'files' },
          },
          sideB: { prompt: 'observer' },
        }),
      ),
    ],
    tools: {
      ...chaosTools(journal),
      ...(version === 'new' && { extra: extra() }),
    },
    effects: chaosEffects(journal),
  })
}

/** Nobody calls it: that a plan has it is the change. */
function extra() {
  return defineTool({ description: 'Is new', execute: () => ({ status: 'success', result: 'extra done' }) })
}
