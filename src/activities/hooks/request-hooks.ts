import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Side } from '../../protocol/plan.js'
import type { TranscriptMessage } from '../../store/messages/message-row.js'
import { kindOf } from '../thread-state/strict-json.js'
import { acceptRequest } from './accept-request.js'
import { acceptRows } from './accept-rows.js'
import type { HookBatch } from './hook-batch.js'
import { InvalidAnswer } from './hook-failure.js'

/** A hook ended the run on purpose: no model is called, and its text is a visible message. */
export class RequestBlocked extends Error {}

/** What hooks make of a request while it is built, in this order; rows and messages of the store stay as they are. */
export interface RequestHooks {
  afterSystemMessage(text: string): Promise<string>
  /**
   * Of the rows that the prompt sees, behind the last cut (T12). What the hooks before have put into the transcript is
   * at the end.
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
      // A request is built again for another model, or when it was too long: the step is still the same.
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

/** Deep enough that a hook which changes its list and then fails has changed nothing; files stay the same bytes. */
function copyOf(messages: LanguageModelV4Prompt): LanguageModelV4Prompt {
  return messages.map((message) =>
    typeof message.content === 'string'
      ? { ...message }
      : { ...message, content: message.content.map((part) => ({ ...part })) },
  ) as LanguageModelV4Prompt
}
