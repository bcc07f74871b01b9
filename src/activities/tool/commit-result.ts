/**
 * Phase 6: commits the result of a call.
 * Owns: the transaction of the outcome: the operation, the rows of call and result, the row after the result, the call's
 * writes to its thread, and its events.
 * Does not own: the content of the result (`tool-result.ts`), and whether this attempt holds the call (`operation.ts`).
 * The attempt that holds the call commits all of it or nothing (T2, T4, T9). The writes of a call exist only together
 * with its outcome.
 */
import { createHash, randomUUID } from 'node:crypto'
import { parseObject } from '../../definitions/plan/tool-arguments.js'
import type { ResultAnswer } from '../../protocol/activities.js'
import { redactFields } from '../../policy/redact-fields.js'
import { fact, phaseFact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { CUT_OFF } from '../../protocol/message.js'
import { queuesTool } from '../../protocol/operations.js'
import { toMicros } from '../../protocol/time.js'
import type { Micros } from '../../protocol/time.js'
import type { JsonValue } from '../../protocol/values.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import { failureOfCode } from '../../protocol/payloads/tool-failure.js'
import { eraseCall, finishToolCall, recordDecision } from '../../store/calls/tool-calls.js'
import type { ToolCallRecord } from '../../store/calls/tool-calls.js'
import { appendEvents } from '../../store/events.js'
import { FileError } from '../../store/files/file-checks.js'
import { appendMessage, turnIntoToolResult } from '../../store/messages/delivery.js'
import type { NewMessage } from '../../store/messages/message-row.js'
import { deleteMessage } from '../../store/messages/queue.js'
import { findMessage } from '../../store/messages/transcript.js'
import type { Store, Writer } from '../../store/store.js'
import { pipeline } from '../../store/transaction.js'
import { withoutHooks } from '../hooks/hook-batch.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { draftRow } from '../hooks/message-hooks.js'
import {
  assertFitting,
  commit,
  factsNotStoredYet,
  finish,
  finishForHolder,
  TooManyOperations,
} from '../operation.js'
import type { HeldOperation } from '../operation.js'
import { publishStatus } from '../publish-status.js'
import { sumUsage } from '../turn/request-log.js'
import type { RequestRecord } from '../turn/request-log.js'
import { phaseFive, stepScope } from '../scope.js'
import type { StateEffects } from '../thread-state/buffered-state.js'
import { atNewPath } from '../thread-state/file-members.js'
import { failureResult } from './call-result.js'
import type { CallResult } from './call-result.js'
import type { HeldCall } from './held-call.js'
import { storeInPlace } from './in-place-log.js'
import { resolveRequest } from './approval-request.js'
import type { CallResponse } from './approval-request.js'
import type { Denied } from './permission.js'
import { dropReports } from './live-reports.js'
import { prepareResult } from './tool-result.js'

type PreparedResult = Awaited<ReturnType<typeof prepareResult>>

interface Alongside {
  /** The hooks around the call, with its state: the writes of both are committed with the result. */
  readonly hooks?: HookBatch
  /** The state belongs to the call's own code. @default only the hooks have written to it */
  readonly isStateOfCall?: boolean
  /** Operations for the workflow, in addition to those of state and hooks. */
  readonly operations?: readonly ThreadOperation[]
  /** A child's queued report that becomes the result's row. */
  readonly reportId?: string
  /** Events that come first, for a call that ends in the transaction in which it would have begun. */
  readonly opening?: (tx: Writer) => Promise<readonly Fact[]>
  /** The requests to models that the call's code has sent. */
  readonly requests?: readonly RequestRecord[]
  /** The operation of the call's first half, if it is still open: it ends with the call. */
  readonly closes?: string
  /** Further writes of the transaction. */
  readonly ending?: (tx: Writer) => Promise<void>
}

/** The result of a completed call, with everything that is committed together with it. */
export interface CompletedCall {
  readonly result: CallResult | PreparedResult
  readonly alongside: Alongside
}

/**
 * Commits the result of a call with all writes of the call to its thread. All writes are dropped if the call did more
 * than its answer can hold, or if its state puts a file where another writer has since made a folder, or a folder where
 * that writer has made a file. The model then gets the reason.
 */
export async function commitResult(
  store: Store,
  call: HeldCall,
  made: CallResult | PreparedResult,
  alongside: Alongside = {},
): Promise<ResultAnswer> {
  try {
    const named = 'put' in made ? made : await explainCutCall(store, call.row, made)
    return await commitMade(store, call, named, alongside)
  } catch (error) {
    const { hooks: _undone, operations: _unsent, ...others } = alongside
    if (error instanceof TooManyOperations)
      return commitMade(store, call, failureResult(error.message, 'too_many_operations'), others)
    if (alongside.isStateOfCall !== true || !FileError.isInstance(error)) throw error
    return commitMade(store, call, failureResult(error.message, 'invalid_file'), others)
  }
}

async function commitMade(
  store: Store,
  call: HeldCall,
  made: CallResult | PreparedResult,
  alongside: Alongside,
): Promise<ResultAnswer> {
  const { threadId, callId } = call.input
  const { hooks = withoutHooks(), reportId = null } = alongside
  const prepared = 'put' in made ? made : await prepareResult(store, call, { made, hooks })
  const draft = await draftResult(call, prepared, { hooks, reportId })
  await hooks.waitForWork()
  return commit(store, call.operation, async (tx): Promise<ResultAnswer> => {
    const opening = (await alongside.opening?.(tx)) ?? []
    let row: StoredRow = { messageId: null, events: [] }
    const effects = await hooks.commit(tx, async (moved) => {
      row = await storeResult(tx, call, { prepared, draft, reportId, moved })
    })
    const placed = { ...effects, ...row }
    const result = atNewPaths(prepared.result, placed.moved)
    const following = await storeFollowing(tx, call, result)
    const answer = answerOf(result, placed, alongside)
    assertFitting(answer.operations)
    const { now } = call
    pipeline(tx, finish(tx, call.operation, { answer, ...sentRequests(call.operation, alongside) }))
    // T4: a lookup of the first half must find the outcome of the call.
    if (alongside.closes !== undefined)
      await finishForHolder(tx, { threadId, id: alongside.closes }, { answer, now })
    await alongside.ending?.(tx)
    await storeInPlace(tx, call.inPlace, call.row)
    await dropReports(tx, call)
    const { outcome: status, errorCode, session, failure } = result
    const finished = { threadId, callId, status, errorCode, session, failure, now: endOfCall(call) }
    pipeline(tx, finishToolCall(tx, { ...finished, resultMessageId: placed.messageId }))
    if (result.statusText !== null)
      await publishStatus(tx, { reference: threadId, text: result.statusText, now })
    const events = [
      ...opening,
      ...placed.events,
      ...resultEvents(call, result, { messageId: placed.messageId, answer }),
      ...following,
    ]
    // The beginning of the call has already updated the thread's activity.
    await appendEvents(tx, { threadId, events, now, movesActivity: alongside.opening !== undefined })
    return answer
  })
}

/** When a call ends, by the clock of the call: Temporal's, and what has passed in this process since. */
function endOfCall({ now, since }: Pick<HeldCall, 'now' | 'since'>): Micros {
  return now + toMicros(Math.round(performance.now() - since))
}

/** The detail of the operation with the requests that the call's code has sent; without any it stays as it is. */
function sentRequests({ detail }: HeldOperation, { requests = [] }: Alongside): { readonly detail?: object } {
  return requests.length === 0 ? {} : { detail: { ...(detail as object | null), requests } }
}

function answerOf(result: CallResult, effects: StateEffects, alongside: Alongside): ResultAnswer {
  const { outcome, content, followedBy } = result
  const operations = [...effects.operations, ...(alongside.operations ?? [])]
  const usage = sumUsage(alongside.requests ?? [])
  return {
    type: 'result',
    outcome,
    ...(outcome === 'failed' ? { errorDigest: errorDigest(content) } : {}),
    ...(operations.length === 0 ? {} : { operations }),
    ...(usage === null ? {} : { usage }),
    ...(followedBy === null || followedBy.side === null ? {} : { text: true }),
  }
}

function resultEvents(
  { input, row, scope }: HeldCall,
  result: CallResult,
  { messageId, answer }: { readonly messageId: string | null; readonly answer: ResultAnswer },
): readonly Fact[] {
  const ends = input.last && row.parent_call_id === null && !queuesTool(answer.operations)
  const phase = ends ? [phaseFact(6, stepScope(input))] : []
  const { outcome, errorCode, errorId, subagentId, failure } = result
  const child = subagentId === null ? {} : { childId: subagentId }
  const about = messageId === null ? scope : { ...scope, messageId }
  const erased = messageId === null ? ({ erased: true } as const) : {}
  const thrown = errorId === null ? {} : { errorId }
  const met = failure ?? (outcome === 'succeeded' ? null : failureOfCode(outcome, errorCode))
  const failed = met === null ? {} : { failure: met }
  const payload = { name: row.name, outcome, errorCode, ...failed, ...thrown, ...erased }
  return [...phase, fact('tool.result', payload, { ...about, ...child })]
}

interface Denying {
  readonly denied: Denied
  /** @default the refusal */
  readonly result?: CallResult | PreparedResult
  readonly response: CallResponse | null
  readonly hooks: HookBatch
}

/** Commits the result of a call that must not begin, in one transaction. */
export function commitDenial(
  store: Store,
  call: HeldCall,
  { denied, result = denied.result, response, hooks }: Denying,
): Promise<ResultAnswer> {
  const { input, row } = call
  const { threadId, callId } = input
  return commitResult(store, call, result, {
    hooks,
    opening: async (tx) => {
      await recordDecision(tx, { threadId, callId, decision: denied.decision })
      return [
        ...(await factsNotStoredYet(tx, input, call.operation)),
        ...phaseFive(input, row),
        ...(response === null ? [] : await resolveRequest(tx, input, response)),
        ...(denied.events ?? []),
      ]
    },
  })
}

interface Place {
  readonly hooks: HookBatch
  /** A child's queued report that becomes the row. */
  readonly reportId: string | null
}

/**
 * Drafts the row of a result: runs the create hooks, and reserves a place for the row among the writes of call and
 * hooks. Returns null for a call that a hook erases. The result of a stop has no hooks.
 */
async function draftResult(
  call: HeldCall,
  { result, erased }: PreparedResult,
  { hooks, reportId }: Place,
): Promise<NewMessage | null> {
  const metadata = await hooks.resultMetadata()
  const id = reportId ?? call.operation.messageId ?? randomUUID()
  const draft = { ...resultRow(call, result, id), metadata }
  const isStopped = result.outcome === 'interrupted' || result.outcome === 'cancelled'
  if (!erased && !isStopped) return draftRow(hooks, draft)
  await hooks.reserveRow()
  return erased ? null : draft
}

interface StoredRow {
  /** Null for a call that a hook erases. */
  readonly messageId: string | null
  readonly events: readonly Fact[]
}

interface Storing {
  readonly prepared: PreparedResult
  /** Null for a call that a hook erases. */
  readonly draft: NewMessage | null
  /** A child's queued report that becomes the row. */
  readonly reportId: string | null
  readonly moved: StateEffects['moved']
}

/**
 * Writes the row of a result, or erases its call. The runtime makes random ids for its rows: a client could use a
 * predictable id first for a message of its own, and the commit would then fail forever (T10).
 */
async function storeResult(
  tx: Writer,
  call: HeldCall,
  { prepared, draft, reportId, moved }: Storing,
): Promise<StoredRow> {
  if (draft === null) return { messageId: null, events: await erase(tx, call, reportId) }
  await prepared.put(tx)
  const attachments = draft.attachments?.map((file) => atNewPath(file, moved)) ?? []
  if (reportId === null) {
    await appendMessage(tx, { ...draft, attachments })
    return { messageId: draft.id, events: [] }
  }
  const { threadId, callId: toolCallId, run, step, side } = call.input
  const { content, parentId = null, depth = 0 } = draft
  const toolStatus = prepared.result.outcome === 'succeeded' ? 'success' : 'error'
  const what = { toolCallId, name: call.row.name, content, toolStatus, attachments, parentId, depth } as const
  const turned = { threadId, messageId: reportId, ...what, run, step, side }
  if ((await turnIntoToolResult(tx, turned)) !== null) return { messageId: reportId, events: [] }
  // The report no longer exists: the result gets a row of its own.
  const id = call.operation.messageId ?? randomUUID()
  await appendMessage(tx, { ...draft, attachments, id })
  return { messageId: id, events: [] }
}

async function erase(
  tx: Writer,
  { input, row }: HeldCall,
  reportId: string | null,
): Promise<readonly Fact[]> {
  const { threadId, callId } = input
  // The report was the result of this call, so it must not stay as a message.
  if (reportId !== null) await deleteMessage(tx, threadId, reportId)
  const { message_id: messageId } = row
  const type = await eraseCall(tx, { threadId, callId, messageId })
  return type === null ? [] : [fact(type, {}, { ...stepScope(input), messageId })]
}

/** The row of a result, at the same depth as the message that holds the call. */
function resultRow({ input, row, holder, now }: HeldCall, result: CallResult, id: string): NewMessage {
  const { threadId, callId: toolCallId, run, step, side } = input
  const toolStatus = result.outcome === 'succeeded' ? 'success' : 'error'
  const { attachments, subagentId } = result
  const content = withOthersPart(row, result.content)
  const { parentId, depth } = holder
  const what = { toolCallId, name: row.name, content, toolStatus, attachments } as const
  const common = { threadId, ...what, parentId, depth, run, step, side }
  return { ...common, id, role: 'tool', createdAt: now, sentBy: 'tool', subagentId }
}

const LONGEST_SHOWN = 2_000

/** Says what a person or a hook did to the call: models would take the result for one of the arguments that they wrote, or of the tool. */
function withOthersPart({ decision, arguments: args }: ToolCallRecord, content: string): string {
  if (decision?.answered === true) return `A person answered in the place of this tool:\n\n${content}`
  const isOfPerson = decision?.changed === true
  if (!isOfPerson && decision?.changedBy === undefined) return content
  const text = JSON.stringify(redactFields(JSON.parse(args) as JsonValue))
  const shown = text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text
  const who = isOfPerson ? 'A person' : 'A rule of this application'
  return `${who} changed the arguments of this call to ${shown}\n\n${content}`
}

/**
 * Stores the row after the result, which is the text of a stop tool or the first message of a handoff. Returns its event.
 */
async function storeFollowing(
  tx: Writer,
  { input, now }: HeldCall,
  { followedBy }: CallResult,
): Promise<readonly Fact[]> {
  if (followedBy === null) return []
  const { threadId, run, step } = input
  const id = randomUUID()
  await appendMessage(tx, { ...followedBy, id, threadId, createdAt: now, sentBy: 'tool', run, step })
  const scope = { ...stepScope(input), messageId: id }
  return [fact('message.created', { role: followedBy.role }, scope)]
}

/** A digest that is equal for errors that differ only in quoted parts, paths and numbers. */
function errorDigest(content: string): string {
  const normalised = content
    .toLowerCase()
    .replace(/"[^"]*"|'[^']*'|`[^`]*`/g, '')
    .replace(/\/\S+/g, '')
    .replace(/\d+/g, '')
    .slice(0, 120)
  return createHash('sha256').update(normalised).digest('hex').slice(0, 16)
}

const CUT_ARGUMENTS =
  'The arguments of this call were cut off, because the answer reached its limit of length, and the call was not made. ' +
  'Call the tool again with shorter arguments, or do the work in several calls.'

const CUT_EMPTY =
  'Your last answer reached its limit of length before it said anything. Answer with a short text, or call a tool.'

/** Replaces the error of a call whose arguments were truncated by one that gives this reason. */
async function explainCutCall(
  store: Store,
  { thread_id: threadId, message_id: messageId, arguments: args }: ToolCallRecord,
  result: CallResult,
): Promise<CallResult> {
  const isEmpty = result.errorCode === 'empty_answer'
  if (!isEmpty && (result.errorCode !== 'invalid_arguments' || parseObject(args).ok)) return result
  const answer = await store.read((db) => findMessage(db, threadId, messageId))
  if (answer?.finish_reason !== CUT_OFF) return result
  return isEmpty ? failureResult(CUT_EMPTY, 'empty_answer') : failureResult(CUT_ARGUMENTS, 'arguments_cut')
}

/** The result with its files at the paths that the commit gave them. */
function atNewPaths(result: CallResult, moved: ReadonlyMap<string, string>): CallResult {
  const { session } = result
  const attachments = result.attachments.map((file) => atNewPath(file, moved))
  if (session === null) return { ...result, attachments }
  const given = session.attachments.map((file) => atNewPath(file, moved))
  return { ...result, attachments, session: { ...session, attachments: given } }
}
