import { DEFINITION_KINDS, givenDefinitions, KIND_WORDS } from '../known-definitions.js'
import type {
  DefinitionKind,
  DefinitionNames,
  GivenDefinition,
  KnownDefinitions,
} from '../known-definitions.js'
import type { ModelDefinition } from '../model.js'
import { argumentSchemaProblems } from '../plan/argument-schema.js'
import { agentProblems, agentWarnings } from './agent-problems.js'
import { DEFINITION_SHAPES, KEY_SHAPE, REGISTRY_SHAPE } from './definition-shapes.js'
import { meant, positionHint } from './hints.js'
import { nameWarnings, repeated, reservedNameProblems } from './names.js'
import { promptProblems, promptWarnings } from './prompt-problems.js'
import { shapeProblems, withoutProblems } from './shape-problems.js'
import { variableProblems, variableWarnings } from './variable-problems.js'

interface Findings {
  readonly problems: readonly string[]
  /** What is allowed but probably not meant. */
  readonly warnings: readonly string[]
}

/** Names of definitions that could not be read, whose problem is reported elsewhere. */
export type UnreadNames = Partial<Readonly<Record<DefinitionKind, readonly string[]>>>

/** Checks all that `registry()` was given. It trusts no type: definitions also come from JavaScript and from casts. */
export function checkDefinitions(input: unknown, unread: UnreadNames = {}): Findings {
  const given = byKind((kind) => givenDefinitions(input, kind))
  const names = byKind((kind) => {
    return new Set([...given[kind].flatMap(({ name }) => name ?? []), ...(unread[kind] ?? [])])
  })
  const problems = [
    ...shapeProblems(REGISTRY_SHAPE, input, 'registry'),
    ...DEFINITION_KINDS.flatMap((kind) => kindProblems(kind, given[kind])),
    ...reservedNameProblems(names),
  ]
  const known = knownDefinitions(given, names)
  for (const [name, { args }] of known.tools) {
    if (args !== undefined) problems.push(...argumentSchemaProblems(args, `tool '${name}': args`))
  }
  for (const prompt of known.prompts.values()) problems.push(...promptProblems(prompt, known))
  for (const agent of known.agents.values()) problems.push(...agentProblems(agent, known))
  for (const model of known.models.values()) problems.push(...modelProblems(model, known))
  problems.push(...variableProblems(known))
  return { problems, warnings: definitionWarnings(known) }
}

function definitionWarnings(known: KnownDefinitions): readonly string[] {
  return [
    ...nameWarnings(known.names),
    ...[...known.prompts.values()].flatMap((prompt) => promptWarnings(prompt, known)),
    ...[...known.agents.values()].flatMap(agentWarnings),
    ...[...known.models.values()].flatMap(modelWarnings),
    ...variableWarnings(known),
  ]
}

function kindProblems(kind: DefinitionKind, given: readonly GivenDefinition[]): readonly string[] {
  const isKeyed = kind === 'tools' || kind === 'effects'
  const names = given.flatMap(({ name }) => name ?? [])
  return [
    ...given.flatMap(({ name, owner, definition }) => [
      ...(isKeyed ? shapeProblems(KEY_SHAPE, name, `the name of ${owner}`) : []),
      ...definitionProblems(kind, definition, owner),
    ]),
    ...repeated(names).map((name) => `${KIND_WORDS[kind]} '${name}' is registered more than once`),
  ]
}

function definitionProblems(kind: DefinitionKind, definition: unknown, owner: string): readonly string[] {
  const hint = positionHint(kind, definition)
  return hint === undefined
    ? shapeProblems(DEFINITION_SHAPES[kind], definition, owner)
    : [`${owner}: ${hint}`]
}

type Given = Readonly<Record<DefinitionKind, readonly GivenDefinition[]>>

function knownDefinitions(given: Given, names: DefinitionNames): KnownDefinitions {
  return {
    names,
    agents: soundDefinitions(given, 'agents'),
    prompts: soundDefinitions(given, 'prompts'),
    models: soundDefinitions(given, 'models'),
    tools: soundDefinitions(given, 'tools'),
    hooks: soundDefinitions(given, 'hooks'),
  }
}

/** The definitions of a kind by name, without the fields that are wrong. */
function soundDefinitions<Definition>(given: Given, kind: DefinitionKind): ReadonlyMap<string, Definition> {
  const sound = new Map<string, Definition>()
  for (const { name, definition } of given[kind]) {
    const rest = withoutProblems(DEFINITION_SHAPES[kind], definition)
    // Without its schema, every property that something binds to its arguments would seem wrong.
    if (kind === 'tools' && hasArguments(definition) && !hasArguments(rest)) continue
    // The shape of what is left was checked just now.
    if (rest !== undefined && name !== undefined) sound.set(name, rest as Definition)
  }
  return sound
}

function hasArguments(tool: unknown): boolean {
  return typeof tool === 'object' && tool !== null && 'args' in tool && tool.args !== undefined
}

function byKind<Value>(of: (kind: DefinitionKind) => Value): Readonly<Record<DefinitionKind, Value>> {
  const entries = DEFINITION_KINDS.map((kind) => [kind, of(kind)] as const)
  return Object.fromEntries(entries) as Record<DefinitionKind, Value>
}

/** Says what a model refers to that is not there or cannot be used so. */
function modelProblems(model: ModelDefinition, known: KnownDefinitions): readonly string[] {
  const owner = `model '${model.name}'`
  const { fallbacks = [], capabilities } = model
  const isTwice = capabilities?.vision !== undefined && capabilities.supportsImages !== undefined
  return [
    ...fallbacks
      .filter((name) => !known.names.models.has(name))
      .map(
        (name) =>
          `${owner} falls back to the model '${name}', which is not registered${meant(name, known.names.models)}`,
      ),
    ...(fallbacks.includes(model.name) ? [`${owner} falls back to itself`] : []),
    ...repeated(fallbacks).map((name) => `${owner} falls back to the model '${name}' twice`),
    ...(isTwice
      ? [`${owner} has both capabilities.supportsImages and its old name vision: leave vision out`]
      : []),
  ]
}

/** Says what is allowed in a model but probably not meant. */
function modelWarnings(model: ModelDefinition): readonly string[] {
  if (model.capabilities?.vision === undefined) return []
  return [`model '${model.name}' uses the old name capabilities.vision: write supportsImages`]
}
