import type { Client } from '@temporalio/client'

import { ThreadClient } from '../client/index.js'
import type { Registry } from '../definitions/registry.js'
import type { StoreOptions } from '../store/store-location.js'

interface TestThreads {
  readonly client: Client
  readonly taskQueue: string
  readonly store: StoreOptions
  readonly continueAsNewEveryStep: boolean
}

/** A client of the test server; its threads continue as new after every step, if that was asked for. */
export function testThreads<R extends Registry>(options: TestThreads): ThreadClient<R> {
  const { continueAsNewEveryStep, ...connection } = options
  if (!continueAsNewEveryStep) return new ThreadClient<R>(connection)
  return new OftenContinuedThreads<R>(connection)
}

class OftenContinuedThreads<R extends Registry> extends ThreadClient<R> {
  override create(options: Parameters<ThreadClient<R>['create']>[0]): ReturnType<ThreadClient<R>['create']> {
    return super.create({ ...options, limits: { ...options.limits, historyEvents: 0 } })
  }
}
