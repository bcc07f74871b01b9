import { recordError } from '../../store/errors.js'
import type { Writer } from '../../store/store.js'
import { readThrown } from '../thrown.js'
import type { ModelStep } from './model-step.js'

/** The providers' own words of the requests that failed in this attempt, for operators only (T5). */
export async function recordFailures(tx: Writer, { input, operationId, now, log }: ModelStep): Promise<void> {
  const { threadId } = input
  for (const { number, error } of log.failures) {
    const { message, stack } = readThrown(error.cause instanceof Error ? error.cause : error)
    const id = `${threadId}:${operationId}:${number}`
    await recordError(tx, { id, threadId, at: now, type: error.kind, message, stack })
  }
}
