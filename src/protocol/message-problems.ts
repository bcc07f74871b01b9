/**
 * Validators of the messages of the wire contract. A problem is one sentence that names kinds and sizes, never content
 * (T5).
 */

import { isStoreId } from './ids.js'
import { LIMITS } from './limits.js'
import { DELIVERIES, isPageAddress, OUR_IDS } from './messages.js'
import type { ReopenedThread } from './messages.js'
import type { OutboundOperation } from './operations.js'
import { isName, isObject, utf8Length } from './values.js'
import type { Fields } from './values.js'

/** A shorter timeout would fail every activity, a longer one would leave a dead worker unnoticed. */
const SHORTEST_HEARTBEAT = 1_000

const LONGEST_HEARTBEAT = 600_000

/** Explains what is wrong with a thread id; undefined if it is valid. */
export function threadIdProblem(id: unknown): string | undefined {
  if (typeof id !== 'string' || id.length === 0 || id.length > LIMITS.threadIdLength)
    return `Expected a thread id of 1 to ${LIMITS.threadIdLength} characters, got ${describe(id)}.`
  if (id.startsWith(OUR_IDS)) return `Thread ids that start with "${OUR_IDS}" are kept for Everthread itself.`
  return undefined
}

const NAME = `a text of 1 to ${LIMITS.threadIdLength} characters`

/** Explains what is wrong with a start input; undefined if it is valid. Fields of later versions are ignored. */
export function threadStartProblem(start: unknown): string | undefined {
  if (!isObject(start)) return `Expected an object with "agent", got ${describe(start)}.`
  if (!isName(start['agent']))
    return `Expected "agent" to be the name of an agent, got ${describe(start['agent'])}.`
  if (start['message'] !== undefined) {
    const problem = queueMessageProblem(start['message'])
    if (problem !== undefined) return problem
  }
  const { parent, store, tags, searchAttributes, showsWork, page, userId, runs, reopened } = start
  if (store !== undefined && !isStoreId(store))
    return `Expected "store" to be the id of a store, 12 letters and digits, got ${describe(store)}.`
  if (parent !== undefined && !isStartParent(parent))
    return `Expected "parent" to be { threadId, callId, root }, got ${describe(parent)}.`
  if (userId !== undefined && !isName(userId))
    return `Expected "userId" to be ${NAME}, got ${describe(userId)}.`
  if (tags !== undefined && !isNames(tags))
    return `Expected "tags" to be a list of at most ${LIMITS.startNames}, each ${NAME}, got ${describe(tags)}.`
  if (searchAttributes !== undefined && !isNames(searchAttributes))
    return `Expected "searchAttributes" to be a list of names, got ${describe(searchAttributes)}.`
  if (showsWork !== undefined && showsWork !== true)
    return `Expected "showsWork" to be true or absent, got ${describe(showsWork)}.`
  if (runs !== undefined && !isWholeNumber(runs, 0, Number.MAX_SAFE_INTEGER))
    return `Expected "runs" to be a whole number, got ${describe(runs)}.`
  if (page !== undefined && !isPageAddress(page))
    return `Expected "page" to be an http address, got ${describe(page)}.`
  return (
    (reopened === undefined ? undefined : reopenedProblem(reopened)) ?? threadLimitsProblem(start['limits'])
  )
}

function isStartParent(parent: unknown): boolean {
  if (!isObject(parent)) return false
  const { threadId, callId, root } = parent
  return isName(threadId) && isCallId(callId) && (root === undefined || isName(root))
}

function threadLimitsProblem(limits: unknown): string | undefined {
  if (limits === undefined) return undefined
  if (!isObject(limits)) return `Expected "limits" to be an object, got ${describe(limits)}.`
  const { heartbeatTimeout, historyEvents } = limits
  if (
    heartbeatTimeout !== undefined &&
    !isWholeNumber(heartbeatTimeout, SHORTEST_HEARTBEAT, LONGEST_HEARTBEAT)
  )
    return `Expected "limits.heartbeatTimeout" to be ${SHORTEST_HEARTBEAT} to ${LONGEST_HEARTBEAT} milliseconds, got ${describe(heartbeatTimeout)}.`
  if (historyEvents !== undefined && !isWholeNumber(historyEvents, 0, Number.MAX_SAFE_INTEGER))
    return `Expected "limits.historyEvents" to be a whole number, got ${describe(historyEvents)}.`
  return undefined
}

/** Explains what is wrong with the input of a `queueMessage` signal; undefined if it is valid. */
export function queueMessageProblem(message: unknown): string | undefined {
  if (!isObject(message)) return `Expected { messageId } or { content }, got ${describe(message)}.`
  const { messageId, content, role, invocation, deliver } = message
  if (role !== undefined && role !== 'user' && role !== 'assistant')
    return `Expected "role" to be "user" or "assistant", got ${describe(role)}.`
  if (invocation !== undefined && !isCallId(invocation))
    return `Expected "invocation" to be the id of a call, got ${describe(invocation)}.`
  if (deliver !== undefined && !DELIVERIES.some((known) => known === deliver))
    return `Expected "deliver" to be one of ${DELIVERIES.join(', ')}, got ${describe(deliver)}.`
  if (messageId !== undefined) return messageIdProblem(messageId)
  if (typeof content !== 'string' || content.length === 0)
    return `Expected "messageId" or a "content" that is not empty, got ${describe(content)}.`
  if (utf8Length(content) > LIMITS.inlineContentBytes)
    return `Expected inline content of at most ${LIMITS.inlineContentBytes} bytes, got ${utf8Length(content)}; longer messages go through the client.`
  return undefined
}

/** Explains what is wrong with a message id; undefined if it is valid. */
export function messageIdProblem(id: unknown): string | undefined {
  if (typeof id === 'string' && id.startsWith(OUR_IDS))
    return `Message ids that start with "${OUR_IDS}" are kept for Everthread itself.`
  const bytes = typeof id === 'string' ? carriedBytes(id) : 0
  if (bytes > 0 && bytes <= LIMITS.messageIdLength) return undefined
  return `Expected a message id of 1 to ${LIMITS.messageIdLength} bytes, got ${describe(id)}.`
}

/** As many rows as wait at most. */
const MOST_REMOVED = 4 * LIMITS.queuedItems

/** Explains what is wrong with the input of a `stop` signal; undefined if it is valid. */
export function stopProblem(stop: unknown): string | undefined {
  if (stop === undefined || stop === null) return undefined
  if (isObject(stop) && !('undecodable' in stop)) {
    const { runId, children, parks, removed = [] } = stop
    const areFlags = isTypeOrMissing(children, 'boolean') && isTypeOrMissing(parks, 'boolean')
    if (isTypeOrMissing(runId, 'string') && areFlags && isListOf(removed, MOST_REMOVED, isName))
      return undefined
  }
  return `Expected no input or { runId, children, parks, removed }, got ${describe(stop)}.`
}

/** Explains what is wrong with the input of a `queueTool` signal; undefined if it is valid. */
export function queueToolProblem(tool: unknown): string | undefined {
  if (!isObject(tool)) return `Expected { toolCallId, name }, got ${describe(tool)}.`
  const { toolCallId, name } = tool
  if (messageIdProblem(toolCallId) !== undefined)
    return `Expected "toolCallId" to be an id of 1 to ${LIMITS.messageIdLength} bytes, got ${describe(toolCallId)}.`
  if (isName(name) && name.length <= LIMITS.nameLength) return undefined
  return `Expected "name" to be the name of a tool, got ${describe(name)}.`
}

/** Explains what is wrong with the input of a `setEnv` signal; undefined if it is valid. */
export function setEnvProblem(input: unknown): string | undefined {
  if (isObject(input) && hasNames(input)) return undefined
  return `Expected { names }, a list of names of variables, got ${describe(input)}.`
}

/** Explains what is wrong with the input of a `respond` update; undefined if it is valid. */
export function respondProblem(answer: unknown): string | undefined {
  if (!isObject(answer))
    return `Expected { id, approved }, { id, names } or { id, result }, got ${describe(answer)}.`
  if (!isName(answer['id'])) return `Expected "id" to be the id of a request, got ${describe(answer['id'])}.`
  const { approved, names, result } = answer
  const given = [approved, names, result].filter((value) => value !== undefined)
  if (given.length === 1 && (typeof approved === 'boolean' || hasNames(answer) || result === true))
    return undefined
  return 'Expected one of "approved", true or false, "names", a list of names, and "result", true.'
}

/** Explains what is wrong with the input of an update that names an item of the queue; undefined if it is valid. */
export function queuedItemProblem(input: unknown): string | undefined {
  if (isObject(input) && typeof input['id'] === 'string' && input['id'].length > 0) return undefined
  return `Expected { id }, the id of an item of the queue, got ${describe(input)}.`
}

/** The state does not carry names of variables, so their number is not bounded. */
function hasNames({ names }: Fields): boolean {
  return Array.isArray(names) && names.length > 0 && names.every(isName)
}

/** Explains what is wrong with the input of a `childReport` signal; undefined if it is valid. */
export function childReportProblem(report: unknown): string | undefined {
  if (!isObject(report)) return `Expected a child's report, got ${describe(report)}.`
  const { reference, report: number, invocations, kind, messageId, closes } = report
  const isReport = isName(reference) && isWholeNumber(number, 1, Number.MAX_SAFE_INTEGER)
  const isKind = kind === 'result' || kind === 'failure' || kind === 'notice'
  const hasMessage = messageId === undefined || messageIdProblem(messageId) === undefined
  if (isReport && isKind && hasMessage && areCallIds(invocations) && isTypeOrMissing(closes, 'boolean'))
    return undefined
  return 'Expected { reference, report, invocations, kind, messageId, closes }.'
}

function isTypeOrMissing(value: unknown, type: 'boolean' | 'string'): boolean {
  return value === undefined || typeof value === type
}

/** Their number is bounded, because each continue-as-new carries them. */
function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length <= LIMITS.startNames && value.every(isName)
}

/** Names the kind of a value, never its content: these sentences reach logs and events (T5). */
function describe(value: unknown): string {
  if (isObject(value) && value['undecodable'] === true) return 'a payload that cannot be decoded'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'string')
    return value.length === 0 ? 'an empty text' : `a text of ${value.length} characters`
  return typeof value
}

/** The required fields of each kind of operation on another thread. */
const FITS: Readonly<Record<OutboundOperation['kind'], (operation: Fields) => boolean>> = {
  queue_message: ({ id, role }) => isId(id) && (role === 'user' || role === 'assistant'),
  queue_tool: ({ id, name }) => queueToolProblem({ toolCallId: id, name }) === undefined,
  schedule_effect: ({ id, dueAt }) => isId(id) && Number.isFinite(dueAt),
  remove_effect: ({ id }) => isId(id),
  remove_queued: ({ id }) => isId(id),
  set_env: () => true,
  terminate: () => true,
}

/** Explains what is wrong with the input of an `operations` signal; undefined if all of its operations are valid. */
export function operationsProblem(input: unknown): string | undefined {
  const operations = isObject(input) ? input['operations'] : undefined
  if (Array.isArray(operations) && operations.length <= LIMITS.outboundSignals && operations.every(fits))
    return undefined
  return `Expected { operations }, a list of at most ${LIMITS.outboundSignals} operations on another thread.`
}

function fits(operation: unknown): boolean {
  if (!isObject(operation)) return false
  const { kind } = operation
  // This version must not apply a kind of a later one.
  return (
    typeof kind === 'string' &&
    Object.hasOwn(FITS, kind) &&
    FITS[kind as OutboundOperation['kind']](operation)
  )
}

function isId(value: unknown): boolean {
  return messageIdProblem(value) === undefined
}

/** Explains what is wrong with `reopened` of a start input; undefined if it is valid. */
export function reopenedProblem(reopened: unknown): string | undefined {
  if (!isObject(reopened)) return 'Expected "reopened" to be the state of a lost thread.'
  const wrong = Object.entries(CHECKS).find(([field, isRight]) => !isRight(reopened[field]))
  return wrong === undefined
    ? undefined
    : `Expected "reopened.${wrong[0]}" to be ids and numbers of a thread.`
}

const CHECKS: Readonly<Record<keyof ReopenedThread, (value: unknown) => boolean>> = {
  agent: isName,
  runs: isCount,
  settles: isCount,
  reports: isCount,
  items: isCount,
  children: isCount,
  side: (value) => value === undefined || isSide(value),
  stopped: (value) => value === undefined || value === true,
  activated: (value) => isListOf(value, 2, isSide),
  invocations: areCallIds,
  effects: (value) => isListOf(value, LIMITS.effects, isEffect),
  open: (value) => isListOf(value, LIMITS.openChildren, isChild),
  deferred: (value) => isListOf(value, LIMITS.openChildren, isDeferred),
  groups: (value) => isListOf(value, LIMITS.openChildren, isGroup),
  request: (value) =>
    value === undefined || (isObject(value) && isName(value['id']) && isCount(value['requestedAt'])),
  report: (value) => value === undefined || isReport(value),
  lastRun: (value) =>
    value === undefined || (isObject(value) && isName(value['runId']) && isName(value['reason'])),
}

function isListOf(value: unknown, most: number, isOne: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length <= most && value.every(isOne)
}

function isCount(value: unknown): boolean {
  return isWholeNumber(value, 0, Number.MAX_SAFE_INTEGER)
}

function isSide(value: unknown): boolean {
  return value === 'a' || value === 'b'
}

function isEffect(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && isName(value[0]) && isCount(value[1])
}

function isChild(value: unknown): boolean {
  if (!isObject(value)) return false
  const { reference, resumable, invocations, reports }: Fields = value
  return isName(reference) && typeof resumable === 'boolean' && areCallIds(invocations) && isCount(reports)
}

function isDeferred(value: unknown): boolean {
  if (!isObject(value)) return false
  const { requestId, callId, child, requestedAt, supplied }: Fields = value
  if (!isName(requestId) || !isName(callId) || !isCount(requestedAt) || typeof supplied !== 'boolean')
    return false
  if (!isObject(child)) return false
  const { reference, agent, messageId, resumable }: Fields = child
  return isName(reference) && isName(agent) && isName(messageId) && typeof resumable === 'boolean'
}

function isGroup(value: unknown): boolean {
  return (
    isObject(value) && isName(value['callId']) && isListOf(value['references'], LIMITS.openChildren, isName)
  )
}

function isReport(value: unknown): boolean {
  if (!isObject(value)) return false
  const { report, invocations, kind, messageId }: Fields = value
  if (!isCount(report) || !areCallIds(invocations)) return false
  if (kind !== 'result' && kind !== 'failure' && kind !== 'notice') return false
  return messageId === undefined || isCallId(messageId)
}

function isWholeNumber(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
}

/** A call id has the bound of a message id, because the state carries it too. */
function isCallId(value: unknown): value is string {
  return isName(value) && carriedBytes(value) <= LIMITS.messageIdLength
}

function areCallIds(value: unknown): boolean {
  return Array.isArray(value) && value.length <= LIMITS.invocations && value.every(isCallId)
}

/** Quotes, control characters and letters beyond ASCII take more than one byte each. */
function carriedBytes(id: string): number {
  return utf8Length(JSON.stringify(id)) - 2
}
