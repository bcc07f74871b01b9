/**
 * The check of all definitions of a registry: shapes, names, references and variables. It reports all problems at once. The
 * references of prompts and agents are checked in files of their own.
 */
import {
  DEFINITION_KINDS,
  KIND_WORDS,
  listGivenDefinitions,
  unreadableProblem,
} from '../known-definitions.js'
import type {
  Findings,
  DefinitionKind,
  DefinitionNames,
  GivenDefinition,
  KnownDefinitions,
} from '../known-definitions.js'
import type { ModelDefinition } from '../model.js'
import { argumentSchemaProblems } from '../plan/argument-schema.js'
import { checkAgent } from './agent-problems.js'
import { shapeProblems, withoutProblems } from './definition-shapes.js'
import { suggestName } from '../../protocol/values.js'
import { positionHint, findRepeated } from './hints.js'
import { checkPrompt } from './prompt-problems.js'
import { LIFECYCLE_TOOLS } from '../plan/lifecycle-tools.js'
import type { VariableDefinition } from '../agent.js'
import type { ToolDefinition } from '../tool.js'
import { listEntryVariables, listScopedVariables } from '../prompt.js'
import type { PromptDefinition } from '../prompt.js'

/** Names of definitions that cannot be read; `loadRegistry` reports their problems. */
export type UnreadNames = Partial<Readonly<Record<DefinitionKind, readonly string[]>>>

/** Checks the whole input of `registry()`. It relies on no type, because definitions also come from JavaScript and from casts. */
export function checkDefinitions(input: unknown, unread: UnreadNames = {}): Findings {
  const given = byKind((kind) => listGivenDefinitions(input, kind))
  const names = byKind((kind) => {
    return new Set([...given[kind].flatMap(({ name }) => name ?? []), ...(unread[kind] ?? [])])
  })
  const problems = [
    ...shapeProblems('registry', input, 'registry'),
    ...DEFINITION_KINDS.flatMap((kind) => kindProblems(kind, given[kind])),
    ...reservedNameProblems(names),
  ]
  const known = collectKnown(given, names)
  for (const [name, { args }] of known.tools) {
    if (args !== undefined) problems.push(...argumentSchemaProblems(args, `tool '${name}': args`))
  }
  const findings: readonly Findings[] = [
    ...[...known.prompts.values()].map((prompt) => checkPrompt(prompt, known)),
    ...[...known.agents.values()].map((agent) => checkAgent(agent, known)),
    ...[...known.models.values()].map((model) => checkModel(model, known)),
  ]
  problems.push(...[...known.tools].flatMap(([name, tool]) => toolProblems(name, tool, known)))
  problems.push(...findings.flatMap((found) => found.problems), ...sourceProblems(known))
  problems.push(...variableProblems(known))
  const warnings = [
    ...nameWarnings(known.names),
    ...findings.flatMap((found) => found.warnings),
    ...variableWarnings(known),
  ]
  return { problems, warnings }
}

function kindProblems(kind: DefinitionKind, given: readonly GivenDefinition[]): readonly string[] {
  const isKeyed = kind === 'tools' || kind === 'effects'
  const names = given.flatMap(({ name }) => name ?? [])
  return [
    ...given.flatMap(({ name, owner, definition }) => [
      ...(isKeyed ? shapeProblems('key', name, `the name of ${owner}`) : []),
      ...definitionProblems(kind, definition, owner),
    ]),
    ...findRepeated(names).map((name) => `${KIND_WORDS[kind]} '${name}' is registered more than once`),
  ]
}

function definitionProblems(kind: DefinitionKind, definition: unknown, owner: string): readonly string[] {
  try {
    const hint = positionHint(kind, definition)
    return hint === undefined ? shapeProblems(kind, definition, owner) : [`${owner}: ${hint}`]
  } catch (error) {
    return [unreadableProblem(owner, error)]
  }
}

type Given = Readonly<Record<DefinitionKind, readonly GivenDefinition[]>>

function collectKnown(given: Given, names: DefinitionNames): KnownDefinitions {
  return {
    names,
    agents: soundDefinitions(given, 'agents'),
    prompts: soundDefinitions(given, 'prompts'),
    models: soundDefinitions(given, 'models'),
    tools: soundDefinitions(given, 'tools'),
    hooks: soundDefinitions(given, 'hooks'),
  }
}

/** The definitions of a kind by name, without their wrong fields. */
function soundDefinitions<Definition>(given: Given, kind: DefinitionKind): ReadonlyMap<string, Definition> {
  const sound = new Map<string, Definition>()
  for (const { name, definition } of given[kind]) {
    const rest = soundPart(kind, definition)
    // Without the tool's schema, each binding to one of its arguments would be reported too.
    if (kind === 'tools' && hasArguments(definition) && !hasArguments(rest)) continue
    // `withoutProblems` has checked the shape of the rest.
    if (rest !== undefined && name !== undefined) sound.set(name, rest as Definition)
  }
  return sound
}

function soundPart(kind: DefinitionKind, definition: unknown): unknown {
  try {
    return withoutProblems(kind, definition)
  } catch {
    // A getter has thrown; `definitionProblems` tells of it.
    return undefined
  }
}

function hasArguments(tool: unknown): boolean {
  return typeof tool === 'object' && tool !== null && 'args' in tool && tool.args !== undefined
}

function byKind<Value>(of: (kind: DefinitionKind) => Value): Readonly<Record<DefinitionKind, Value>> {
  const entries = DEFINITION_KINDS.map((kind) => [kind, of(kind)] as const)
  return Object.fromEntries(entries) as Record<DefinitionKind, Value>
}

/** Lists what contradicts in the failures of a tool. */
function toolProblems(
  name: string,
  { retry, destructive, onError, remote, workflow, taskQueue }: ToolDefinition,
  { names }: KnownDefinitions,
): readonly string[] {
  const owner = `tool '${name}'`
  const other = onError !== undefined && 'tool' in onError ? onError.tool : undefined
  const isDestructive = destructive !== undefined && destructive !== false
  return [
    ...(isDestructive && retry !== undefined && retry !== false
      ? [
          `${owner} is destructive and has "retry": a destructive tool is never run twice, so leave "retry" out`,
        ]
      : []),
    ...(remote !== undefined && onError !== undefined
      ? [`${owner} runs in another process and has "onError": handle its failures there`]
      : []),
    ...(workflow !== undefined && (remote !== undefined || taskQueue !== undefined)
      ? [`${owner} is a workflow and has "taskQueue" or "remote": give the task queue to defineWorkflowTool`]
      : []),
    ...(other === name ? [`${owner} has itself as "onError.tool"`] : []),
    ...(other !== undefined && !names.tools.has(other) && !names.prompts.has(other)
      ? [
          `${owner} has "onError.tool" '${other}', which is not registered${suggestName(other, new Set([...names.tools, ...names.prompts]))}`,
        ]
      : []),
  ]
}

/** Lists sources of tools that share a name: a run keeps the list of a source by its name. */
function sourceProblems({ prompts }: KnownDefinitions): readonly string[] {
  const first = new Map<string, unknown>()
  return [...prompts.values()].flatMap(({ name: prompt, toolSources = [] }) =>
    toolSources.flatMap((source) => {
      const known = first.get(source.name) ?? source
      first.set(source.name, known)
      return known === source
        ? []
        : [`prompt '${prompt}' has a source '${source.name}' that is not the one of an earlier prompt`]
    }),
  )
}

function checkModel(model: ModelDefinition, known: KnownDefinitions): Findings {
  return { problems: modelProblems(model, known), warnings: modelWarnings(model) }
}

/** Lists the wrong references of a model. */
function modelProblems(model: ModelDefinition, known: KnownDefinitions): readonly string[] {
  const owner = `model '${model.name}'`
  const { fallbacks = [], capabilities } = model
  const isTwice = capabilities?.vision !== undefined && capabilities.supportsImages !== undefined
  return [
    ...fallbacks
      .filter((name) => !known.names.models.has(name))
      .map(
        (name) =>
          `${owner} falls back to the model '${name}', which is not registered${suggestName(name, known.names.models)}`,
      ),
    ...(fallbacks.includes(model.name) ? [`${owner} falls back to itself`] : []),
    ...findRepeated(fallbacks).map((name) => `${owner} falls back to the model '${name}' twice`),
    ...(isTwice
      ? [`${owner} has both capabilities.supportsImages and its old name vision: leave vision out`]
      : []),
  ]
}

/** Lists things in a model that are allowed but probably mistakes. */
function modelWarnings(model: ModelDefinition): readonly string[] {
  if (model.capabilities?.vision === undefined) return []
  return [`model '${model.name}' uses the old name capabilities.vision: write supportsImages`]
}

/** Lists names that a provider or another tool of Standard Agents may refuse. */
function nameWarnings(names: DefinitionNames): readonly string[] {
  return DEFINITION_KINDS.flatMap((kind) =>
    [...names[kind]]
      .filter((name) => !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name))
      .map((name) => `the name of ${KIND_WORDS[kind]} '${name}' is not in snake_case`),
  )
}

/** Lists definitions with the name of a tool that the runtime itself offers. */
function reservedNameProblems(names: DefinitionNames): readonly string[] {
  return (['agents', 'prompts', 'tools'] as const).flatMap((kind) =>
    Object.values(LIFECYCLE_TOOLS)
      .filter((name) => names[kind].has(name))
      .map(
        (name) =>
          `${KIND_WORDS[kind]} '${name}' has the name of the tool that prompts with resumable subagents get: rename it`,
      ),
  )
}

/** A prompt or a tool, which may declare variables. */
interface Declarer {
  /** Its name in sentences. */
  readonly owner: string
  readonly variables: readonly VariableDefinition[]
}

/**
 * Lists variables that are declared or used in two ways. One name is one variable in a whole registry: a thread keeps its
 * values over handoffs, and children read those of their parents.
 */
function variableProblems(known: KnownDefinitions): readonly string[] {
  const declarers = declarersOf(known)
  const first = new Map<string, Pick<VariableDefinition, 'type'> & Pick<Declarer, 'owner'>>()
  const problems: string[] = []
  for (const { owner, variables } of declarers) {
    const twice = findRepeated(variables.map(({ name }) => name))
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

/** Lists variables of prompt texts and subagent entries that nothing declares: an undeclared value is a secret. */
function variableWarnings(known: KnownDefinitions): readonly string[] {
  const declared = new Set(declarersOf(known).flatMap(({ variables }) => variables.map(({ name }) => name)))
  return usesOf(known)
    .filter(({ name }) => !declared.has(name))
    .map(({ use, so }) => `${use}, which nothing declares${so}`)
}

interface VariableUse {
  readonly name: string
  /** The beginning of a sentence. */
  readonly use: string
  /** The end of the sentence: the consequence, and what to do. */
  readonly so: string
}

/** A value from outside is a secret unless it is declared as text; values in definitions are readable anyway. */
const OUTSIDE = ', so that a value from outside is a secret and'

const SO = {
  text: `${OUTSIDE} left out: add it to variables`,
  optional: `${OUTSIDE} the subagent is not there: add it to variables, as text`,
  'immediate.nameEnv': `${OUTSIDE} shown to no model: add it to variables, as text`,
  'immediate.descriptionEnv': `${OUTSIDE} shown to no model: add it to variables, as text`,
  scopedEnv: ': add it to the variables of what reads it in the subagent',
} as const

function usesOf({ prompts }: Pick<KnownDefinitions, 'prompts'>): readonly VariableUse[] {
  return [...prompts.values()].flatMap((prompt) => [
    ...[...new Set(listTextVariables(prompt))].map((name) => ({
      name,
      use: `prompt '${prompt.name}' has the variable '${name}' in its text`,
      so: SO.text,
    })),
    ...listEntryVariables(prompt).map(({ name, agent, field }) => ({
      name,
      use: `prompt '${prompt.name}' has the variable '${name}' as ${field} of '${agent}'`,
      so: SO[field],
    })),
    ...listScopedVariables(prompt).map(({ name, agent }) => ({
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
    [...new Set(listTextVariables(prompt))]
      .filter((name) => secrets.has(name))
      .map(
        (name) => `prompt '${prompt.name}' has the secret '${name}' in its text: only tools may read secrets`,
      ),
  )
  const inEntries = [...prompts.values()].flatMap((prompt) =>
    listEntryVariables(prompt)
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

function listTextVariables({ prompt }: PromptDefinition): readonly string[] {
  if (typeof prompt === 'string') return []
  return prompt.flatMap((part) => (part.type === 'env' ? [part.property] : []))
}
