/** What is said of an answer that its limit of length cut off, to whoever would take it for a whole one. */
import { parseObject } from '../definitions/tool-arguments.js'
import { CUT_OFF } from '../protocol/message.js'
import { findMessage } from '../store/read-messages.js'
import type { Store } from '../store/store.js'
import type { ToolCallRecord } from '../store/tool-calls.js'
import { failed } from './execute-tool/call-result.js'
import type { CallResult } from './execute-tool/call-result.js'

const NOTE = '(The answer ends here, because it reached its limit of length.)'

const CUT_ARGUMENTS =
  'The arguments of this call were cut off, because the answer reached its limit of length, and the call was not made. ' +
  'Call the tool again with shorter arguments, or do the work in several calls.'

const CUT_EMPTY =
  'Your last answer reached its limit of length before it said anything. Answer with a short text, or call a tool.'

/** The words, with a note where they are cut off. */
export function saysIfCut({ content, isCut }: { readonly content: string; readonly isCut: boolean }): string {
  return isCut ? `${content}\n\n${NOTE}` : content
}

/** A result that says what a cut made of the call, where that is why it failed. */
export async function saysIfCallIsCut(
  store: Store,
  { thread_id: threadId, message_id: messageId, arguments: args }: ToolCallRecord,
  result: CallResult,
): Promise<CallResult> {
  const isEmpty = result.errorCode === 'empty_answer'
  if (!isEmpty && (result.errorCode !== 'invalid_arguments' || parseObject(args).ok)) return result
  const answer = await store.read((db) => findMessage(db, threadId, messageId))
  if (answer?.finish_reason !== CUT_OFF) return result
  return isEmpty ? failed(CUT_EMPTY, 'empty_answer') : failed(CUT_ARGUMENTS, 'arguments_cut')
}
