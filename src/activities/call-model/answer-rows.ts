import type { CallRequest } from '../../protocol/activities.js'
import { UNKNOWN_TOOL } from '../../protocol/activities.js'
import { callIdOf, nestedCallIdOf } from '../../protocol/ids.js'
import { LIMITS } from '../../protocol/limits.js'
import type { AttachmentRef, MessageStatus, ToolCallEntry } from '../../protocol/message.js'
import { toolPlanOf } from '../../protocol/plan.js'
import type { StopReason } from '../../protocol/status.js'
import { textDigest } from '../../model/context/answer-parts.js'
import type { AnswerDetails, StoredPart } from '../../model/context/answer-parts.js'
import type { AnswerPart, ModelAnswer, ModelFile, ModelToolCall } from '../../model/model-answer.js'
import { appendMessage } from '../../store/deliver-messages.js'
import type { NewMessage } from '../../store/message-row.js'
import { statusMetadata } from '../../store/status-line.js'
import type { Writer } from '../../store/store.js'
import { insertToolCalls } from '../../store/tool-calls.js'
import type { ModelStep } from './model-step.js'

/** What the model is asked to mend when it answers with nothing. */
export const EMPTY_ANSWER_TOOL = 'invalid_assistant_response'

/** A call of an answer, under our id. */
export type CallOfAnswer = ModelToolCall & { readonly id: string }

/** The calls of an answer; an answer with nothing becomes one that fails and says so. */
export function callsOf(step: ModelStep, answer: ModelAnswer): readonly CallOfAnswer[] {
  const { run, step: number, frame } = step.input
  const made = answer.toolCalls.slice(0, LIMITS.toolCallsPerAnswer)
  const empty = made.length === 0 && answer.files.length === 0 && answer.text.trim() === ''
  const calls = empty ? [{ name: EMPTY_ANSWER_TOOL, providerCallId: '', input: '{}' }] : made
  return calls.map((call, index) => ({
    ...call,
    name: call.name.slice(0, LIMITS.nameLength),
    id: frame === null ? callIdOf(run, number, index) : nestedCallIdOf(frame.callId, index),
  }))
}

/** The words and files of an answer and how they came to their end. */
export interface AnswerMessage {
  readonly content: string | null
  readonly reasoning: string | null
  readonly files?: readonly ModelFile[]
  readonly parts?: readonly AnswerPart[]
  readonly finishReason?: string
  readonly status: MessageStatus
  /** No words of a model: why it ended the run. */
  readonly ended?: StopReason
}

/** What an answer holds beside its words, under our names. */
export interface Made {
  readonly calls: readonly CallOfAnswer[]
  /** Its files, in their order. */
  readonly attachments: readonly AttachmentRef[]
}

/** The row of an answer; of a nested step below the call that it answers. */
export function answerRow(step: ModelStep, message: AnswerMessage, { calls, attachments }: Made): NewMessage {
  const { threadId, run, side, frame } = step.input
  return {
    id: step.messageId,
    threadId,
    role: roleOf(step),
    content: message.content,
    reasoningContent: message.reasoning,
    attachments,
    answerParts: detailsOf(step, message, { calls, attachments }),
    finishReason: message.finishReason ?? null,
    status: message.status,
    metadata:
      message.ended === undefined || frame !== null
        ? null
        : statusMetadata('run_ended', { reason: message.ended }),
    createdAt: step.now,
    parentId: step.parentId,
    depth: frame?.depth ?? 0,
    sentBy: 'model',
    toolCalls: calls.length === 0 ? null : calls.map(entryOf),
    prompt: step.prompt.name,
    side,
    run,
    step: step.input.step,
  }
}

/** The row of an answer and those of its calls. */
export async function appendAnswer(
  tx: Writer,
  step: ModelStep,
  row: NewMessage,
  calls: readonly CallOfAnswer[],
): Promise<void> {
  const { threadId, run, side, frame } = step.input
  await appendMessage(tx, row)
  await insertToolCalls(
    tx,
    calls.map((call, index) => ({
      thread_id: threadId,
      id: call.id,
      message_id: step.messageId,
      run,
      step: step.input.step,
      call_index: index,
      side,
      name: call.name,
      provider_call_id: call.providerCallId,
      arguments: call.input,
      parent_call_id: frame?.callId ?? null,
    })),
  )
}

/** What the next requests need to give the parts back as they came; null where words and calls say it all. */
function detailsOf(
  { content, prompt, log }: ModelStep,
  { content: text, reasoning, parts = [] }: AnswerMessage,
  made: Made,
): string | null {
  const isAsked = ({ kind, providerMetadata }: AnswerPart): boolean =>
    providerMetadata !== undefined ||
    kind === 'file' ||
    (kind === 'reasoning' && prompt.reasoning?.include === true)
  if (!parts.some(isAsked)) return null
  const model = log.model ?? prompt.model
  const details: AnswerDetails = {
    model,
    modelId: content.models[model]?.model ?? '',
    text: textDigest(text),
    reasoning: textDigest(reasoning),
    parts: parts.flatMap((part) => storedPart(part, made)),
  }
  return JSON.stringify(details)
}

function storedPart(part: AnswerPart, { calls, attachments }: Made): readonly StoredPart[] {
  if ('from' in part) return [part]
  const { kind, index, providerMetadata } = part
  const given = providerMetadata === undefined ? {} : { providerMetadata }
  if (kind === 'file') {
    const path = attachments[index]?.path
    return path === undefined ? [] : [{ kind, path, ...given }]
  }
  // Of too many calls only the first are made.
  const id = calls[index]?.id
  return id === undefined ? [] : [{ kind: 'call', id, ...given }]
}

/** What the workflow learns of the calls: names of the plan only (T5). */
export function requestsOf(step: ModelStep, calls: readonly CallOfAnswer[]): readonly CallRequest[] {
  return calls.map(({ id, name }) => ({ id, name: nameForWorkflow(step, name) }))
}

function nameForWorkflow({ content, prompt }: ModelStep, name: string): string {
  return toolPlanOf(content.plan, prompt.name, name) === undefined ? UNKNOWN_TOOL : name
}

function entryOf(call: CallOfAnswer): ToolCallEntry {
  return { id: call.id, type: 'function', function: { name: call.name, arguments: call.input } }
}

/** Stored roles say who wrote it: side A writes `assistant`, side B `user`. */
export function roleOf(step: ModelStep): 'assistant' | 'user' {
  return step.input.side === 'a' ? 'assistant' : 'user'
}
