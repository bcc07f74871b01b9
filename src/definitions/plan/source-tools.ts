/**
 * The tools of sources that a prompt offers.
 *
 * Owns: the bounds of what a source lists, and which of its tools a prompt offers.
 * Does not own: what a source is (`tool-source.ts`), and where a run keeps its list (`activities/sources/`).
 * Invariants: a name of the prompt itself is never taken by a source; the same lists always give the same tools, in the same order, in
 * each step of a run.
 * It loads neither zod nor definitions, so that clients can say what a model is offered.
 */
import type { JSONSchema7 } from '@ai-sdk/provider'
import { isObject } from '../../protocol/values.js'
import { SOURCE_NAME } from '../tool-source.js'
import type { SourceTool } from '../tool-source.js'
import { listOfferedTools } from './offered-tools.js'
import type { PromptContent, ToolContent } from './plan-content.js'

/** What a run keeps of a source. */
export interface SourceCatalog {
  readonly source: string
  readonly tools: readonly SourceTool[]
  /** What was left out, and why; why nothing is there. */
  readonly problems: readonly string[]
  /** What was offered before the list has changed: calls of it may still run. */
  readonly over?: readonly SourceTool[]
}

/** A tool that a prompt offers, and the source that has it. */
export interface OfferedSourceTool {
  readonly source: string
  readonly tool: SourceTool
}

/** Of one source: more tools than a model can choose from, and still a small part of a window. */
const MOST_TOOLS = 128
const LONGEST_DESCRIPTION = 1_024
const SCHEMA = { characters: 16_384, levels: 12 } as const
/** Sentences about tools that are left out: a list of 10,000 bad ones must not fill the log. */
const MOST_PROBLEMS = 20

/** Bounds what a source has listed. Whatever it says, the run goes on. */
export function readCatalog(source: string, listed: unknown): SourceCatalog {
  if (!Array.isArray(listed))
    return { source, tools: [], problems: [`The source "${source}" answered with no list of tools.`] }
  const tools: SourceTool[] = []
  const problems: string[] = []
  const names = new Map<string, string>()
  for (const given of listed.slice(0, MOST_TOOLS * 8)) {
    const problem = toolProblem(given, names)
    if (problem !== undefined) problems.push(problem)
    // `toolProblem` has checked its fields.
    else if (tools.length < MOST_TOOLS) tools.push(boundTool(given as SourceTool))
  }
  const left = listed.length - tools.length - problems.length
  const shown = problems.slice(0, MOST_PROBLEMS)
  const more = problems.length - shown.length
  return {
    ...{ source, tools },
    problems: [
      ...shown.map((problem) => `The source "${source}" has ${problem}`),
      ...(more > 0 ? [`The source "${source}" has ${more} further tools that cannot be offered.`] : []),
      ...(left > 0
        ? [`The source "${source}" has more than ${MOST_TOOLS} tools: ${left} were left out.`]
        : []),
    ],
  }
}

/** Why a tool cannot be offered, as the end of a sentence. It notes the name of one that can. */
function toolProblem(given: unknown, names: Map<string, string>): string | undefined {
  if (!isObject(given)) return 'something that is no tool in its list.'
  const { name, description, inputSchema } = given
  if (typeof name !== 'string' || !SOURCE_NAME.test(name))
    return `a tool ${showName(name)}, which providers refuse: expected 1 to 64 letters, digits, "_" and "-".`
  if (typeof description !== 'string') return `the tool "${name}" without a description.`
  const schema = schemaProblem(inputSchema)
  if (schema !== undefined) return `the tool "${name}" with a schema that ${schema}.`
  const known = names.get(skeletonOf(name))
  if (known === name) return `two tools "${name}": the first counts.`
  if (known !== undefined)
    return `the tool "${name}", which looks like its tool "${known}": the first counts.`
  names.set(skeletonOf(name), name)
  return undefined
}

function boundTool({ description, ...tool }: SourceTool): SourceTool {
  const cut = description.length > LONGEST_DESCRIPTION
  return { ...tool, description: cut ? `${description.slice(0, LONGEST_DESCRIPTION - 1)}…` : description }
}

/** At most 80 characters of a name, without characters that could break a line. */
function showName(name: unknown): string {
  if (typeof name !== 'string') return 'without a name'
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name)
}

/** Names that a reader takes for each other have one skeleton. */
function skeletonOf(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[_-]/g, '')
    .replaceAll('0', 'o')
    .replaceAll(/[1i]/g, 'l')
    .replaceAll('5', 's')
    .replaceAll('rn', 'm')
}

function schemaProblem(schema: unknown): string | undefined {
  if (!isObject(schema) || schema['type'] !== 'object') return 'is not that of an object'
  if (levelsOf(schema, SCHEMA.levels) > SCHEMA.levels) return `has more than ${SCHEMA.levels} levels`
  if (JSON.stringify(schema).length > SCHEMA.characters)
    return `has more than ${SCHEMA.characters} characters`
  return undefined
}

/** The levels of schemas, each of them at most two levels of JSON; it looks no deeper than the bound. */
function levelsOf(value: unknown, most: number): number {
  if (typeof value !== 'object' || value === null) return 0
  if (most < 0) return 1
  let deepest = 0
  for (const inner of Object.values(value)) deepest = Math.max(deepest, levelsOf(inner, most - 0.5))
  return 0.5 + deepest
}

type NamesOfPrompt = Pick<PromptContent, 'tools' | 'subagents' | 'providerTools'>

/**
 * The tools of these sources that a prompt offers, in the order of its sources, and why others are not offered. A name of the prompt
 * itself, or of an earlier source, counts before that of a later one, and so does one that looks like it.
 */
export function offerSourceTools(
  prompt: NamesOfPrompt,
  catalogs: readonly SourceCatalog[],
): { readonly offered: readonly OfferedSourceTool[]; readonly problems: readonly string[] } {
  const taken = new Map(namesOf(prompt).map((name) => [skeletonOf(name), `the tool "${name}" of the prompt`]))
  const offered: OfferedSourceTool[] = []
  const problems: string[] = []
  for (const { source, tools } of catalogs)
    for (const tool of tools) {
      const other = taken.get(skeletonOf(tool.name))
      if (other !== undefined)
        problems.push(
          `The tool "${tool.name}" of the source "${source}" has the name of ${other}, or looks like it: give the source a prefix.`,
        )
      else {
        taken.set(skeletonOf(tool.name), `the tool "${tool.name}" of the source "${source}"`)
        offered.push({ source, tool })
      }
    }
  return { offered, problems: problems.slice(0, MOST_PROBLEMS) }
}

/** All names of a prompt, whatever its flags say now. */
function namesOf({ tools, subagents, providerTools = [] }: NamesOfPrompt): readonly string[] {
  const all = listOfferedTools({ tools, subagents }, Object.values(subagents))
  return [...all.map(({ name }) => name), ...Object.keys(subagents), ...providerTools.map(({ name }) => name)]
}

/** The tool, as a model is offered it. */
export function contentOfSourceTool({ name, description, inputSchema }: SourceTool): ToolContent {
  const { $schema: _, ...schema } = inputSchema
  // A JSON Schema is JSON; its root was checked.
  return { name, description, inputSchema: schema as JSONSchema7 }
}
