import type { ThreadHandle } from '../../../src/client/index.js'
import { until } from '../../support/until.js'

/** Of each behaviour, by its name: what makes it happen, and the ids of its threads. */
export type Scenarios = Readonly<Record<string, () => Promise<readonly string[]>>>

const DEADLINE = { timeout: '80 seconds' } as const
const PATIENCE = 80_000

/** Nothing is queued and nothing runs. */
export async function idle(thread: ThreadHandle): Promise<void> {
  await thread.waitUntilIdle(DEADLINE)
}

export async function closed(thread: ThreadHandle): Promise<void> {
  await until(
    'the workflow to close',
    async () => (await thread.workflow.describe()).status.name !== 'RUNNING',
    PATIENCE,
  )
}

/** The id of the one request that a thread waits for. */
export async function requestOf(thread: ThreadHandle): Promise<string> {
  await until('a request', async () => (await thread.snapshot()).pending.length === 1, PATIENCE)
  const [request] = (await thread.snapshot()).pending
  return request?.id ?? ''
}

/** The thread and all below it. */
export async function familyOf(thread: ThreadHandle): Promise<readonly string[]> {
  return idsOf(await thread.tree())
}

type Tree = Awaited<ReturnType<ThreadHandle['tree']>>

function idsOf({ threadId, children }: Tree): readonly string[] {
  return [threadId, ...children.flatMap(idsOf)]
}

export async function doing(thread: ThreadHandle, what: string): Promise<void> {
  await until(
    `the thread to do: ${what}`,
    async () => (await thread.snapshot()).run?.doing?.startsWith(what) === true,
    PATIENCE,
  )
}
