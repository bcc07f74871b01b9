import type { ScriptedAnswer } from '../../src/model/scripted-model.js'
import { marked } from './marker.js'

/** What models of the tests of subagents of every kind say. */
export const calls = (
  ...toolCalls: readonly { readonly name: string; readonly args?: unknown }[]
): ScriptedAnswer => ({
  toolCalls,
})

export const order = (name: string, args: object = {}) => ({ name, args: { task: marked('Write'), ...args } })

export const create = (agent: string, name = 'Ada', fields: object = {}) => ({
  name: 'subagent_create',
  args: { agent, name, message: marked(`First for ${name}`), attachments: [], ...fields },
})

export const write = (referenceId: string, message: string) => ({
  name: 'subagent_message',
  args: { referenceId, message: marked(message), attachments: [] },
})

export const approve = (summary = 'Good'): ScriptedAnswer =>
  calls({ name: 'approve', args: { summary: marked(summary) } })

export const giveUp = (reason = 'No'): ScriptedAnswer =>
  calls({ name: 'give_up', args: { reason: marked(reason) } })

export const act = (task: string) => ({ name: 'act', args: { task } })

export const draft: ScriptedAnswer = { text: marked('Draft') }
export const done: ScriptedAnswer = { text: marked('Done') }

/** What a parent reads of a child that has ended its session. */
export const resultOf = (reference: string, text: string): string =>
  `Subagent (reference: ${reference}) has returned the following result:\n${text}`

export const failureOf = (reference: string, text: string): string =>
  `Subagent (reference: ${reference}) has reported a failure:\n${text}`
