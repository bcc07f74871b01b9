import { ModelError } from '../../model/model-error.js'
import type { ModelErrorKind } from '../../model/model-error.js'

/** Why one of the models that were asked gave no answer. */
export interface FailedModel {
  /** Name of its definition. */
  readonly model: string
  readonly error: ModelError
}

const SENTENCES: Readonly<Record<ModelErrorKind, string>> = {
  rate_limited: 'its provider refuses more requests for now',
  overloaded: 'its provider has too much to do for now',
  paused: 'its provider asks for a pause',
  out_of_credit: 'the credit of its account with the provider is used up',
  throttled: 'more requests are waiting for its provider than its limit lets through',
  unavailable: 'its provider could not be reached or failed',
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

/** For the user alone: a parent can do other things. */
export const TRY_AGAIN = 'Send a message to try again.'

/** What the user reads when no model gave an answer: the kinds of the failures, never the providers' words. */
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

/** Of a step whose worker has neither the model nor a fallback of it. */
export function notRegistered(model: string): FailedModel {
  const message = `No worker has the model "${model}".`
  return { model, error: new ModelError({ kind: 'not_registered', message, retryable: false }) }
}
