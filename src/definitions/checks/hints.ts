import type { DefinitionKind } from '../known-definitions.js'

/** Right in Standard Agents, but not there yet. */
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

const OLD_PART_TYPES: ReadonlyMap<unknown, string> = new Map([
  ['string', "{ type: 'text', content }"],
  ['variable', "{ type: 'env', property }"],
  ['prompt', "{ type: 'include', prompt }"],
])

interface UnknownField {
  readonly field: string
  /** Those that there might be. */
  readonly known: readonly string[]
}

/** Says of a field that no definition of this version has what to do about it. */
export function unknownFieldProblem(path: string, { field, known }: UnknownField): string {
  if (LATER.has(field)) return notSupportedYet(path)
  const newName = field === OLD_CAP ? capOf(path) : OLD_NAMES.get(field)
  if (newName !== undefined) return `uses the old name ${path}: write ${newName}`
  const elsewhere = ELSEWHERE.get(field)
  if (elsewhere !== undefined) return `has ${path}: ${elsewhere}`
  const advice = NEWER_SPECIFICATION.get(field)
  if (advice !== undefined) return `uses ${path} of Standard Agents 0.2.0, expected 0.1.0: ${advice}`
  if (field === 'exposeAsTool') return `has ${path}: leave it out, prompts are listed by name`
  const unknown = `has the unknown field ${path}`
  const near = meant(field, known)
  if (near !== '') return unknown + near
  return known.length === 0 ? unknown : `${unknown}: its fields are ${known.join(', ')}`
}

function capOf(path: string): string {
  return path === OLD_CAP ? 'maxSessionTurns' : 'maxSteps'
}

/** What `defineTool` and `defineHook` take, whose parts were once given one after the other. */
const AS_OBJECT: Partial<Readonly<Record<DefinitionKind, string>>> = {
  tools: 'defineTool({ description, args, execute })',
  hooks: 'defineHook({ hook, id, execute })',
}

/** Says of what is no object, but the first part of a definition given by position, what to write; undefined for all else. */
export function positionHint(kind: DefinitionKind, given: unknown): string | undefined {
  const spelling = AS_OBJECT[kind]
  const type = typeof given
  if (spelling === undefined || (type !== 'string' && type !== 'function')) return undefined
  return `expected one object, got a ${type}: write ${spelling}`
}

export function notSupportedYet(path: string): string {
  return `uses what is not supported yet: ${path}`
}

/** Says of a prompt part whose type is not known what to write instead. */
export function partTypeHint(part: unknown): string {
  const type = typeof part === 'object' && part !== null && 'type' in part ? part.type : undefined
  const spelling = OLD_PART_TYPES.get(type)
  if (spelling !== undefined) return `expected a part of Standard Agents 0.1.0: write ${spelling}`
  return "expected { type: 'text', content }, { type: 'include', prompt } or { type: 'env', property }"
}

/** The rest of a sentence about a name that is not there: the one that was probably meant, or nothing. */
export function meant(name: string, known: Iterable<string>): string {
  const near = nearName(name, known)
  return near === undefined ? '' : `: did you mean '${near}'?`
}

/** The nearest of the known names, if it is as near as a slip of the pen. */
function nearName(name: string, known: Iterable<string>): string | undefined {
  const most = name.length < 4 ? 1 : 2
  const ranked = [...known]
    .map((other) => ({ other, distance: distanceOf(name.toLowerCase(), other.toLowerCase()) }))
    .filter(({ other, distance }) => distance <= most && distance < other.length)
    .toSorted((left, right) => left.distance - right.distance)
  return ranked[0]?.other
}

/** How many letters are to be written, left out or changed (Levenshtein). */
function distanceOf(left: string, right: string): number {
  const others = Array.from(right)
  let row = Array.from({ length: others.length + 1 }, (_, index) => index)
  for (const [index, letter] of Array.from(left).entries()) {
    const next = [index + 1]
    for (const [at, other] of others.entries()) {
      const changed = (row[at] ?? 0) + (letter === other ? 0 : 1)
      next.push(Math.min(changed, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
