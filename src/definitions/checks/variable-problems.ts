import type { VariableDefinition } from '../agent.js'
import type { KnownDefinitions } from '../known-definitions.js'
import { entryVariables, scopedVariables } from '../prompt.js'
import type { PromptDefinition } from '../prompt.js'
import { repeated } from './names.js'

/** A prompt or a tool. */
interface Declarer {
  /** What it is called in sentences. */
  readonly owner: string
  readonly variables: readonly VariableDefinition[]
}

/**
 * Says where variables are declared or used in two ways. One name is one variable in all of a registry: a thread keeps
 * its values while agents take over, and children read those of their parents.
 */
export function variableProblems(known: KnownDefinitions): readonly string[] {
  const declarers = declarersOf(known)
  const first = new Map<string, Pick<VariableDefinition, 'type'> & Pick<Declarer, 'owner'>>()
  const problems: string[] = []
  for (const { owner, variables } of declarers) {
    const twice = repeated(variables.map(({ name }) => name))
    problems.push(...twice.map((name) => `${owner} declares the variable '${name}' twice`))
    for (const { name, type } of variables) {
      const other = first.get(name)
      if (other === undefined) first.set(name, { type, owner })
      else if (other.type !== type) {
        problems.push(
          `${owner} declares the variable '${name}' as ${type}, but ${other.owner} as ${other.type}`,
        )
      }
    }
  }
  const declared = declarers.flatMap(({ variables }) => variables)
  const secrets = new Set(declared.filter(({ type }) => type === 'secret').map(({ name }) => name))
  return [...problems, ...secretProblems(known, secrets)]
}

/** Says which variables of prompt texts and of listed subagents nothing declares: an undeclared value is a secret. */
export function variableWarnings(known: KnownDefinitions): readonly string[] {
  const declared = new Set(declarersOf(known).flatMap(({ variables }) => variables.map(({ name }) => name)))
  return usesOf(known)
    .filter(({ name }) => !declared.has(name))
    .map(({ use, so }) => `${use}, which nothing declares${so}`)
}

interface VariableUse {
  readonly name: string
  /** The beginning of a sentence. */
  readonly use: string
  /** Its end: what comes of it, and what to do. */
  readonly so: string
}

/** What anybody gives is a secret, unless it is declared a text; words of definitions are in plain sight anyway. */
const OUTSIDE = ', so that a value from outside is a secret and'

const SO = {
  text: `${OUTSIDE} left out: add it to variables`,
  optional: `${OUTSIDE} the subagent is not there: add it to variables, as text`,
  'immediate.nameEnv': `${OUTSIDE} no model is told it: add it to variables, as text`,
  'immediate.descriptionEnv': `${OUTSIDE} no model is told it: add it to variables, as text`,
  scopedEnv: ': add it to the variables of what reads it in the subagent',
} as const

function usesOf({ prompts }: Pick<KnownDefinitions, 'prompts'>): readonly VariableUse[] {
  return [...prompts.values()].flatMap((prompt) => [
    ...[...new Set(usedInText(prompt))].map((name) => ({
      name,
      use: `prompt '${prompt.name}' has the variable '${name}' in its text`,
      so: SO.text,
    })),
    ...entryVariables(prompt).map(({ name, agent, field }) => ({
      name,
      use: `prompt '${prompt.name}' has the variable '${name}' as ${field} of '${agent}'`,
      so: SO[field],
    })),
    ...scopedVariables(prompt).map(({ name, agent }) => ({
      name,
      use: `prompt '${prompt.name}' has the variable '${name}' in immediate.scopedEnv of '${agent}'`,
      so: SO.scopedEnv,
    })),
  ])
}

function declarersOf({ prompts, tools }: KnownDefinitions): readonly Declarer[] {
  return [
    ...[...prompts].map(([name, { variables = [] }]) => ({ owner: `prompt '${name}'`, variables })),
    ...[...tools].map(([name, { variables = [] }]) => ({ owner: `tool '${name}'`, variables })),
  ]
}

function secretProblems(
  { prompts, agents }: KnownDefinitions,
  secrets: ReadonlySet<string>,
): readonly string[] {
  const inTexts = [...prompts.values()].flatMap((prompt) =>
    [...new Set(usedInText(prompt))]
      .filter((name) => secrets.has(name))
      .map(
        (name) => `prompt '${prompt.name}' has the secret '${name}' in its text: only tools may read secrets`,
      ),
  )
  const inEntries = [...prompts.values()].flatMap((prompt) =>
    entryVariables(prompt)
      .filter(({ name }) => secrets.has(name))
      .map(
        ({ name, agent, field }) =>
          `prompt '${prompt.name}' has the secret '${name}' as ${field} of '${agent}': only tools may read secrets, declare it as text`,
      ),
  )
  const owners = [
    ...[...prompts.values()].map(({ name, env }) => ({ owner: `prompt '${name}'`, env })),
    ...[...agents.values()].map(({ name, env }) => ({ owner: `agent '${name}'`, env })),
  ]
  const inEnv = owners.flatMap(({ owner, env = {} }) =>
    Object.keys(env)
      .filter((name) => secrets.has(name))
      .map(
        (name) => `${owner} has the secret '${name}' in env, which is stored as it is: set it on the thread`,
      ),
  )
  return [...inTexts, ...inEntries, ...inEnv]
}

function usedInText({ prompt }: PromptDefinition): readonly string[] {
  if (typeof prompt === 'string') return []
  return prompt.flatMap((part) => (part.type === 'env' ? [part.property] : []))
}
