/** What to do about a field that a definition must not have: names of other versions of Standard Agents, and misspelled ones. */
import { suggestName } from '../../protocol/values.js'
import { notSupportedYet } from './hints.js'

/** Fields of Standard Agents that are not supported yet. */
const LATER = new Set(['providerTools'])

/** Names of earlier drafts of Standard Agents. */
const OLD_NAMES: ReadonlyMap<string, string> = new Map([
  ['tenvs', 'env for values, variables for declarations'],
  ['endConversationTool', 'sessionStop'],
  ['defaultPrompt', 'prompt'],
])

/** An old name that means another field in a side than in the agent itself. */
const OLD_CAP = 'maxTurns'

/** Fields of Standard Agents that have another place here. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ['includedProviders', 'write it into providerOptions, as the AI SDK provider of the gateway takes it'],
  ['env', 'write values into env of the prompt or of the agent'],
  ['options', 'leave it out, nothing reads it'],
  ['tags', 'give them to a thread as it is created, with create({ tags })'],
  ['handoffAgents', 'list the agents in tools'],
  ['receives_messages', 'write it into resumable: { receives_messages }'],
  ['maxInstances', 'write it into resumable: { receives_messages, maxInstances }'],
  ['parentCommunication', 'write it into resumable: { receives_messages, parentCommunication }'],
  ['nameEnv', 'write it into immediate: { nameEnv }'],
  ['descriptionEnv', 'write it into immediate: { descriptionEnv }'],
])

const NEWER_SPECIFICATION: ReadonlyMap<string, string> = new Map([
  ['human', "leave sideB out, the person is side B of an agent of type 'ai_human'"],
  ['handler', 'a side is a prompt'],
  ['subagents', "list the agent in the tools of the side's prompt"],
  ['manualStopCondition', 'write stopOnResponse: false'],
  ['primary', 'leave it out'],
  ['parentHooks', 'leave it out'],
  ['agent', 'write name'],
  ['as', 'a subagent is called by the name of its agent'],
  ['hidden', 'leave it out'],
  ['scopedEnv', 'write it into immediate: { scopedEnv }'],
  ['uses', 'leave it out'],
  ['progressArgument', 'leave it out'],
  ['executionMode', 'leave it out'],
  ['executionProvider', 'leave it out'],
])

interface UnknownField {
  readonly field: string
  /** The fields that exist at this place. */
  readonly known: readonly string[]
}

/** Explains what to do about a field that does not exist. */
export function adviseOnField(path: string, { field, known }: UnknownField): string {
  if (LATER.has(field)) return notSupportedYet(path)
  const newName = field === OLD_CAP ? capOf(path) : OLD_NAMES.get(field)
  if (newName !== undefined) return `uses the old name ${path}: write ${newName}`
  const elsewhere = ELSEWHERE.get(field)
  if (elsewhere !== undefined) return `has ${path}: ${elsewhere}`
  const advice = NEWER_SPECIFICATION.get(field)
  if (advice !== undefined) return `uses ${path} of Standard Agents 0.2.0, expected 0.1.0: ${advice}`
  if (field === 'exposeAsTool') return `has ${path}: leave it out, prompts are listed by name`
  const unknown = `has the unknown field ${path}`
  const near = suggestName(field, known)
  if (near !== '') return unknown + near
  return known.length === 0 ? unknown : `${unknown}: its fields are ${known.join(', ')}`
}

function capOf(path: string): string {
  return path === OLD_CAP ? 'maxSessionTurns' : 'maxSteps'
}
