import type { ModelError, ModelErrorKind } from '../../model/model-error.js'

const SENTENCES: Readonly<Record<ModelErrorKind, string>> = {
  rate_limited: 'its provider refuses more requests for now',
  unavailable: 'its provider could not be reached or failed',
  bad_request: 'its provider refused the request',
  authentication: 'it has no key, or its provider refused it',
  context_too_long: 'the conversation is too long for it',
  content_filter: 'its provider filtered the answer',
  stalled: 'it stopped answering',
  incomplete: 'its answer was cut before the end',
  too_large: 'its answer was too large',
  unknown: 'of an unknown error',
}

/** What the user reads when a model failed for good: the kind of the failure, never the provider's words. */
export function failureMessage(model: string, error: ModelError): string {
  return `The model "${model}" gave no answer because ${SENTENCES[error.kind]}. Send a message to try again.`
}
