import type { Client } from '@temporalio/client'
import { ThreadClient } from '../client/index.js'
import type { OnNotice, ThreadHandle } from '../client/index.js'
import { warnOfNotice } from '../client/waiting/notices.js'
import type { Registry } from '../definitions/known-definitions.js'
import { SIGNALS } from '../protocol/messages.js'
import type { StoreOptions } from '../store/store-location.js'

interface TestThreads {
  readonly client: Client
  readonly taskQueue: string
  readonly store: StoreOptions
  readonly continueAsNewEveryStep: boolean
  readonly timeSkipping: boolean
}

/** A client of the test server; its threads continue as new after every step, if that was asked for. */
export function testThreads<R extends Registry>(options: TestThreads): ThreadClient<R> {
  const { continueAsNewEveryStep, timeSkipping, ...connection } = options
  return new TestThreadClient<R>(connection, { continueAsNewEveryStep, timeSkipping })
}

/** The kit has a worker of its own: that it answers late is no news of a green test. */
const tellInTests: OnNotice = (notice) => {
  if (notice.code !== 'no_answer') warnOfNotice(notice)
}

class TestThreadClient<R extends Registry> extends ThreadClient<R> {
  readonly #mode: Pick<TestThreads, 'continueAsNewEveryStep' | 'timeSkipping'>

  constructor(
    connection: ConstructorParameters<typeof ThreadClient>[0],
    mode: Pick<TestThreads, 'continueAsNewEveryStep' | 'timeSkipping'>,
  ) {
    super({ ...connection, onNotice: tellInTests })
    this.#mode = mode
  }

  override create(options: Parameters<ThreadClient<R>['create']>[0]): ReturnType<ThreadClient<R>['create']> {
    if (!this.#mode.continueAsNewEveryStep) return super.create(options)
    return super.create({ ...options, limits: { ...options.limits, historyEvents: 0 } })
  }

  override get(threadId: string): ThreadHandle<R> {
    const thread = super.get(threadId)
    if (!this.#mode.timeSkipping) return thread
    const respond = thread.respond.bind(thread)
    // The same handle, for its getters must stay getters.
    return Object.assign(thread, {
      respond: (...given: Parameters<typeof respond>) => nudged(thread, () => respond(...given)),
    })
  }
}

/** Soon, and yet not before an Update that goes through at once. */
const NUDGE_AFTER = 300

/**
 * The time-skipping server hands an Update to a worker without a cache again and again, and core passes it on only with
 * a new event: a stop of no run is one, and changes nothing.
 */
async function nudged<T>(thread: ThreadHandle, work: () => Promise<T>): Promise<T> {
  const nudge = (): void => {
    // A thread that has closed meanwhile needs none.
    thread.workflow.signal(SIGNALS.stop, { runId: 'none' }).catch(() => undefined)
  }
  const timer = setInterval(nudge, NUDGE_AFTER)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}
