import { APICallError } from '@ai-sdk/provider'

import type { ModelError } from '../../model/model-error.js'
import { recordError } from '../../store/errors.js'
import type { Writer } from '../../store/store.js'
import { readThrown } from '../thrown.js'
import type { Thrown } from '../thrown.js'
import type { ModelStep } from './model-step.js'

/** Providers answer with whole pages of HTML, too. */
const MOST_OF_BODY = 4000

/** The providers' own words of the requests that failed in this attempt, for operators only (T5). */
export async function recordFailures(tx: Writer, step: ModelStep): Promise<void> {
  const { threadId } = step.input
  for (const { number, error } of step.log.failures) {
    const id = failureId(step, number)
    await recordError(tx, { id, threadId, at: step.now, type: error.kind, ...providerWords(error) })
  }
}

/** Under which id the store has the words of a failed request. */
export function failureId(
  { input, operationId }: Pick<ModelStep, 'input' | 'operationId'>,
  number: number,
): string {
  return `${input.threadId}:${operationId}:${number}`
}

/** What a provider said: its status, its message, and its whole answer where that says more. */
export function providerWords(error: ModelError): Thrown {
  const cause = error.cause instanceof Error ? error.cause : error
  const { message, stack } = readThrown(cause)
  if (!APICallError.isInstance(cause)) return { message, stack }
  const { statusCode, responseBody = '' } = cause
  const status = statusCode === undefined ? '' : `The provider answered ${statusCode}: `
  const body = responseBody.includes(message) && message !== '' ? '' : responseBody.slice(0, MOST_OF_BODY)
  return { message: [`${status}${message}`, body].filter((part) => part !== '').join('\n'), stack }
}
