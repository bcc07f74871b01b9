/** Workflows of a user, as tools of the tests start them. */
import {
  ApplicationFailure,
  CancellationScope,
  condition,
  defineSignal,
  isCancellation,
  proxyActivities,
  setHandler,
  sleep,
} from '@temporalio/workflow'

export const finish = defineSignal('finish')

/** What it is told to return, after so many milliseconds; without them once it is signalled. */
export async function refund({ orderId, after }: { orderId: string; after?: number }): Promise<unknown> {
  let isFinished = false
  setHandler(finish, () => void (isFinished = true))
  try {
    await (after === undefined ? condition(() => isFinished) : sleep(after))
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => sleep(10))
    throw error
  }
  return { orderId, refunded: true }
}

export async function listed(orderId: string, euros: number): Promise<unknown> {
  return { order: { orderId, euros } }
}

export async function nothing(): Promise<void> {}

export async function large({ size }: { size: number }): Promise<string> {
  return 'x'.repeat(size)
}

export async function fails({ how }: { how: string }): Promise<void> {
  if (how === 'permanent') throw ApplicationFailure.nonRetryable('The order is gone.', 'OrderGone')
  if (how === 'category') throw ApplicationFailure.create({ message: 'Slower.', type: 'rate_limit' })
  if (how === 'activity') {
    const { book } = proxyActivities<{ book(): Promise<void> }>({
      ...{ startToCloseTimeout: '1 minute', retry: { maximumAttempts: 1 } },
    })
    await book()
  }
  if (how === 'slow activity') {
    const { hang } = proxyActivities<{ hang(): Promise<void> }>({
      ...{ startToCloseTimeout: 100, retry: { maximumAttempts: 1 } },
    })
    await hang()
  }
  throw ApplicationFailure.retryable('It did not work.')
}

export async function waitsPending(): Promise<unknown> {
  return { status: 'pending' }
}
