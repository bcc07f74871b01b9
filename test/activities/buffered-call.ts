import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openBufferedState } from '../../src/activities/thread-state/buffered-thread-state.js'
import type { BufferedState, StateEffects } from '../../src/activities/thread-state/buffered-thread-state.js'
import { insertRun } from '../../src/store/runs.js'
import { openStore } from '../../src/store/store.js'
import type { Store } from '../../src/store/store.js'
import { insertThread } from '../../src/store/threads.js'
import { runCaps } from '../../src/worker/run-caps.js'
import { emptyRegistry } from '../support/empty-registry.js'

/** Milliseconds of the workflow in these tests; the store has microseconds. */
export const NOW = 1_700_000_000_000

export interface TestThread {
  readonly store: Store
  /** A call of run 1, step 2; the same one when no id is given. */
  readonly open: (callId?: string) => Promise<BufferedState>
  /** Commits as the result of a call is committed. */
  readonly commit: (call: BufferedState) => Promise<StateEffects>
}

/** Runs `work` with a thread `t` of its own, in a store in a temporary folder. */
export async function withThread(work: (thread: TestThread) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-state-'))
  const store = await openStore({ database: join(folder, 'threads.db'), blobs: join(folder, 'blobs') })
  try {
    await store.write(async (tx) => {
      await insertThread(tx, { id: 't', agent: 'support', user_id: 'anna', created_at: 7_000_000 })
      await insertRun(tx, { thread_id: 't', number: 1, trigger_kind: 'message', started_at: 8_000_000 })
    })
    await work({
      store,
      open: (callId = 'call_1_2_0') => openCall(store, callId),
      commit: (call) => store.write((tx) => call.commit(tx)),
    })
  } finally {
    await store.close()
    await rm(folder, { recursive: true, force: true })
  }
}

function openCall(store: Store, callId: string): Promise<BufferedState> {
  return openBufferedState({
    dependencies: { store, registry: emptyRegistry, caps: runCaps() },
    threadId: 't',
    agent: 'support',
    now: NOW,
    origin: { kind: 'call', id: callId, run: 1, step: 2, side: 'a' },
    content: null,
    execution: {
      flowId: 'run_1',
      currentSide: 'a',
      promptPath: ['desk'],
      stepCount: 2,
      sideAStepCount: 2,
      sideBStepCount: 0,
      abortSignal: new AbortController().signal,
    },
  })
}
