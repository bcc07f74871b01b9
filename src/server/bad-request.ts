import type { ThreadClient } from '../client/thread-client.js'
import { ConfigError } from '../protocol/errors.js'
import { ProblemError } from './problem-error.js'

/**
 * Runs what refuses a caller's own words with a ConfigError. The store is there before: what is wrong with that is no
 * fault of the caller, and not told to it.
 */
export async function asBadRequest<T>(client: ThreadClient, work: () => Promise<T>): Promise<T> {
  await client.find('')
  try {
    return await work()
  } catch (error) {
    if (ConfigError.isInstance(error)) throw new ProblemError(400, 'bad_request', error.problems.join(' '))
    throw error
  }
}
