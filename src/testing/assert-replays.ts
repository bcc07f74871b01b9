import { Worker } from '@temporalio/worker'
import type { ReplayWorkerOptions, WorkflowBundleOption } from '@temporalio/worker'

import { threadBundler } from '../worker/bundle-threads.js'
import { readHistories } from './history-files.js'
import { replayProblem, replayProblems } from './replay-problem.js'
import { threadBundle } from './thread-bundle.js'

/** A history of a thread: as Temporal's client gives it, or the parsed content of a JSON file. */
export interface RecordedHistory {
  readonly workflowId: string
  readonly runId?: string
  readonly history: unknown
}

/** With which workflow code histories are replayed. */
export interface ReplayOptions {
  /** Workflow code that was bundled ahead of time. @default bundled once a process */
  readonly workflowBundle?: WorkflowBundleOption
  /**
   * Options of Temporal's worker, as production has them: with `workflowsPath` threads are bundled beside these workflows,
   * whose histories replay too; `dataConverter` with the codecs that the histories were written with.
   */
  readonly worker?: ReplayWorkerOptions
}

/**
 * Checks that recorded histories replay on this version of the workflow code; needs no server.
 *
 * @param histories a file or folder that `recordHistories` wrote or that has Temporal's own JSON, or the histories themselves
 * @returns how many were replayed
 * @throws an error that names file, workflow id, run and event of each history that does not, and what to do
 */
export async function assertReplays(
  histories: string | URL | AsyncIterable<RecordedHistory> | Iterable<RecordedHistory>,
  options: ReplayOptions = {},
): Promise<number> {
  const isPlace = typeof histories === 'string' || histories instanceof URL
  const problems: string[] = []
  let replayed = 0
  // One at a time: Temporal's results name a workflow id, which all runs of a thread share.
  let current: RecordedHistory | undefined
  const pushing = async function* (): AsyncGenerator<TemporalHistory> {
    for await (const run of isPlace ? readHistories(histories) : histories) {
      if (!hasCompletedTask(run)) {
        replayed += 1
        continue
      }
      current = run
      yield { workflowId: run.workflowId, history: run.history as TemporalHistory['history'] }
      current = undefined
    }
  }
  try {
    for await (const { error } of Worker.runReplayHistories(await replayOptions(options), pushing())) {
      replayed += 1
      if (error && current !== undefined) problems.push(replayProblem(current, error))
    }
  } catch (error) {
    // What Temporal cannot read as a history at all ends the replay.
    if (current === undefined || !(error instanceof Error)) throw error
    replayed += 1
    problems.push(replayProblem(current, error))
  }
  if (problems.length === 0) return replayed
  throw new Error(replayProblems(replayed, problems))
}

/** A run that has only just begun: there is nothing to compare, and Temporal's replay would wait for ever. */
function hasCompletedTask({ history }: RecordedHistory): boolean {
  const { events } = (history ?? {}) as { readonly events?: readonly Record<string, unknown>[] | null }
  // What is no history at all is told of by Temporal.
  if (!Array.isArray(events) || events.length === 0) return true
  return events.some((event) => event['workflowTaskCompletedEventAttributes'] != null)
}

type Histories = Parameters<typeof Worker.runReplayHistories>[1]
type TemporalHistory = Histories extends AsyncIterable<infer One> | Iterable<infer One> ? One : never

async function replayOptions({ workflowBundle, worker = {} }: ReplayOptions): Promise<ReplayWorkerOptions> {
  const given = workflowBundle ?? worker.workflowBundle
  // The converter that decides is in the bundle.
  if (given !== undefined) return { ...worker, workflowBundle: given }
  if (worker.workflowsPath === undefined) return { ...worker, workflowBundle: await threadBundle() }
  const { plugins = [] } = worker
  // `EverthreadPlugin` bundles threads as well, once is enough.
  const bundles = plugins.some(({ name }) => name === threadBundler.name)
  return { ...worker, plugins: bundles ? plugins : [threadBundler, ...plugins] }
}
