import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import { WorkflowNotFoundError } from '@temporalio/client'
import type { WorkflowClient } from '@temporalio/client'
import type { ThreadHandle, ThreadTree } from '../client/index.js'

/** One run in a file. */
interface KeptRun {
  readonly workflowId: string
  readonly runId?: string
  /** In the form of Temporal's own JSON. */
  readonly history: unknown
}

/** A run that is kept in a file, with its place. */
export interface FoundRun extends KeptRun {
  readonly file: string
  /** The number of the run in its file, from 1. */
  readonly number: number
  readonly of: number
}

const ZIPPED = '.json.gz'

/** Writes runs as one JSON file, compressed if the name ends with `.json.gz`. */
export async function writeHistories(file: string | URL, runs: readonly FetchedRun[]): Promise<void> {
  const path = pathOf(file)
  if (!isHistoryFile(path))
    throw new Error(`Expected a file that ends with ".json" or "${ZIPPED}", got "${path}".`)
  // This loads all of Temporal's protocol, which only recording needs.
  const { historyToJSON } = await import('@temporalio/common/lib/proto-utils.js')
  const kept: KeptRun[] = runs.map(({ history, ...run }) => ({
    ...run,
    history: JSON.parse(historyToJSON(history)) as unknown,
  }))
  await mkdir(dirname(path), { recursive: true })
  const isZipped = path.endsWith(ZIPPED)
  const text = JSON.stringify(kept, null, isZipped ? 0 : 1)
  await writeFile(path, isZipped ? gzipSync(text, { level: 9 }) : `${text}\n`)
}

/**
 * Reads a file of histories, or all files of a folder and its subfolders, ordered by name.
 * @throws an error that names a file without histories, and a folder without files
 */
export async function* readHistories(place: string | URL): AsyncGenerator<FoundRun, void> {
  const files = await historyFiles(pathOf(place))
  for (const file of files) {
    const runs = parseHistories(file, await readFile(file))
    for (const [index, run] of runs.entries()) yield { ...run, file, number: index + 1, of: runs.length }
  }
}

async function historyFiles(path: string): Promise<readonly string[]> {
  if ((await stat(path)).isFile()) return [path]
  const names = await readdir(path, { recursive: true })
  const files = names.filter(isHistoryFile).toSorted()
  if (files.length === 0)
    throw new Error(
      `Expected histories (*.json, *${ZIPPED}) in "${path}", got none: record some with recordHistories.`,
    )
  return files.map((name) => join(path, name))
}

function parseHistories(file: string, bytes: Buffer): readonly KeptRun[] {
  const parsed = parseFile(file, bytes)
  const runs = Array.isArray(parsed) ? (parsed as readonly unknown[]) : [parsed]
  if (runs.length === 0) throw new Error(`Expected histories in "${file}", got an empty list.`)
  return runs.map((run) => {
    if (hasEvents(run)) return { workflowId: file, history: run }
    const kept = (run ?? {}) as Partial<KeptRun>
    if (typeof kept.workflowId === 'string' && hasEvents(kept.history)) return kept as KeptRun
    throw new Error(`Expected histories in "${file}", got something else: ${SHAPES}`)
  })
}

const SHAPES =
  'a list as recordHistories writes it, or the history of one run as the Temporal UI downloads it and ' +
  '"temporal workflow show --output json" prints it.'

function parseFile(file: string, bytes: Buffer): unknown {
  try {
    return JSON.parse((file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8'))
  } catch (cause) {
    throw new Error(`Expected JSON in "${file}", got something else: ${SHAPES}`, { cause })
  }
}

function hasEvents(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'events' in value && Array.isArray(value.events)
}

function isHistoryFile(name: string): boolean {
  return name.endsWith('.json') || name.endsWith(ZIPPED)
}

function pathOf(place: string | URL): string {
  return typeof place === 'string' ? place : fileURLToPath(place)
}

type History = Awaited<ReturnType<ReturnType<WorkflowClient['getHandle']>['fetchHistory']>>

/** One Temporal run of a thread. */
export interface FetchedRun {
  readonly workflowId: string
  readonly runId: string
  readonly history: History
}

/** Reads all runs of a thread that Temporal still keeps, over continue-as-new, the first one first. */
export async function fetchHistories(
  client: Pick<WorkflowClient, 'getHandle'>,
  workflowId: string,
): Promise<readonly FetchedRun[]> {
  const runs: FetchedRun[] = []
  try {
    let { runId } = await client.getHandle(workflowId).describe()
    while (runId !== '') {
      const history = await client.getHandle(workflowId, runId).fetchHistory()
      runs.unshift({ workflowId, runId, history })
      const started = history.events?.[0]?.workflowExecutionStartedEventAttributes
      runId = started?.continuedExecutionRunId ?? ''
    }
  } catch (error) {
    // A child that waits for its variables has no workflow yet, and Temporal deletes old runs after its retention.
    if (!(error instanceof WorkflowNotFoundError)) throw error
  }
  return runs
}

/** Selects what is recorded with the thread's own runs. */
export interface RecordHistoriesOptions {
  /** Also records the runs of all threads below it. @default false */
  readonly children?: boolean
}

/**
 * Writes the histories of all Temporal runs of a thread, over continue-as-new, into one file. Keep it, and replay it with
 * `assertReplays` on every later version. Histories hold no content, and the thread may be working at the time.
 *
 * @param file ends with `.json`, or with `.json.gz` for a compressed file; an existing file is replaced
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
        "namespace's retention. Record them while the thread is open, or soon after.",
    )
  await writeHistories(file, runs)
  return runs.length
}

function idsOf({ threadId, children }: ThreadTree): readonly string[] {
  return [threadId, ...children.flatMap(idsOf)]
}
