import type { ActivityDependencies } from '../../src/activities/activity.js'
import { openBufferedState } from '../../src/activities/thread-state/buffered-state.js'
import type {
  BufferedState,
  BufferedStateOptions,
  StateEffects,
} from '../../src/activities/thread-state/buffered-state.js'
import type { Registry } from '../../src/definitions/known-definitions.js'
import type { Store } from '../../src/store/store.js'
import { insertRun } from '../../src/store/threads/runs.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { runCaps } from '../../src/definitions/plan/build-plan.js'
import { emptyRegistry } from '../support/empty-registry.js'
import { withStore } from '../support/temporary-store.js'

/** Milliseconds of the workflow in these tests; the store has microseconds. */
export const NOW = 1_700_000_000_000

/** 32 bytes, as hex. */
const SECRET_KEY = '1f'.repeat(32)

export interface TestThread {
  readonly store: Store
  readonly dependencies: ActivityDependencies
  /** A call of run 1, step 2; the same one when no id is given. */
  readonly open: (callId?: string, patch?: Partial<BufferedStateOptions>) => Promise<BufferedState>
  /** Commits as the result of a call is committed. */
  readonly commit: (call: BufferedState) => Promise<StateEffects>
}

export interface TestWorker {
  readonly registry?: Registry
  readonly env?: Readonly<Record<string, string>>
  readonly secretKey?: string
}

/** Runs `work` with a thread `t` of its own, in a store in a temporary folder. */
export async function withThread(
  work: (thread: TestThread) => Promise<void>,
  { registry = emptyRegistry, env = {}, secretKey = SECRET_KEY }: TestWorker = {},
): Promise<void> {
  await withStore(
    async (store) => {
      const dependencies = { store, registry, env, caps: runCaps() }
      await store.write(async (tx) => {
        await insertThread(tx, { id: 't', agent: 'support', user_id: 'anna', created_at: 7_000_000 })
        await insertRun(tx, { thread_id: 't', number: 1, trigger_kind: 'message', started_at: 8_000_000 })
      })
      await work({
        store,
        dependencies,
        open: (callId = 'call_1_2_0', patch = {}) =>
          openBufferedState({ ...callOptions(dependencies, callId), ...patch }),
        commit: (call) => store.write((tx) => call.commit(tx)),
      })
    },
    { secretKey },
  )
}

/** An effect, which runs outside of any run. */
export function effectOptions(id: string): Partial<BufferedStateOptions> {
  return {
    execution: null,
    origin: { kind: 'effect', id, name: 'remind', run: null, step: null, side: null },
  }
}

function callOptions(dependencies: ActivityDependencies, callId: string): BufferedStateOptions {
  return {
    dependencies,
    threadId: 't',
    agent: 'support',
    now: NOW,
    origin: { kind: 'call', id: callId, run: 1, step: 2, side: 'a' },
    content: null,
    execution: {
      flowId: 'run_1',
      stepId: 'step_1_2',
      currentSide: 'a',
      promptPath: ['desk'],
      stepCount: 2,
      sideAStepCount: 2,
      sideBStepCount: 0,
      abortSignal: new AbortController().signal,
    },
  }
}
