import { Worker } from '@temporalio/worker'
import type { WorkflowBundleOption } from '@temporalio/worker'

import { threadBundle } from './thread-bundle.js'

/** A history of a thread: as Temporal's client gives it, or the parsed content of a JSON file. */
export interface RecordedHistory {
  readonly workflowId: string
  readonly history: unknown
}

/** With which workflow code histories are replayed. */
export interface ReplayOptions {
  /** Workflow code that was bundled ahead of time. @default bundled once a process */
  readonly workflowBundle?: WorkflowBundleOption
}

/**
 * Checks that recorded histories replay on this version of the workflow code; needs no server.
 * @returns how many were replayed
 * @throws an error that names the workflow id and the event of each history that does not
 */
export async function assertReplays(
  histories: AsyncIterable<RecordedHistory> | Iterable<RecordedHistory>,
  options: ReplayOptions = {},
): Promise<number> {
  const workflowBundle = options.workflowBundle ?? (await threadBundle())
  const results = Worker.runReplayHistories(
    // The converter that decides is in the bundle.
    { workflowBundle },
    histories as Parameters<typeof Worker.runReplayHistories>[1],
  )
  let replayed = 0
  const problems: string[] = []
  for await (const { workflowId, error } of results) {
    replayed += 1
    if (error) problems.push(`${workflowId}: ${error.message}`)
  }
  if (problems.length === 0) return replayed
  throw new Error(
    `Expected ${replayed} histories to replay, got ${problems.length} that do not:\n${problems.join('\n')}`,
  )
}
