/**
 * The points other than those about a message: a request, the result of a tool call, a new thread.
 *
 * Owns: what each point gives to a hook and accepts from it (K-16).
 * Does not own: how hooks are called and what they share (hook-batch.ts).
 *
 * Invariant: a check throws InvalidAnswer, and never anything else, for what cannot be used.
 */
import type { LanguageModelV4Prompt } from '@ai-sdk/provider'

import type { HookedCall } from '../../definitions/hook.js'
import type { ToolResult } from '../../definitions/tool-result.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Side } from '../../protocol/plan.js'
import type { TranscriptMessage } from '../../store/messages/transcript.js'
import { findOperation, insertOperation } from '../../store/operations.js'
import type { Reader, Writer } from '../../store/store.js'
import { kindOf } from '../thread-state/strict-json.js'
import { InvalidAnswer } from './hook-call.js'
import type { HookBatch } from './hook-batch.js'
import type { Micros } from '../../protocol/time.js'
import { BLANK_ROW } from '../../model/context/transcript-row.js'
import type { MessageRole } from '../../protocol/message.js'
import { asFields, changeOf } from './hook-answers.js'

/** Thrown when a hook blocks a request: no model is called, and the hook's text becomes a visible message. */
export class RequestBlocked extends Error {}

/** The hooks that run while a request is built, in this order. They do not change stored rows. */
interface RequestHooks {
  afterSystemMessage(text: string): Promise<string>
  /**
   * Filters the rows that the prompt sees, behind the last cut (T12). Messages that earlier hooks injected are at the
   * end.
   */
  filterMessages(rows: readonly TranscriptMessage[]): Promise<readonly TranscriptMessage[]>
  /** @throws RequestBlocked */
  prefilter(messages: LanguageModelV4Prompt): Promise<LanguageModelV4Prompt>
}

export function requestHooks(
  batch: HookBatch,
  { side, run }: { readonly side: Side; readonly run: number },
): RequestHooks {
  const texts = new Map<string, string>()
  return {
    async afterSystemMessage(text) {
      // A request is rebuilt for another model or when it was too long, but the hook runs once for each text of a step.
      const known = texts.get(text)
      if (known !== undefined) return known
      const { value } = await batch.run('after_system_message', text, {
        interruptible: true,
        call: (execute, state, value) => execute(state, value),
        accept: acceptText,
      })
      texts.set(text, value)
      return value
    },
    async filterMessages(rows) {
      const known = new Set(rows.map(({ id }) => id))
      const added = batch.injected
        .filter(({ id }) => !known.has(id))
        .map((message) => ({ ...message, side, run, answer_parts: null, sent_by: null }))
      const all = added.length === 0 ? rows : [...rows, ...added]
      const { value } = await batch.run('filter_messages', all, {
        interruptible: true,
        call: (execute, state, value) => execute(state, structuredClone(value)),
        accept: (answer) => acceptRows(answer, all, run),
      })
      return value
    },
    async prefilter(messages) {
      const { value, failure } = await batch.run('prefilter_llm_history', messages, {
        interruptible: true,
        call: (execute, state, value) => execute(state, copyOf(value)),
        accept: acceptRequest,
        codeOf: (error) => (isBlocking(error) ? 'blocked' : 'threw'),
        endsWith: ({ code }) => code === 'blocked',
      })
      if (failure !== null) throw new RequestBlocked(textOf(failure.error), { cause: failure.error })
      return value
    },
  }
}

/** The hooks around a compaction. They do not change stored rows. */
interface CompactionHooks {
  /** What the summary must keep; null: nothing in particular. */
  before(leaves: readonly TranscriptMessage[]): Promise<string | null>
  after(summary: string | null): Promise<string | null>
}

export function compactionHooks(batch: HookBatch): CompactionHooks {
  return {
    async before(leaves) {
      const { value } = await batch.run<'before_compaction', string | null>('before_compaction', null, {
        interruptible: true,
        call: (execute, state) => execute(state, structuredClone(leaves)),
        accept: (answer) => acceptBounded(answer, { characters: LIMITS.compactionFocus }),
      })
      return value
    },
    async after(summary) {
      const { value } = await batch.run<'after_compaction', string | null>('after_compaction', summary, {
        interruptible: true,
        call: (execute, state, current) => execute(state, current),
        accept: (answer) => acceptBounded(answer, { characters: LIMITS.summaryBytes }),
      })
      return value
    },
  }
}

function acceptBounded(answer: unknown, { characters }: { readonly characters: number }): string | undefined {
  const text = acceptText(answer)
  if (text !== undefined && Buffer.byteLength(text) > characters)
    throw new InvalidAnswer(`Expected a text of at most ${characters} bytes, got ${Buffer.byteLength(text)}.`)
  return text
}

function acceptText(answer: unknown): string | undefined {
  if (answer === undefined || answer === null || typeof answer === 'string') return answer ?? undefined
  throw new InvalidAnswer(`Expected the system text, got ${kindOf(answer)}.`)
}

function isBlocking(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'block' in error && error.block === true
}

function textOf(error: unknown): string {
  const words = typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : ''
  return words.trim() === '' ? 'The request was blocked.' : words
}

/** Copies the list, so that a hook that changes it and then fails has no effect. Bytes of files are not copied. */
function copyOf(messages: LanguageModelV4Prompt): LanguageModelV4Prompt {
  return messages.map((message) =>
    typeof message.content === 'string'
      ? { ...message }
      : { ...message, content: message.content.map((part) => ({ ...part })) },
  ) as LanguageModelV4Prompt
}

const ROLES: readonly MessageRole[] = ['system', 'user', 'assistant', 'tool']

/**
 * Accepts the rows of one request. A field that is left out keeps the value of the stored row with the same id; a row with
 * any other id is new. @throws InvalidAnswer
 */
function acceptRows(
  answer: unknown,
  before: readonly TranscriptMessage[],
  run: number,
): readonly TranscriptMessage[] | undefined {
  if (answer === undefined || answer === null) return undefined
  if (!Array.isArray(answer)) throw new InvalidAnswer(`Expected a list of messages, got ${kindOf(answer)}.`)
  const known = new Map(before.map((row) => [row.id, row]))
  return answer.map((given: unknown, index) =>
    acceptRow(asFields(given, `messages[${index}]`), known, { run, index }),
  )
}

function acceptRow(
  given: { readonly [field: string]: unknown },
  known: ReadonlyMap<string, TranscriptMessage>,
  { run, index }: { readonly run: number; readonly index: number },
): TranscriptMessage {
  const id = typeof given['id'] === 'string' ? given['id'] : `hook_row_${index}`
  const base = known.get(id)
  const role = ROLES.find((one) => one === (given['role'] ?? base?.role))
  if (role === undefined)
    throw new InvalidAnswer(`Expected messages[${index}] to have a role of ${ROLES.join(', ')}.`)
  const row: TranscriptMessage = { ...BLANK_ROW, run, ...base, id, role }
  return {
    ...row,
    ...changeOf(given, row),
    name: textField(given, row, 'name'),
    tool_calls: textField(given, row, 'tool_calls'),
    tool_call_id: textField(given, row, 'tool_call_id'),
    reasoning_content: textField(given, row, 'reasoning_content'),
    tool_status: given['tool_status'] === undefined ? row.tool_status : toolStatus(given['tool_status']),
  }
}

function textField<Name extends 'name' | 'tool_calls' | 'tool_call_id' | 'reasoning_content'>(
  given: { readonly [field: string]: unknown },
  row: TranscriptMessage,
  name: Name,
): string | null {
  const value = given[name]
  if (value === undefined) return row[name]
  if (value === null || typeof value === 'string') return value
  throw new InvalidAnswer(`Expected ${name} of a message to be a text or null, got ${kindOf(value)}.`)
}

function toolStatus(value: unknown): TranscriptMessage['tool_status'] {
  if (value === null || value === 'success' || value === 'error') return value
  throw new InvalidAnswer('Expected tool_status of a message to be success, error or null.')
}

/**
 * Accepts a whole request for the provider. Each tool call must have its result: providers refuse one without the other
 * (K-17), and no later step pairs them. @throws InvalidAnswer
 */
function acceptRequest(answer: unknown): LanguageModelV4Prompt | undefined {
  if (answer === undefined || answer === null) return undefined
  if (!Array.isArray(answer)) throw new InvalidAnswer(`Expected a list of messages, got ${kindOf(answer)}.`)
  if (answer.length === 0)
    throw new InvalidAnswer('Expected a request with a message in it, got an empty list.')
  const calls: unknown[] = []
  const results: unknown[] = []
  for (const [index, given] of answer.entries()) {
    for (const part of partsOf(asFields(given, `messages[${index}]`), index)) {
      if (part['type'] === 'tool-call') calls.push(part['toolCallId'])
      if (part['type'] === 'tool-result') results.push(part['toolCallId'])
    }
  }
  const alone = [
    ...calls.filter((id) => !results.includes(id)),
    ...results.filter((id) => !calls.includes(id)),
  ]
  if (alone.length > 0)
    throw new InvalidAnswer(`Expected each tool call with its result, got ${alone.length} of them alone.`)
  // The parts that the runtime depends on are checked above.
  return answer as LanguageModelV4Prompt
}

function partsOf(
  { role, content }: { readonly [field: string]: unknown },
  index: number,
): readonly { readonly [field: string]: unknown }[] {
  if (!ROLES.some((one) => one === role))
    throw new InvalidAnswer(`Expected messages[${index}] to have a role of ${ROLES.join(', ')}.`)
  if (role === 'system' ? typeof content !== 'string' : !Array.isArray(content))
    throw new InvalidAnswer(
      `Expected content of messages[${index}] to be ${role === 'system' ? 'a text' : 'a list of parts'}.`,
    )
  if (!Array.isArray(content)) return []
  return content.map((part: unknown) => asFields(part, `content of messages[${index}] as a list of parts`))
}

/** The hooks of a tool call's result, in this order. */
export interface ToolHooks {
  /** Runs the hooks of a success or of a failure. Null erases the call and its result from the transcript. */
  afterCall(result: ToolResult): Promise<ToolResult | null>
  /** Runs right before the result becomes a row. */
  beforeStore(result: ToolResult): Promise<ToolResult>
}

interface Hooked {
  readonly call: HookedCall
  /** Explains what is wrong with a result; null if nothing is. */
  readonly problemOf: (result: unknown) => string | null
}

export function toolHooks(batch: HookBatch, { call, problemOf }: Hooked): ToolHooks {
  function accept(answer: unknown): ToolResult | undefined {
    if (answer === undefined || answer === null) return undefined
    const problem = problemOf(answer)
    if (problem !== null) throw new InvalidAnswer(problem)
    // Checked above.
    return answer as ToolResult
  }
  return {
    async afterCall(result) {
      const point = result.status === 'success' ? 'after_tool_call_success' : 'after_tool_call_failure'
      const { value } = await batch.run<typeof point, ToolResult | null>(point, result, {
        call: (execute, state, current) => current && execute(state, call, { ...current }),
        accept: (answer) => (answer === null ? null : accept(answer)),
        ends: (current) => current === null,
      })
      return value
    },
    async beforeStore(result) {
      const { value } = await batch.run('before_store_tool_result', result, {
        call: (execute, state, current) => execute(state, call, { ...current }),
        accept,
      })
      return value
    },
  }
}

/** The id of the operation that records the run of a new thread's hooks, which take effect once. */
const THREAD_CREATED = 'hook_thread_created'

interface NewThread {
  readonly threadId: string
  readonly run: number
  /** The trigger of the run; null after its first step. */
  readonly trigger: string | null
}

/** Tests whether the thread begins with this step. A thread that ran before its agent had such a hook is not new. */
export async function isNewThread(db: Reader, { threadId, run, trigger }: NewThread): Promise<boolean> {
  if (run !== 1 || trigger === null) return false
  return (await findOperation(db, threadId, THREAD_CREATED)) === null
}

export async function runThreadCreated(batch: HookBatch): Promise<void> {
  await batch.run('after_thread_created', null, { call: (execute, state) => execute(state) })
}

/** Records that the hooks have run, in the transaction that commits their writes. */
export async function markThreadCreated(tx: Writer, threadId: string, now: Micros): Promise<void> {
  await insertOperation(tx, {
    thread_id: threadId,
    id: THREAD_CREATED,
    kind: 'hook',
    state: 'finished',
    attempt: 1,
    started_at: now,
    finished_at: now,
  })
}
