import { defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client'
import type { ConnectionOptions } from '@temporalio/client'

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number]

/** Milliseconds that a last attempt has. */
const LAST_ATTEMPT = 500

/**
 * As the SDK's own retries, which may rest beyond the call's deadline, and then say "deadline exceeded". Here the last attempt
 * is made half a second before it, and the call ends with what that one met, such as "connect ECONNREFUSED".
 */
export const retryUntilDeadline: Interceptor = (options, nextCall) => {
  const retries = defaultGrpcRetryOptions()
  const rest = () => Number(options.deadline ?? Infinity) - LAST_ATTEMPT - Date.now()
  const interceptor = makeGrpcRetryInterceptor({
    retryableDecider: (attempt, status) => retries.retryableDecider(attempt, status) && rest() > 0,
    delayFunction: (attempt, status) => Math.min(retries.delayFunction(attempt, status), rest()),
  })
  return interceptor(options, nextCall)
}
