import { APICallError } from '@ai-sdk/provider'

import type { ModelAnswer } from '../../model/model-answer.js'
import type { ModelError, ModelErrorKind } from '../../model/model-error.js'
import type { CallModelAnswer, Usage } from '../../protocol/activities.js'
import type { NextRequest } from '../../protocol/event-codes.js'
import { fact, phaseFact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import type { StopReason } from '../../protocol/status.js'
import { recordError } from '../../store/errors.js'
import type { Writer } from '../../store/store.js'
import { stepScope } from '../scope.js'
import { readThrown } from '../thrown.js'
import type { Thrown } from '../thrown.js'
import { failureId } from './model-step.js'
import type { ModelStep } from './model-step.js'

export interface Answered {
  readonly answer: ModelAnswer
  /** From the beginning of the answered request to the last byte of its answer. */
  readonly milliseconds: number
}

export function completionFact(step: ModelStep, { answer, milliseconds }: Answered, usage: Usage): Fact {
  const payload = {
    ...step.log.newest,
    usage: { ...usage },
    finishReason: answer.finishReason,
    milliseconds,
    ...(answer.metadataLeftOut === 0 ? {} : { metadataLeftOut: answer.metadataLeftOut }),
    ...(answer.reasoning !== null && { reasoningCharacters: answer.reasoning.length }),
    ...(isShort(answer.responseId) && { responseId: answer.responseId }),
  }
  return fact('model.completed', payload, step.scope)
}

/** Ids of providers have some dozens of characters; the log takes no text that claims to be one. */
const RESPONSE_ID_LENGTH = 200

function isShort(id: string | null): id is string {
  return id !== null && id !== '' && id.length <= RESPONSE_ID_LENGTH
}

/**
 * The event of the newest request's failure. `next` is what follows it. The provider's own text is in the store,
 * under `errorId`.
 */
export function failureFact(
  step: ModelStep,
  { kind }: Pick<ModelError, 'kind'> | { readonly kind: 'interrupted' },
  next: NextRequest,
): Fact {
  const { scope, log } = step
  const words = kind === 'interrupted' ? {} : { errorId: failureId(step, log.number) }
  return fact('model.failed', { ...log.newest, error: kind, next, ...words }, scope)
}

/** The remaining events of a step that ends with its model call, and of its side. A nested step has none. */
export function lastFacts({ input }: Pick<ModelStep, 'input'>, reason: StopReason): readonly Fact[] {
  if (input.frame !== null) return []
  const scope = stepScope(input)
  const { side, step: number } = input
  return [
    ...([5, 6, 7] as const).map((phase) => phaseFact(phase, scope)),
    fact('step.completed', { step: number, reason }, scope),
    fact('side.completed', { side, reason }, scope),
  ]
}

/** A model that gave no answer, and the reason. */
export interface FailedModel {
  /** Name of its definition. */
  readonly model: string
  readonly error: ModelError
}

const SENTENCES: Readonly<Record<ModelErrorKind, string>> = {
  rate_limited: 'its provider refuses more requests for now',
  overloaded: 'its provider is overloaded for now',
  paused: 'its provider asks for a pause',
  out_of_credit: 'the credit of its account with the provider is used up',
  throttled: 'more requests wait for its provider than its limit admits',
  unavailable: 'its provider failed or could not be reached',
  bad_request: 'its provider refused the request',
  authentication: 'it has no key, or its provider refused it',
  context_too_long: 'the conversation is too long for it',
  content_filter: 'its provider filtered the answer',
  stalled: 'it stopped answering',
  incomplete: 'its answer was cut before the end',
  too_large: 'its answer was too large',
  unsupported_version: 'its provider is of another version of the AI SDK',
  not_registered: 'no worker has its definition',
  script_ended: 'its script has no more replies: add one to its scriptedModel, or find out why it was asked',
  unknown: 'of an unknown error',
}

/** For users only: a parent that waits for a result does not send a message. */
export const TRY_AGAIN = 'Send a message to try again.'

/**
 * The message that a user reads when no model gave an answer. It names the kinds of the failures, never the text of a
 * provider.
 */
export function failureMessage(failures: readonly FailedModel[]): string {
  const reasons = failures.map(({ model, error }, index) => {
    const because = `because ${reasonOf(error)}.`
    return index === 0
      ? `The model "${model}" gave no answer ${because}`
      : `Its fallback "${model}" gave none ${because}`
  })
  return [...reasons, TRY_AGAIN].join(' ')
}

function reasonOf({ kind, message }: ModelError): string {
  return kind === 'unsupported_version' ? `${SENTENCES[kind]} (${message})` : SENTENCES[kind]
}

/** Characters. Providers may answer with whole pages of HTML. */
const MAX_BODY = 4000

/** Stores the providers' own texts about the requests that failed in this attempt, for operators only (T5). */
export async function recordFailures(tx: Writer, step: ModelStep): Promise<void> {
  const { threadId } = step.input
  for (const { number, error } of step.log.failures) {
    const id = failureId(step, number)
    await recordError(tx, { id, threadId, at: step.now, type: error.kind, ...providerText(error) })
  }
}

/** The provider's own text: its status, its message, and its whole answer if that contains more. */
export function providerText(error: ModelError): Thrown {
  const cause = error.cause instanceof Error ? error.cause : error
  const { message, stack } = readThrown(cause)
  if (!APICallError.isInstance(cause)) return { message, stack }
  const { statusCode, responseBody = '' } = cause
  const status = statusCode === undefined ? '' : `The provider answered ${statusCode}: `
  const body = responseBody.includes(message) && message !== '' ? '' : responseBody.slice(0, MAX_BODY)
  return { message: [`${status}${message}`, body].filter((part) => part !== '').join('\n'), stack }
}

/** The phase events up to the persisted answer that are not emitted yet. A nested step has none. */
export function phasesToAnswer({ input, log, resumed }: ModelStep): readonly Fact[] {
  if (input.frame !== null) return []
  const scope = stepScope(input)
  const started = resumed || log.number > 0
  return ([2, 3, 4] as const)
    .filter((phase) => phase === 4 || !started)
    .map((phase) => phaseFact(phase, scope))
}

/** The event of the newest failure of this attempt; it was not told before, because nothing followed it. */
export function lastFailure(step: ModelStep): readonly Fact[] {
  const last = step.log.failures.at(-1)
  return last === undefined ? [] : [failureFact(step, last.error, 'none')]
}

/** The state in which an operation is kept: whether a provider may have received a request. */
export function stateOf({ resumed, log }: ModelStep): 'started' | 'drained' {
  return resumed || log.number > 0 ? 'started' : 'drained'
}

/** The usage that no answer has reported yet, as a part of an answer. */
export function sumUnreportedUsage({
  log,
}: ModelStep): Partial<Pick<CallModelAnswer & { type: 'end' }, 'usage'>> {
  const usage = log.sumUnreportedUsage()
  return usage === null ? {} : { usage }
}

const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cost: 0 }

/**
 * The answer of a step that ends the run. A nested step does not end the run: its message is the result of the outer
 * call.
 */
export function endOf(step: ModelStep, reason: StopReason): CallModelAnswer {
  if (step.input.frame === null)
    return { type: 'end', reason, outcome: 'failed', ...sumUnreportedUsage(step) }
  return { type: 'answered', text: false, calls: [], usage: step.log.sumUnreportedUsage() ?? NO_USAGE }
}
