/**
 * Phase 2: builds the request to a provider, from a window of bounded size.
 * Owns: which rows a prompt sees, the room for them, the note about subagents, and the order of all parts.
 * Does not own: reading and cutting the window (`context-window.ts`), tools and provider options
 * (`request-settings.ts`), and the format of messages (`model/context/`).
 * The same rows always give the same bytes, and new rows only append, so that providers can cache the prefix (T12).
 */
import type { LanguageModelV4Prompt } from '@ai-sdk/provider'

import type { ModelContent, PlanContent, PromptContent } from '../../definitions/plan/plan-content.js'
import { rowsOfTurn } from '../../model/context/answer-parts.js'
import type { Author } from '../../model/context/answer-parts.js'
import { assemblePrompt, isContinue, pairToolMessages } from '../../model/context/assemble-prompt.js'
import { filesToInline, mediaTypeOf, shownKinds } from '../../model/context/inlined-files.js'
import type { InlinedFile, Inlining, ReadFiles } from '../../model/context/inlined-files.js'
import { withCacheHints, withPermittedThinking } from '../../model/context/provider-options.js'
import { registryMessage, registryNote } from '../../model/context/registry-note.js'
import { rowTokens, textTokens } from '../../model/context/row-tokens.js'
import { BLANK_ROW, withoutOpenCalls } from '../../model/context/transcript-row.js'
import type { Perspective, TranscriptRow } from '../../model/context/transcript-row.js'
import type { ModelRequest } from '../../model/stream-answer.js'
import type { CallModelInput } from '../../protocol/activities.js'
import { LIMITS } from '../../protocol/limits.js'
import type { AttachmentRef } from '../../protocol/message.js'
import type { ContextItem, ContextManifest } from '../../protocol/event-codes.js'
import type { StoredBudgets } from '../../store/budgets/subjects.js'
import { statFile } from '../../store/files/files.js'
import type { NewBoundary } from '../../store/messages/context-boundaries.js'
import type { TranscriptMessage } from '../../store/messages/transcript.js'
import type { Reader, Store } from '../../store/store.js'
import { StoreError } from '../../store/store-error.js'
import { listOpenInstances } from '../../store/threads/thread-tree.js'
import { microseconds } from '../scope.js'
import { compactionOf, CONTEXT_SHARE, omissionsOf, summaryOf } from '../compaction/context-omissions.js'
import { contextParts, rowSections } from './context-parts.js'
import { cutContext, readWindow } from './context-window.js'
import { operationOf } from './model-step.js'
import { outputInstruction, requestSettings } from './request-settings.js'

/** The window of a model whose definition gives no size. */
const CONTEXT_TOKENS = 128_000

type ContextWindow = Awaited<ReturnType<typeof readWindow>>

type CutContext = Awaited<ReturnType<typeof cutContext>>

/** The hooks that receive the context. */
export interface ContextHooks {
  /** Filters the rows after the cut; it may remove, change or add rows. */
  readonly filterMessages?: (rows: readonly TranscriptRow[]) => Promise<readonly TranscriptRow[]>
  /** Changes the whole prompt, with its system message. */
  readonly prefilter?: (prompt: LanguageModelV4Prompt) => Promise<LanguageModelV4Prompt>
}

export interface RequestParts {
  readonly store: Store
  readonly input: CallModelInput
  readonly content: PlanContent
  readonly prompt: PromptContent & { readonly name: string }
  /** A name of `content.models`: the prompt's own, or a fallback. */
  readonly model: string
  /** The number of times that the provider has refused the request of this step as too long. */
  readonly cuts: number
  /** Rendered. */
  readonly system: string
  readonly frameMessage: FrameMessage | null
  readonly hooks?: ContextHooks
  /** Commits a cut with a summary of what it leaves out, after which the request is built anew. */
  readonly compact?: (compaction: Compaction) => Promise<void>
}

/** A cut that leaves messages out. */
export interface Compaction {
  readonly boundary: NewBoundary
  /** The messages that it leaves out; not those that an earlier cut has left out. */
  readonly leaves: readonly TranscriptMessage[]
  /** The first message that stays. */
  readonly next: string | null
  /** The summary of what earlier cuts have left out. */
  readonly before: string | null
  /** What a command says that it must keep. */
  readonly focus: string | null
}

export interface BuiltRequest
  extends ReturnType<typeof contextParts>, Pick<ContextManifest, 'refs' | 'omissions'> {
  readonly options: ModelRequest
  /** The number of rows in the request. */
  readonly messages: number
  readonly tools: number
  /** The number of rows before the window. */
  readonly dropped: number
  readonly budgets: StoredBudgets
  /** The tokens that the model accepts, if its definition says so. */
  readonly contextWindow: number | null
  /** The provider's id of the model. */
  readonly modelId: string
  /** The kinds of files that the rows show to a model that accepts all of them. */
  readonly shows: ReturnType<typeof shownKinds>
  /**
   * Stored before the request is sent, so that the next requests begin like this one; null: the cut applies to this
   * request only.
   */
  readonly boundary: NewBoundary | null
  /** What fits into the window before it is compacted; null: it is not. */
  readonly room: { readonly rows: number; readonly tokens: number } | null
}

/** Assembles the request for one model, from a window of bounded size. */
export async function buildRequest(given: RequestParts): Promise<BuiltRequest> {
  const made = await cutRequest(given)
  if (await compactFirst(given, made)) {
    const { compact: _, ...rest } = given
    return buildRequest(rest)
  }
  const { parts, context, window, cut, before, compaction } = made
  const rows = [...(await filterRows(parts, selectShownRows(parts, cut))), ...frameRows(context)]
  const options = withPermittedThinking({
    ...context.settings,
    prompt: await assemble(parts, context, { rows, window, cut, note: parts.note }),
  })
  const summary = summaryOf(parts, { window, cut })
  // Rows that were neither cut nor filtered are those that were weighed for the cut.
  const isWhole = cut.cut === null && parts.hooks?.filterMessages === undefined
  const weights = isWhole ? before : weighRows(context, rows)
  const sized = contextParts([
    ...context.sections,
    { kind: 'summary', count: summary === null ? 0 : 1, tokens: textTokens(summary) },
    ...rowSections(rows, context.perspective, weights),
  ])
  const tokens = {
    tokensBefore: context.settingsTokens + sum(before),
    tokensAfter: sized.estimatedTokens,
  }
  return {
    options,
    messages: rows.length,
    tools: context.settings.tools?.length ?? 0,
    dropped: (cut.cut ?? window.boundary)?.detail.dropped ?? 0,
    ...omissionsOf(rows, { window, cut, summary }),
    budgets: window.budgets,
    contextWindow: context.model.maxContextTokens,
    modelId: context.model.model,
    shows: shownKinds(rows, context.inlining),
    ...sized,
    boundary: boundaryOf(parts, { window, cut }, tokens),
    room:
      compaction === null
        ? null
        : { rows: compaction.rows - cut.rows.length, tokens: context.mostTokens - sized.estimatedTokens },
  }
}

/** Compacts the context if a request would do so, and makes none. */
export async function compactIfFull(given: RequestParts): Promise<void> {
  await compactFirst(given, await cutRequest(given))
}

/** The rows of a request, in a window that fits. */
interface CutRequest extends Pick<PromptParts, 'window' | 'cut'> {
  readonly parts: NotedParts
  readonly context: RequestContext
  /** The tokens of each row before the cut. */
  readonly before: ReadonlyMap<string, number>
  /** The tokens of all that no cut leaves out. */
  readonly fixed: number
  readonly compaction: ReturnType<typeof compactionOf>
}

async function cutRequest(given: RequestParts): Promise<CutRequest> {
  const { store, input, prompt } = given
  const instruction = outputInstruction({ ...outputOf(given), model: modelOf(given) })
  const whole = { ...given, system: given.system + instruction }
  const [window, note] = await store.read((db) =>
    Promise.all([readWindow(db, input, prompt), noteOfChildren(db, whole)]),
  )
  const parts = { ...whole, note }
  const context = requestContext(parts)
  const before = weighRows(context, selectShownRows(parts, window))
  const fixed =
    context.settingsTokens +
    tokensOf(before, [window.opening, context.frameRow]) +
    textTokens(window.boundary?.detail.summary ?? null)
  const compaction = compactionOf(parts, window)
  const cut = await cutContext(store, {
    input,
    window,
    perspective: context.perspective,
    // If the tools alone fill the window, the provider must refuse the request.
    budget: Math.max(context.mostTokens - fixed, context.mostTokens / 8),
    halvings: Math.max(0, parts.cuts - countStoredCuts(parts, window)),
    tokensOf: (row) => before.get(row.id) ?? 0,
    compaction,
  })
  return { parts, context, window, cut, before, fixed, compaction }
}

/** Returns whether it has compacted the context. Nested steps and fallbacks compact nothing. */
async function compactFirst(
  given: RequestParts,
  { parts, context, window, cut, before: weighed, fixed, compaction }: CutRequest,
): Promise<boolean> {
  const estimate = {
    tokensBefore: context.settingsTokens + sum(weighed),
    tokensAfter: fixed + tokensOf(weighed, cut.rows),
  }
  const boundary = boundaryOf(parts, { window, cut }, estimate)
  const isCut = boundary !== null && boundary.kind !== 'cleared'
  if (given.compact === undefined || !isCut || compaction === null) return false
  const stays = new Set([...cut.rows, ...(cut.opening === null ? [] : [cut.opening])].map(({ id }) => id))
  const leaves = selectShownRows(given, window).filter(({ id }) => !stays.has(id))
  const { summary: before = null, focus = null } = window.boundary?.detail ?? {}
  await given.compact({ boundary, leaves, next: cut.rows[0]?.id ?? null, before, focus })
  return true
}

/** A nested step gets the note only if its own prompt may start subagents or write to them. */
async function noteOfChildren(db: Reader, { input, prompt }: RequestParts): Promise<string | null> {
  const tells = input.frame === null || Object.keys(prompt.subagents).length > 0
  return tells ? registryNote(await listOpenInstances(db, input.threadId)) : null
}

/** The rows of a window that the prompt sees. */
function selectShownRows(
  { input, prompt }: RequestParts,
  { opening, rows }: Pick<CutContext, 'opening' | 'rows'>,
): readonly TranscriptMessage[] {
  const all = opening === null ? rows : [opening, ...rows]
  return visibleRows(all, prompt, input.frame === null ? input.run : null)
}

async function filterRows(
  { hooks }: RequestParts,
  rows: readonly TranscriptMessage[],
): Promise<readonly TranscriptRow[]> {
  return hooks?.filterMessages === undefined ? rows : hooks.filterMessages(rows)
}

interface PromptParts {
  readonly rows: readonly TranscriptRow[]
  readonly window: ContextWindow
  readonly cut: CutContext
  /** The note about the thread's children. */
  readonly note: string | null
}

async function assemble(
  { store, input, prompt, system, hooks }: RequestParts,
  { perspective, inlining, author, frameRow }: RequestContext,
  { rows, window, cut, note }: PromptParts,
): Promise<LanguageModelV4Prompt> {
  const files = await readFiles(store, input.threadId, filesToInline(rows, inlining))
  const begins = (cut.cut ?? window.boundary)?.position ?? null
  // For a prompt that sees only the current run, rows before that run are no gap.
  const misses = prompt.includeChat || cut.opening?.run === input.run
  const gapBefore = misses && begins !== 0 ? begins : null
  const summary = summaryOf({ prompt }, { window, cut })
  const history = assemblePrompt({ system, messages: rows, perspective, files, author, gapBefore, summary })
  const whole = note === null ? history : [...history, registryMessage(note)]
  const passing = (frameRow !== null || isContinue(history.at(-1)) ? 1 : 0) + (whole.length - history.length)
  if (hooks?.prefilter === undefined) return withCacheHints(whole, passing)
  return withCacheHints(pairToolMessages(await hooks.prefilter(whole)), passing)
}

/**
 * Reads the bytes of files of a thread, each path once; null if a file is missing or is not of the kind that its
 * attachment names.
 */
async function readFiles(
  store: Store,
  threadId: string,
  attachments: Iterable<AttachmentRef>,
): Promise<ReadFiles> {
  const read = new Map<string, InlinedFile | null>()
  const files = new Map<AttachmentRef, InlinedFile | null>()
  for (const attachment of attachments) {
    const { path } = attachment
    const known = read.get(path)
    const file = known === undefined ? await readFile(store, threadId, path) : known
    read.set(path, file)
    files.set(attachment, file !== null && isOfKind(file, attachment) ? file : null)
  }
  return files
}

async function readFile(store: Store, threadId: string, path: string): Promise<InlinedFile | null> {
  const entry = await store.read((db) => statFile(db, threadId, path))
  if (entry?.blob == null || entry.size > LIMITS.inlinedFileBytes) return null
  const data = await bytesOf(store, entry.blob)
  const mediaType = data === null ? null : mediaTypeOf(data)
  return data === null || mediaType === null ? null : { mediaType, data }
}

/**
 * A corrupt file is left out of the request, with a note. If the store is temporarily unavailable, the activity is
 * retried.
 */
async function bytesOf({ blobs }: Store, digest: string): Promise<Uint8Array | null> {
  try {
    return await blobs.read(digest)
  } catch (error) {
    if (StoreError.isInstance(error) && error.code === 'corrupt') return null
    throw error
  }
}

/** A PNG that is named a JPEG is sent. A PDF that is named an image is not, because a model may refuse it. */
function isOfKind({ mediaType }: InlinedFile, { mimeType }: AttachmentRef): boolean {
  return mediaType.split('/')[0] === mimeType.toLowerCase().split('/')[0]
}

/** The number of cuts for this step that an earlier request, or an interrupted attempt, has stored. */
function countStoredCuts({ input }: RequestParts, { boundary }: ContextWindow): number {
  const isOurs = boundary?.kind === 'context_length' && boundary.operation === operationOf(input).id
  return isOurs ? boundary.detail.cuts : 0
}

/**
 * Only the side's own prompt and model move the boundary of the side. A fallback with a smaller window, a nested
 * step, or a prompt that sees only its own run must not remove rows from their context.
 */
function boundaryOf(
  { input, prompt, model, cuts }: RequestParts,
  { window, cut: { cut } }: Pick<PromptParts, 'window' | 'cut'>,
  tokens: Pick<NewBoundary, 'tokensBefore' | 'tokensAfter'>,
): NewBoundary | null {
  const isOfSide = model === prompt.model && input.frame === null && prompt.includeChat
  if (cut === null || cut.kind === 'slides' || !isOfSide) return null
  return {
    threadId: input.threadId,
    side: input.side,
    position: cut.position,
    kind: kindOf(window, cut, cuts),
    operation: operationOf(input).id,
    detail: { ...cut.detail, cuts },
    ...tokens,
    createdAt: microseconds(input),
  }
}

function kindOf(
  { boundary }: ContextWindow,
  { kind }: NonNullable<CutContext['cut']>,
  cuts: number,
): NewBoundary['kind'] {
  if (kind === 'cleared') return 'cleared'
  if (cuts > 0) return 'context_length'
  return boundary?.kind === 'request' ? 'command' : 'window'
}

function frameRows({ frameRow }: RequestContext): readonly TranscriptRow[] {
  return frameRow === null ? [] : [frameRow]
}

function weighRows(
  { inlining, author, frameRow, perspective }: RequestContext,
  rows: readonly TranscriptRow[],
): ReadonlyMap<string, number> {
  const all = frameRow === null || rows.includes(frameRow) ? rows : [...rows, frameRow]
  const inlined = filesToInline(all, inlining)
  const turn = rowsOfTurn(all, perspective)
  return new Map(all.map((row) => [row.id, rowTokens(row, { inlined, author, inTurn: turn.has(row) })]))
}

function tokensOf(weighed: ReadonlyMap<string, number>, rows: readonly (TranscriptRow | null)[]): number {
  return rows.reduce((total, row) => total + (row === null ? 0 : (weighed.get(row.id) ?? 0)), 0)
}

function sum(weighed: ReadonlyMap<string, number>): number {
  return [...weighed.values()].reduce((total, tokens) => total + tokens, 0)
}

/** The arguments of a nested step's call as a message, which is not a row of the transcript. */
interface FrameMessage {
  readonly text: string
  readonly attachments: readonly AttachmentRef[]
}

interface NotedParts extends RequestParts {
  /** The note about children, which comes after all rows. */
  readonly note: string | null
}

/** The parts of a request that are the same for all rows. */
interface RequestContext {
  readonly model: ModelContent
  readonly perspective: Perspective
  readonly inlining: Inlining
  readonly author: Author
  readonly settings: Omit<ModelRequest, 'prompt'>
  /** System text, tools and the note. */
  readonly sections: readonly ContextItem[]
  /** The tokens of these. */
  readonly settingsTokens: number
  /** The tokens for rows, system text and tools. The rest is for the answer, and for the error of the estimate. */
  readonly mostTokens: number
  readonly frameRow: TranscriptMessage | null
}

/** @throws if the plan does not have the model: a bug of the caller */
function modelOf({ content, model: name }: Pick<RequestParts, 'content' | 'model'>): ModelContent {
  const model = Object.hasOwn(content.models, name) ? content.models[name] : undefined
  if (model === undefined) throw new Error(`The plan has no model ${name}.`)
  return model
}

/** A nested step answers its call, and not the run. */
function outputOf({ input, content: { output } }: RequestParts): Pick<PlanContent, 'output'> {
  return input.frame === null && output !== undefined ? { output } : {}
}

function requestContext(parts: NotedParts): RequestContext {
  const { input, content, prompt, model: name } = parts
  const model = modelOf(parts)
  const perspective = { type: content.plan.type, side: input.side }
  const settings = requestSettings({ input, prompt, model, ...outputOf(parts) })
  const author = {
    prompt: prompt.name,
    model: name,
    modelId: model.model,
    includesReasoning: prompt.reasoning?.include === true,
    reasons: prompt.reasoning !== null,
  }
  const sections = settingsSections(parts, settings.tools)
  return {
    model,
    perspective,
    inlining: { senses: sensesOf(model), perspective, recent: prompt.recentImageThreshold, author },
    author,
    settings,
    sections,
    settingsTokens: contextParts(sections).estimatedTokens,
    mostTokens: (model.maxContextTokens ?? CONTEXT_TOKENS) * (prompt.compaction?.threshold ?? CONTEXT_SHARE),
    frameRow: parts.frameMessage === null ? null : frameRow(input, parts.frameMessage),
  }
}

function settingsSections(
  { system, note }: Pick<NotedParts, 'system' | 'note'>,
  tools: ModelRequest['tools'] = [],
): readonly ContextItem[] {
  return [
    { kind: 'system', count: 1, tokens: textTokens(system) },
    { kind: 'subagents', count: note === null ? 0 : 1, tokens: textTokens(note) },
    { kind: 'tools', count: tools.length, tokens: textTokens(JSON.stringify(tools)) },
  ]
}

function sensesOf({ supportsImages, supportsDocuments, supportsAudio }: ModelContent): Inlining['senses'] {
  return { images: supportsImages, documents: supportsDocuments, audio: supportsAudio }
}

/** The message of a nested step counts as a message of the other side. */
function frameRow(input: CallModelInput, { text, attachments }: FrameMessage): TranscriptMessage {
  return {
    ...BLANK_ROW,
    id: `${input.threadId}:frame`,
    role: 'user',
    content: text,
    created_at: microseconds(input),
    attachments,
    side: input.side === 'a' ? 'b' : 'a',
  }
}

/**
 * The rows that a prompt sees: always those of the current run; earlier rows with `includeChat`, and their tool calls
 * and results with `includePastTools`. A nested step has no run of its own (`run` is null), and does not see its own
 * pending calls.
 */
function visibleRows(
  transcript: readonly TranscriptMessage[],
  prompt: Pick<PromptContent, 'includeChat' | 'includePastTools'>,
  run: number | null,
): readonly TranscriptMessage[] {
  // Status lines of the runtime are for people: neither hooks nor models see them.
  const rows = transcript.filter(({ metadata }) => metadata?.['status_kind'] === undefined)
  const visible =
    prompt.includeChat && prompt.includePastTools
      ? rows
      : rows.flatMap((row) => {
          if (run !== null && row.run === run) return [row]
          if (!prompt.includeChat || (row.role === 'tool' && !prompt.includePastTools)) return []
          return [prompt.includePastTools ? row : { ...row, tool_calls: null }]
        })
  return run === null ? withoutOpenCalls(visible) : visible
}
