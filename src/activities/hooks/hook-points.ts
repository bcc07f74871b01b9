import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { HookedCall } from '../../definitions/hook.js'
import type { ToolResult } from '../../definitions/tool-result.js'
import type { Side } from '../../protocol/plan.js'
import type { TranscriptMessage } from '../../store/messages/message-row.js'
import { findOperation, insertOperation } from '../../store/operations.js'
import type { Reader, Writer } from '../../store/store.js'
import { kindOf } from '../thread-state/strict-json.js'
import { acceptRequest, acceptRows } from './hook-answers.js'
import { InvalidAnswer } from './hook-batch.js'
import type { HookBatch } from './hook-batch.js'
import type { Micros } from '../../protocol/time.js'

/** A hook ended the run on purpose: no model is called, and the hook's text becomes a visible message. */
export class RequestBlocked extends Error {}

/** The hooks of a request while it is built, in this order. Rows of the store stay as they are. */
interface RequestHooks {
  afterSystemMessage(text: string): Promise<string>
  /**
   * Gets the rows that the prompt sees, behind the last cut (T12). Messages that hooks have injected before are at the
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
      // A request is built again for another model, or when it was too long; the hook runs once for a text of the step.
      const known = texts.get(text)
      if (known !== undefined) return known
      const { value } = await batch.run('after_system_message', text, {
        cut: true,
        ask: (execute, state, value) => execute(state, value),
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
        cut: true,
        ask: (execute, state, value) => execute(state, structuredClone(value)),
        accept: (answer) => acceptRows(answer, all, run),
      })
      return value
    },
    async prefilter(messages) {
      const { value, failure } = await batch.run('prefilter_llm_history', messages, {
        cut: true,
        ask: (execute, state, value) => execute(state, copyOf(value)),
        accept: acceptRequest,
        codeOf: (error) => (isBlocking(error) ? 'blocked' : 'threw'),
        endsWith: ({ code }) => code === 'blocked',
      })
      if (failure !== null) throw new RequestBlocked(textOf(failure.error), { cause: failure.error })
      return value
    },
  }
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

/** A copy, so that a hook that changes its list and then fails has changed nothing. Bytes of files are not copied. */
function copyOf(messages: LanguageModelV4Prompt): LanguageModelV4Prompt {
  return messages.map((message) =>
    typeof message.content === 'string'
      ? { ...message }
      : { ...message, content: message.content.map((part) => ({ ...part })) },
  ) as LanguageModelV4Prompt
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
  /** Says what is wrong with a result, or null. */
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
        ask: (execute, state, current) => current && execute(state, call, { ...current }),
        accept: (answer) => (answer === null ? null : accept(answer)),
        ends: (current) => current === null,
      })
      return value
    },
    async beforeStore(result) {
      const { value } = await batch.run('before_store_tool_result', result, {
        ask: (execute, state, current) => execute(state, call, { ...current }),
        accept,
      })
      return value
    },
  }
}

/** The id of the operation that says that the hooks of a new thread have run: they take effect once. */
const THREAD_CREATED = 'hook_thread_created'

interface NewThread {
  readonly threadId: string
  readonly run: number
  /** What started the run; null after its first step. */
  readonly trigger: string | null
}

/** Whether the thread begins here. A thread that ran before its agent had such a hook is not new. */
export async function isNewThread(db: Reader, { threadId, run, trigger }: NewThread): Promise<boolean> {
  if (run !== 1 || trigger === null) return false
  return (await findOperation(db, threadId, THREAD_CREATED)) === null
}

export async function runThreadCreated(batch: HookBatch): Promise<void> {
  await batch.run('after_thread_created', null, { ask: (execute, state) => execute(state) })
}

/** Records that the hooks have run, in the transaction that commits what they did. */
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
