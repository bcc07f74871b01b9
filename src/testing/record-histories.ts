import type { ThreadHandle, ThreadTree } from '../client/index.js'
import { fetchHistories } from './fetch-histories.js'
import type { FetchedRun } from './fetch-histories.js'
import { writeHistories } from './history-files.js'

/** What is recorded beside the thread's own runs. */
export interface RecordHistoriesOptions {
  /** Those of all threads that it started, and that they started. @default false */
  readonly children?: boolean
}

/**
 * Writes the histories of a thread into one file, of all its Temporal runs over continue-as-new: to be kept, and replayed by
 * `assertReplays` on every later version. They hold no content, and the thread may be in the middle of its work.
 *
 * @param file ends with `.json`, or with `.json.gz` to be compressed; written anew if it is there
 * @returns how many runs were recorded
 * @throws an error if Temporal has no history of the thread any more
 */
export async function recordHistories(
  thread: Pick<ThreadHandle, 'threadId' | 'workflow' | 'tree'>,
  file: string | URL,
  { children = false }: RecordHistoriesOptions = {},
): Promise<number> {
  const ids = children ? idsOf(await thread.tree()) : [thread.threadId]
  const runs: FetchedRun[] = []
  for (const id of ids) runs.push(...(await fetchHistories(thread.workflow.client, id)))
  if (!runs.some(({ workflowId }) => workflowId === thread.threadId))
    throw new Error(
      `Expected Temporal to have histories of thread "${thread.threadId}", got none: they are gone after the ` +
        "namespace's retention. Record them while it is open, or soon after.",
    )
  await writeHistories(file, runs)
  return runs.length
}

function idsOf({ threadId, children }: ThreadTree): readonly string[] {
  return [threadId, ...children.flatMap(idsOf)]
}
