/**
 * The tools that a run has from the sources of its prompts.
 *
 * Owns: when a source is asked, the row in which a run keeps its list, and a listed tool as a function that can be called.
 * Does not own: what may be offered (`definitions/plan/source-tools.ts`), and the path of a call, which is that of any function
 * (`tool/function-call.ts`).
 * Invariants: a source is asked once for a run, and again only behind a call that has changed its list, so the steps of the run between
 * such calls and all attempts of a call have the same tools; a source that does not answer delays a run by at most `LIST_TIME`, and fails nothing; a prompt without sources reads and writes nothing.
 */
import { contentOfSourceTool, offerSourceTools, readCatalog } from '../../definitions/plan/source-tools.js'
import type { OfferedSourceTool, SourceCatalog } from '../../definitions/plan/source-tools.js'
import type { SourceTool, SourceUser, ToolSource } from '../../definitions/tool-source.js'
import type { PromptContent } from '../../definitions/plan/plan-content.js'
import type { ToolAnswer } from '../../definitions/tool-result.js'
import type { ToolDefinition } from '../../definitions/tool.js'
import type { CallInput } from '../../protocol/activities.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { catalogOperationId } from '../../protocol/ids.js'
import { LIMITS } from '../../protocol/limits.js'
import { isObject } from '../../protocol/values.js'
import type { JsonObject } from '../../protocol/values.js'
import { recordError } from '../../store/errors.js'
import { appendEvents } from '../../store/events.js'
import { findCatalogs, replaceCatalog } from '../../store/operations.js'
import { currentSignal } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import { record } from '../operation.js'
import { waitForDefinition } from '../plan-content.js'
import { readSourceUser } from '../thread-row.js'
import type { readResumed } from './continuation.js'
import { withLoginAt } from './kept-logins.js'
import { microseconds, stepScope } from '../scope.js'
import { log } from '../temporal-activity.js'
import { readThrown } from '../thrown.js'
import { runBounded } from '../tool/bounded.js'
import { markContinued } from '../tool/tool-values.js'

/** Milliseconds for the list of a source: a server that starts with the first request has the time for that. */
const LIST_TIME = 20_000

type Place = Pick<CallInput, 'threadId' | 'agent' | 'run' | 'step' | 'now'>
type NamedPrompt = PromptContent & { readonly name: string }

/** Adds the tools of its sources to a prompt. The first step of a run that needs a source asks it. */
export async function withSourceTools<Prompt extends NamedPrompt>(
  dependencies: ActivityDependencies,
  place: Place,
  prompt: Prompt,
): Promise<Prompt> {
  const { toolSources = [] } = prompt
  if (toolSources.length === 0) return prompt
  const kept = await readCatalogs(dependencies, place, toolSources)
  const missing = toolSources.filter((name) => !kept.has(name))
  if (missing.length > 0)
    for (const made of await askSources(dependencies, place, { prompt, missing, kept }))
      kept.set(made.source, made)
  const { offered } = offerSourceTools(prompt, inOrder(prompt, kept))
  return { ...prompt, tools: [...prompt.tools, ...offered.map(({ tool }) => contentOfSourceTool(tool))] }
}

/** A further part of a call, with what it waited for; null: the first one. */
type ResumedPart = Awaited<ReturnType<typeof readResumed>>

interface SoughtTool {
  readonly prompt: NamedPrompt
  readonly name: string
  /** The part of the call that its code does. @default the first one */
  readonly resumed?: ResumedPart
}

/** Finds a tool of the prompt's sources in the lists of the run; null: none of them has it. */
export async function findSourceTool(
  dependencies: ActivityDependencies,
  place: Place,
  { prompt, name, resumed = null }: SoughtTool,
): Promise<{ readonly tool: ToolDefinition; readonly timeout: number } | null> {
  const { toolSources = [] } = prompt
  if (toolSources.length === 0) return null
  const kept = await readCatalogs(dependencies, place, toolSources)
  const { offered } = offerSourceTools(prompt, inOrder(prompt, kept))
  const found =
    offered.find(({ tool }) => tool.name === name) ?? findOver([...kept.values()], { name, resumed })
  if (found === undefined) return null
  const source = sourceOf(dependencies, prompt.name, found.source)
  if (source === undefined) {
    waitForDefinition(`source of tools "${found.source}"`)
    return null
  }
  return {
    tool: await definitionOf(dependencies, place, { source, tool: found.tool, resumed, prompt, kept }),
    timeout: timeoutOf(found),
  }
}

/** A tool that is offered no more since a part of this call has changed the list. */
function findOver(
  kept: readonly SourceCatalog[],
  { name, resumed }: Required<Pick<SoughtTool, 'name' | 'resumed'>>,
): OfferedSourceTool | undefined {
  const over = kept.flatMap(({ source, over: tools = [] }) => tools.map((tool) => ({ source, tool })))
  return resumed === null ? undefined : over.find(({ tool }) => tool.name === name)
}

function timeoutOf({ tool: { timeout = LIMITS.toolTimeout } }: Pick<OfferedSourceTool, 'tool'>): number {
  return Math.min(timeout, LIMITS.toolTimeout)
}

function sourceOf({ registry }: ActivityDependencies, prompt: string, name: string): ToolSource | undefined {
  return registry.prompt(prompt)?.toolSources?.find((source) => source.name === name)
}

function inOrder(
  { toolSources = [] }: NamedPrompt,
  kept: ReadonlyMap<string, SourceCatalog>,
): readonly SourceCatalog[] {
  return toolSources.flatMap((name) => kept.get(name) ?? [])
}

async function readCatalogs(
  { store }: ActivityDependencies,
  { threadId, run }: Place,
  names: readonly string[],
): Promise<Map<string, SourceCatalog>> {
  const rows = await store.read((db) =>
    findCatalogs(db, { threadId, ids: names.map((name) => catalogOperationId(run, name)) }),
  )
  // Written by `storeCatalogs`: the store's boundary.
  return new Map(rows.map((answer) => answer as SourceCatalog).map((catalog) => [catalog.source, catalog]))
}

interface Asked {
  readonly prompt: NamedPrompt
  readonly missing: readonly string[]
  readonly kept: ReadonlyMap<string, SourceCatalog>
}

async function askSources(
  dependencies: ActivityDependencies,
  place: Place,
  { prompt, missing, kept }: Asked,
): Promise<readonly SourceCatalog[]> {
  const user = await readSourceUser(dependencies.store, place)
  const asked = await Promise.all(
    missing.map(async (name) =>
      askSource(sourceOf(dependencies, prompt.name, name), name, withLoginAt(dependencies.store, user, name)),
    ),
  )
  // Behind a stop no list is kept that the stop has cut short.
  if (currentSignal().aborted) return asked.map(({ catalog }) => catalog)
  const all = inOrder(
    prompt,
    new Map([...kept, ...asked.map(({ catalog }) => [catalog.source, catalog] as const)]),
  )
  const told = [
    ...asked.flatMap(({ catalog }) => catalog.problems),
    ...offerSourceTools(prompt, all).problems,
  ]
  await storeCatalogs(dependencies, place, { asked, told })
  return asked.map(({ catalog }) => catalog)
}

interface AskedSource {
  readonly catalog: SourceCatalog
  /** What the source threw, for operators. */
  readonly thrown: unknown
}

async function askSource(
  source: ToolSource | undefined,
  name: string,
  user: SourceUser,
): Promise<AskedSource> {
  const without = (why: string, thrown: unknown = null): AskedSource => ({
    catalog: {
      source: name,
      tools: [],
      problems: [`The source "${name}" ${why}, so this run has no tools of it.`],
    },
    thrown,
  })
  if (source === undefined) return without('is not registered at this worker')
  const abort = new AbortController()
  const bounds = { timeout: LIST_TIME, signal: currentSignal(), abort }
  const ended = await runBounded<unknown>(() => source.list({ ...user, signal: abort.signal }), bounds)
  switch (ended.kind) {
    case 'answered':
      return { catalog: readCatalog(name, ended.value), thrown: null }
    case 'threw':
      return without('could not be asked for its tools', ended.error)
    case 'timed_out':
      return without(`did not answer within ${LIST_TIME / 1000} seconds`)
    case 'stopped':
      return without('was not asked before the stop')
  }
}

interface Storing {
  readonly asked: readonly AskedSource[]
  /** What is said in events. */
  readonly told: readonly string[]
}

async function storeCatalogs(
  { store }: ActivityDependencies,
  place: Place,
  { asked, told }: Storing,
): Promise<void> {
  const { threadId, run, step } = place
  const now = microseconds(place)
  const events = warningsOf(place, told)
  await store.write(async (tx) => {
    for (const { catalog, thrown } of asked) {
      const id = catalogOperationId(run, catalog.source)
      await record(tx, { threadId, id }, { kind: 'catalog', place: { run, step }, answer: catalog, now })
      if (thrown === null) continue
      const { message, stack } = readThrown(thrown)
      await recordError(tx, {
        id: `${threadId}:${id}`,
        threadId,
        at: now,
        type: 'tool_source',
        message,
        stack,
      })
    }
    if (events.length > 0) await appendEvents(tx, { threadId, events, now })
  })
  for (const {
    catalog: { source },
    thrown,
  } of asked)
    if (thrown !== null)
      log.warn('A source of tools could not be asked.', {
        source,
        errorId: `${threadId}:${catalogOperationId(run, source)}`,
      })
}

function warningsOf(place: Place, messages: readonly string[]): readonly Fact[] {
  return messages.map((message) =>
    fact('runtime.warning', { code: 'tools_left_out', message }, stepScope(place)),
  )
}

/** The source checks arguments by its own schema: a hostile pattern in it must not occupy this process. */
const AS_THEY_ARE = (value: unknown) => ({ success: true, value })

interface Defining {
  readonly source: ToolSource
  readonly tool: SourceTool
  readonly resumed: ResumedPart
  readonly prompt: NamedPrompt
  readonly kept: ReadonlyMap<string, SourceCatalog>
}

async function definitionOf(
  dependencies: ActivityDependencies,
  place: Place,
  { source, tool, resumed, prompt, kept }: Defining,
): Promise<ToolDefinition> {
  const { store } = dependencies
  const user = withLoginAt(store, await readSourceUser(store, place), source.name)
  const { description, inputSchema, capabilities, readOnly, destructive, needsApproval } = tool
  // Behind a timer nothing is sent that a person has said, unless the part before has said otherwise.
  const mayRepeat = resumed !== null && (resumed.repeatable ?? resumed.given === null)
  const idempotent = mayRepeat ? true : tool.idempotent
  return {
    ...{ description, args: { _type: undefined, jsonSchema: inputSchema, validate: AS_THEY_ARE } },
    ...(capabilities !== undefined && { capabilities }),
    ...(readOnly !== undefined && { readOnly }),
    ...(destructive !== undefined && { destructive }),
    ...(needsApproval !== undefined && { needsApproval }),
    ...(idempotent !== undefined && { idempotent }),
    async execute(state, args, made) {
      const signal = state.execution?.abortSignal ?? currentSignal()
      // What a model has written is an object of JSON.
      const call = { ...user, ...made, tool, args: args as JsonObject, signal }
      const answer = await answerOf(source, call, resumed)
      if (tool.changesList === true && isSuccess(answer))
        await listAgain(dependencies, place, { source, tool, user, prompt, kept })
      return markContinued(answer, source.name) as ToolAnswer
    },
  }
}

type SourceCall = Parameters<ToolSource['call']>[0]

async function answerOf(source: ToolSource, call: SourceCall, resumed: ResumedPart): Promise<unknown> {
  if (resumed === null) return source.call(call)
  if (source.resume === undefined)
    throw new Error(`The source "${source.name}" has no way to go on with a call.`)
  return source.resume({ ...call, resume: resumed.resume, answer: resumed.given })
}

function isSuccess(answer: unknown): boolean {
  return isObject(answer) && answer['status'] === 'success'
}

interface ListingAgain extends Pick<Defining, 'source' | 'tool' | 'prompt' | 'kept'> {
  readonly user: SourceUser
}

/**
 * Asks a source again, whose list a call has changed: the steps that follow offer what it has now, with one request that begins
 * otherwise. Where it cannot be asked, the run keeps the list that it has.
 */
async function listAgain(
  dependencies: ActivityDependencies,
  place: Place,
  { source, tool, user, prompt, kept }: ListingAgain,
): Promise<void> {
  const { catalog, thrown } = await askSource(source, source.name, user)
  if (thrown !== null || currentSignal().aborted) return
  const over = [...(kept.get(source.name)?.over ?? []), tool]
  const { problems } = offerSourceTools(prompt, inOrder(prompt, new Map([...kept, [source.name, catalog]])))
  const events = warningsOf(place, [...catalog.problems, ...problems])
  const { threadId, run } = place
  const id = catalogOperationId(run, source.name)
  await dependencies.store.write(async (tx) => {
    await replaceCatalog(tx, { threadId, id, answer: { ...catalog, over } })
    if (events.length > 0) await appendEvents(tx, { threadId, events, now: microseconds(place) })
  })
}
