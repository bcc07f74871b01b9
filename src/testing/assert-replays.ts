import { msToNumber } from '@temporalio/common'
import type { Duration } from '@temporalio/common'
import type { ReplayWorkerOptions, WorkflowBundleOption } from '@temporalio/worker'
import { Worker } from '../worker/temporal-worker.js'
import { threadBundler } from '../worker/workflow-bundle.js'
import { readHistories } from './history-files.js'
import {
  eventsOf,
  namedEvent,
  reachedEvent,
  replayProblem,
  replayProblems,
  shapeProblem,
} from './replay-problem.js'
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
  /** How long the replay of one history may take. @default '1 minute' */
  readonly timeout?: Duration
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
  const replay: Replay = {
    options: await replayOptions(options),
    timeout: msToNumber(options.timeout ?? '1 minute'),
  }
  const problems: string[] = []
  let replayed = 0
  let searched = 0
  const whole = async function* (): AsyncGenerator<RecordedHistory> {
    for await (const run of isPlace ? readHistories(histories) : histories) {
      const problem = shapeProblem(run)
      if (problem !== undefined) problems.push(problem)
      if (problem !== undefined || !hasCompletedTask(run)) replayed += 1
      else yield run
    }
  }
  for await (const { run, error } of replayAll(replay, whole())) {
    replayed += 1
    if (error === null) continue
    const named = namedEvent(run, error)
    const isSearched = named === null && searched < MOST_SEARCHED
    if (isSearched) searched += 1
    problems.push(replayProblem(run, error, isSearched ? await failingTask(replay, run) : named))
  }
  if (problems.length === 0) return replayed
  throw new Error(replayProblems(replayed, problems))
}

/** Each search for the task that fails replays the history several times; what is wrong shows in the first ones. */
const MOST_SEARCHED = 3

interface Replay {
  readonly options: ReplayWorkerOptions
  /** Milliseconds that one history has. */
  readonly timeout: number
}

interface Replayed {
  readonly run: RecordedHistory
  readonly error: Error | null
}

/** What became of each history. The last one is one that Temporal cannot read at all, or that it does not finish. */
async function* replayAll(
  { options, timeout }: Replay,
  runs: AsyncIterable<RecordedHistory> | Iterable<RecordedHistory>,
): AsyncGenerator<Replayed> {
  // One at a time: Temporal's results name a workflow id, which all runs of a thread share.
  let current: RecordedHistory | undefined
  let timer: NodeJS.Timeout | undefined
  let giveUp: (error: Error) => void = () => undefined
  const overdue = new Promise<never>((_resolve, reject) => (giveUp = reject))
  overdue.catch(() => undefined)
  const pushing = async function* (): AsyncGenerator<TemporalHistory> {
    for await (const run of runs) {
      current = run
      timer = setTimeout(() => giveUp(new Error(unfinished(timeout))), timeout)
      yield { workflowId: run.workflowId, history: run.history as TemporalHistory['history'] }
      clearTimeout(timer)
      current = undefined
    }
  }
  const results = Worker.runReplayHistories(options, pushing())[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await Promise.race([results.next(), overdue])
      if (next.done === true) return
      if (current !== undefined) yield { run: current, error: next.value.error ?? null }
    }
  } catch (error) {
    if (current === undefined || !(error instanceof Error)) throw error
    yield { run: current, error }
  } finally {
    clearTimeout(timer)
  }
}

function unfinished(timeout: number): string {
  return (
    `Expected this history to be replayed within ${timeout / 1000} seconds, got no end of it: Temporal's replay waits for ` +
    'events that the history does not have, or the machine is too busy (the option "timeout" gives it longer).'
  )
}

/** The workflow task at which the history stops replaying, where the error names no event. */
async function failingTask(replay: Replay, run: RecordedHistory): Promise<string | null> {
  return reachedEvent(run, async (beginning) => {
    for await (const { error } of replayAll(replay, [beginning])) return error !== null
    return false
  })
}

/** A run that has only just begun: there is nothing to compare, and Temporal's replay would wait for ever. */
function hasCompletedTask(run: RecordedHistory): boolean {
  // Checked before.
  const events = eventsOf(run) as readonly Record<string, unknown>[]
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
