/** Phase 2: what the provider gets. The same rows always give the same bytes, and new rows only append (T12). */
import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { CallModelInput } from '../../protocol/activities.js'
import type { PlanContent, PromptContent } from '../../definitions/plan-content.js'
import { rowsOfTurn } from '../../model/context/answer-parts.js'
import { assemblePrompt, isContinue } from '../../model/context/assemble-prompt.js'
import { withCacheHints } from '../../model/context/cache-hints.js'
import { filesToInline } from '../../model/context/inlined-files.js'
import { pairToolMessages } from '../../model/context/pair-tool-messages.js'
import { withPermittedThinking } from '../../model/context/permitted-thinking.js'
import { rowTokens } from '../../model/context/row-tokens.js'
import type { TranscriptRow } from '../../model/context/transcript-row.js'
import type { ModelRequest } from '../../model/stream-answer.js'
import type { NewBoundary } from '../../store/boundaries.js'
import type { TranscriptMessage } from '../../store/message-row.js'
import { listOpenInstances } from '../../store/open-instances.js'
import type { Reader, Store } from '../../store/store.js'
import { cutContext } from './cut-context.js'
import type { CutContext } from './cut-context.js'
import { microseconds, operationOf } from './model-step.js'
import { readFiles } from './read-files.js'
import { readWindow } from './read-window.js'
import type { ContextWindow } from './read-window.js'
import { registryMessage, registryNote } from './registry-note.js'
import { requestContext } from './request-context.js'
import type { FrameMessage, RequestContext } from './request-context.js'
import { visibleRows } from './visible-rows.js'

/** What hooks do to the context. */
export interface ContextHooks {
  /** Of the rows after the cut; they may be left out, changed or added to. */
  readonly filterMessages?: (rows: readonly TranscriptRow[]) => Promise<readonly TranscriptRow[]>
  /** Of the whole prompt, with its system message. */
  readonly prefilter?: (prompt: LanguageModelV4Prompt) => Promise<LanguageModelV4Prompt>
}

export interface RequestParts {
  readonly store: Store
  readonly input: CallModelInput
  readonly content: PlanContent
  readonly prompt: PromptContent & { readonly name: string }
  /** A name of `content.models`: the prompt's own, or a fallback. */
  readonly model: string
  /** How often the provider has refused this step's request as too long. */
  readonly cuts: number
  /** Rendered. */
  readonly system: string
  readonly frameMessage: FrameMessage | null
  readonly hooks?: ContextHooks
}

export interface BuiltRequest {
  readonly options: ModelRequest
  /** Rows that it shows. */
  readonly messages: number
  readonly tools: number
  /** Rows that the window leaves out. */
  readonly dropped: number
  /** See `textTokens`. */
  readonly estimatedTokens: number
  /** To be stored before the request is sent, so that the next ones begin like this one; null: nothing was cut for good. */
  readonly boundary: NewBoundary | null
}

/** Assembles the request for one model, from a window of bounded size. */
export async function buildRequest(parts: RequestParts): Promise<BuiltRequest> {
  const { store, input, prompt } = parts
  const [window, note] = await store.read((db) =>
    Promise.all([readWindow(db, input, prompt), noteOfChildren(db, parts)]),
  )
  const context = requestContext({ ...parts, note })
  const before = weighedRows(context, shownRows(parts, window))
  const fixed = context.settingsTokens + tokensOf(before, [window.opening, context.frameRow])
  const cut = await cutContext(store, {
    input,
    window,
    perspective: context.perspective,
    // Tools that fill the window by themselves leave no room for anything: the provider says so.
    budget: Math.max(context.mostTokens - fixed, context.mostTokens / 8),
    halvings: Math.max(0, parts.cuts - cutsDone(parts, window)),
    tokensOf: (row) => before.get(row.id) ?? 0,
  })
  const rows = [...(await filtered(parts, shownRows(parts, cut))), ...frameRows(context)]
  const options = withPermittedThinking({
    ...context.settings,
    prompt: await assembled(parts, context, { rows, window, cut, note }),
  })
  const estimatedTokens = context.settingsTokens + sum(weighedRows(context, rows))
  const tokens = { tokensBefore: context.settingsTokens + sum(before), tokensAfter: estimatedTokens }
  return {
    options,
    messages: rows.length,
    tools: context.settings.tools?.length ?? 0,
    dropped: (cut.cut ?? window.boundary)?.detail.dropped ?? 0,
    estimatedTokens,
    boundary: boundaryOf(parts, cut, tokens),
  }
}

/** A nested step hears of them only if it may start or write to some itself. */
async function noteOfChildren(db: Reader, { input, prompt }: RequestParts): Promise<string | null> {
  const tells = input.frame === null || Object.keys(prompt.subagents).length > 0
  return tells ? registryNote(await listOpenInstances(db, input.threadId)) : null
}

/** The rows of a window that the prompt sees. */
function shownRows(
  { input, prompt }: RequestParts,
  { opening, rows }: Pick<CutContext, 'opening' | 'rows'>,
): readonly TranscriptMessage[] {
  const all = opening === null ? rows : [opening, ...rows]
  return visibleRows(all, prompt, input.frame === null ? input.run : null)
}

async function filtered(
  { hooks }: RequestParts,
  rows: readonly TranscriptMessage[],
): Promise<readonly TranscriptRow[]> {
  return hooks?.filterMessages === undefined ? rows : hooks.filterMessages(rows)
}

interface Assembling {
  readonly rows: readonly TranscriptRow[]
  readonly window: ContextWindow
  readonly cut: CutContext
  /** What is said of the thread's children. */
  readonly note: string | null
}

async function assembled(
  { store, input, prompt, system, hooks }: RequestParts,
  { perspective, inlining, author, frameRow }: RequestContext,
  { rows, window, cut, note }: Assembling,
): Promise<LanguageModelV4Prompt> {
  const files = await readFiles(store, input.threadId, filesToInline(rows, inlining))
  const begins = (cut.cut ?? window.boundary)?.position ?? null
  // A prompt that sees the run at hand only does not miss what was before it.
  const misses = prompt.includeChat || cut.opening?.run === input.run
  const gapBefore = misses ? begins : null
  const history = assemblePrompt({ system, messages: rows, perspective, files, author, gapBefore })
  const whole = note === null ? history : [...history, registryMessage(note)]
  const passing = (frameRow !== null || isContinue(history.at(-1)) ? 1 : 0) + (whole.length - history.length)
  if (hooks?.prefilter === undefined) return withCacheHints(whole, passing)
  return withCacheHints(pairToolMessages(await hooks.prefilter(whole)), passing)
}

/** The cuts for this step that are stored already: by an earlier request, or by an attempt that died. */
function cutsDone({ input }: RequestParts, { boundary }: ContextWindow): number {
  const isOurs = boundary?.kind === 'context_length' && boundary.operation === operationOf(input).id
  return isOurs ? boundary.detail.cuts : 0
}

/**
 * A fallback with a smaller window, a nested step, or a prompt that sees its own run only must not take from the side what
 * its own prompt and model can see.
 */
function boundaryOf(
  { input, prompt, model, cuts }: RequestParts,
  { cut }: CutContext,
  tokens: Pick<NewBoundary, 'tokensBefore' | 'tokensAfter'>,
): NewBoundary | null {
  const isOfSide = model === prompt.model && input.frame === null && prompt.includeChat
  if (cut === null || !isOfSide) return null
  return {
    threadId: input.threadId,
    side: input.side,
    position: cut.position,
    kind: cuts === 0 ? 'window' : 'context_length',
    operation: operationOf(input).id,
    detail: { ...cut.detail, cuts },
    ...tokens,
    createdAt: microseconds(input),
  }
}

function frameRows({ frameRow }: RequestContext): readonly TranscriptRow[] {
  return frameRow === null ? [] : [frameRow]
}

function weighedRows(
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
