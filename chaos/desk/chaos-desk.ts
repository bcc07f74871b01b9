import { defineAgent, defineModel, defineTool, registry } from 'everthread'

import { chaosModel } from './chaos-model.js'
import { handPrompt, leadPrompt, OBSERVER, OUTLINE } from './chaos-prompts.js'
import type { DeskVersion } from './chaos-prompts.js'
import { chaosEffects, chaosTools } from './chaos-tools.js'
import type { Deed } from './deeds.js'
import type { Journal } from './journal.js'

/** Where a desk leaves traces outside of the store. */
interface Traces {
  readonly journal: Journal<Deed>
  /** Folder of the run's gates. */
  readonly gates: string
}

/** They do the same; a lead calls each in its own way. */
const SUBAGENTS = ['helper', 'runner', 'crew', 'swarm', 'partner', 'keeper', 'scout'] as const

/**
 * A lead who has tools of each rule and subagents of each kind; the new version has other words and one more tool, and its runs go
 * ahead of their workflow.
 */
export function chaosDesk({ journal, gates }: Traces, version: DeskVersion) {
  const model = chaosModel(journal)
  return registry({
    models: [defineModel({ name: 'voice', provider: { languageModel: () => model }, model: 'voice' })],
    prompts: [leadPrompt(version), handPrompt(version), OBSERVER, OUTLINE],
    agents: [
      defineAgent({ name: 'lead', sideA: { prompt: 'lead' }, ...(version === 'new' && { runAhead: 10 }) }),
      ...SUBAGENTS.map((name) => subagent(name, version)),
    ],
    tools: { ...chaosTools(journal, gates), ...(version === 'new' && { extra: EXTRA }) },
    effects: chaosEffects(journal),
  })
}

/** Nobody calls it: that a plan has it is the change. */
const EXTRA = defineTool({
  description: 'Is new',
  execute: () => ({ status: 'success', result: 'extra done' }),
})

function subagent<const Name extends string>(name: Name, version: DeskVersion) {
  return defineAgent({
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
  })
}
