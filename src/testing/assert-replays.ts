import { msToNumber } from '@temporalio/common'
import type { Duration } from '@temporalio/common'
import type { ReplayWorkerOptions, WorkflowBundleOption } from '@temporalio/worker'
import { Worker } from '../worker/temporal-worker.js'
import { threadBundler } from '../worker/workflow-bundle.js'
import { readHistories } from './record-histories.js'
import { threadBundle } from './thread-bundle.js'

/** A history of a thread: as Temporal's client gives it, or the parsed content of a JSON file. */
export interface RecordedHistory {
  readonly workflowId: string
  readonly runId?: string
  readonly history: unknown
}

/** The workflow code with which histories are replayed. */
export interface ReplayOptions {
  /** Workflow code that is bundled ahead of time. @default bundled once a process */
  readonly workflowBundle?: WorkflowBundleOption
  /**
   * The options of the production worker. With `workflowsPath`, threads are bundled beside these workflows, whose histories
   * replay too. `dataConverter` needs the codecs with which the histories were written.
   */
  readonly worker?: ReplayWorkerOptions
  /** How long the replay of one history may take. @default '1 minute' */
  readonly timeout?: Duration
}

/**
 * Checks that recorded histories replay on this version of the workflow code. It needs no server.
 *
 * @param histories a file or folder of `recordHistories` or of Temporal's own JSON, or the histories themselves
 * @returns how many were replayed
 * @throws an error that names file, workflow id, run and event of each history that does not replay, and what to do
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
    const named = findNamedEvent(run, error)
    const isSearched = named === null && searched < MOST_SEARCHED
    if (isSearched) searched += 1
    problems.push(replayProblem(run, error, isSearched ? await searchFailingTask(replay, run) : named))
  }
  if (problems.length === 0) return replayed
  throw new Error(replayProblems(replayed, problems))
}

/** Each search for a failing task replays the history several times, and the first problems usually show the cause. */
const MOST_SEARCHED = 3

interface Replay {
  readonly options: ReplayWorkerOptions
  /** Milliseconds for the replay of one history. */
  readonly timeout: number
}

interface Replayed {
  readonly run: RecordedHistory
  readonly error: Error | null
}

/** Yields the result of each history. A history that Temporal cannot read or does not finish is the last one. */
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
      timer = setTimeout(() => giveUp(new Error(timeoutMessage(timeout))), timeout)
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

function timeoutMessage(timeout: number): string {
  return (
    `Expected this history to be replayed within ${timeout / 1000} seconds, got no end of it: Temporal's replay waits for ` +
    'events that the history does not have, or the machine is too busy (the option "timeout" sets more time).'
  )
}

/** Finds the workflow task at which the history stops replaying, for an error that names no event. */
async function searchFailingTask(replay: Replay, run: RecordedHistory): Promise<string | null> {
  return findFailingTask(run, async (beginning) => {
    for await (const { error } of replayAll(replay, [beginning])) return error !== null
    return false
  })
}

/** False for a run that has just begun: there is nothing to compare, and Temporal's replay would wait for ever. */
function hasCompletedTask(run: RecordedHistory): boolean {
  // `shapeProblem` has checked the events.
  const events = eventsOf(run) as readonly Record<string, unknown>[]
  return events.some((event) => event['workflowTaskCompletedEventAttributes'] != null)
}

type Histories = Parameters<typeof Worker.runReplayHistories>[1]
type TemporalHistory = Histories extends AsyncIterable<infer One> | Iterable<infer One> ? One : never

async function replayOptions({ workflowBundle, worker = {} }: ReplayOptions): Promise<ReplayWorkerOptions> {
  const given = workflowBundle ?? worker.workflowBundle
  // The bundle contains the converter that counts.
  if (given !== undefined) return { ...worker, workflowBundle: given }
  if (worker.workflowsPath === undefined) return { ...worker, workflowBundle: await threadBundle() }
  const { plugins = [] } = worker
  // `EverthreadPlugin` bundles threads too, and once is enough.
  const bundles = plugins.some(({ name }) => name === threadBundler.name)
  return { ...worker, plugins: bundles ? plugins : [threadBundler, ...plugins] }
}

interface KeptEvent {
  readonly eventId?: unknown
  readonly eventType?: unknown
  readonly [attributes: string]: unknown
}

interface Named {
  readonly activityType?: { readonly name?: unknown } | null
  readonly workflowType?: { readonly name?: unknown } | null
  readonly workflowId?: unknown
  readonly timerId?: unknown
  readonly scheduledEventId?: unknown
  readonly workflowTaskCompletedEventId?: unknown
}

/** Describes a failed replay: file, run, event (null if none is named) and Temporal's message. */
function replayProblem(run: RecordedHistory, error: Error, event: string | null): string {
  return `- ${placeOf(run)}, ${event ?? 'at an event that Temporal does not name'}:\n  ${wordsOf(error)}`
}

/** Finds a wrong shape, with which Temporal's replay would panic or wait for ever. */
function shapeProblem(run: RecordedHistory): string | undefined {
  const problem = eventsProblem(eventsOf(run))
  return problem === undefined ? undefined : `- ${placeOf(run)}, ${problem}`
}

/** Checks that the events of a run are numbered from 1 without a gap, and that the first one is the start of the workflow. */
function eventsProblem(events: unknown): string | undefined {
  if (!Array.isArray(events) || events.length === 0)
    return `which has no events:\n  Expected "events" to be the list of all events of a run, got ${showValue(events)}.`
  for (const [index, event] of (events as readonly unknown[]).entries()) {
    const expected = index + 1
    const { eventId, eventType } = isRecord(event) ? (event as KeptEvent) : {}
    if (eventId === undefined || eventId === null || eventType === undefined || eventType === null)
      return `event ${expected}:\n  Expected an event with "eventId" and "eventType", got ${showValue(event)}.`
    // A text in JSON, an object for long integers as Temporal's client gives it.
    const number = Number(eventId)
    if (number !== expected)
      return `event ${number}:\n  Expected event ${expected} at this place, got event ${number}: ${WHOLE}`
  }
  if (isRecord(events[0]) && events[0]['workflowExecutionStartedEventAttributes'] != null) return undefined
  return `event 1:\n  Expected the start of the workflow (WORKFLOW_EXECUTION_STARTED) as the first event, got another: ${WHOLE}`
}

const WHOLE =
  'the history is cut, lacks a page or is in another order; download or record the whole run again.'

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function showValue(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, MOST_SHOWN)
}

const MOST_SHOWN = 100

/** The unchecked events of a history. */
export function eventsOf({ history }: RecordedHistory): unknown {
  return isRecord(history) ? history['events'] : undefined
}

/** All problems in one text, with instructions. */
function replayProblems(replayed: number, problems: readonly string[]): string {
  return [
    `Expected ${replayed} histories to replay, got ${problems.length} that do not:`,
    ...problems,
    'Threads with such a history would stall on this version until a version runs that replays it. What to do: ' +
      'if workflow code of yours was changed, guard the change with patched() of @temporalio/workflow; if Everthread was ' +
      'upgraded, stay on the version before and report the file (it holds no content); delete or record anew only ' +
      'histories of code on which no open thread was started.',
  ].join('\n')
}

function placeOf({ workflowId, runId, ...kept }: RecordedHistory): string {
  const { file, number, of } = kept as {
    readonly file?: string
    readonly number?: number
    readonly of?: number
  }
  const id = runId === undefined ? '' : `, Temporal's run id ${runId}`
  if (file === undefined) return `workflow ${workflowId}${id}`
  const workflow = workflowId === file ? '' : `, workflow ${workflowId}`
  return `${file}${workflow}, run ${number} of ${of}${id}`
}

/** The innermost sentence of Temporal's message. */
function wordsOf({ message }: Error): string {
  const inner = /message: "((?:[^"\\]|\\.)*)"/.exec(message)?.[1]
  return (inner ?? message).replaceAll('\\"', '"').slice(0, MOST_WORDS)
}

const MOST_WORDS = 2_000

/** Finds the event that Temporal's error names by its number or by the name of what it schedules; null if it names none. */
function findNamedEvent(run: RecordedHistory, error: Error): string | null {
  const words = wordsOf(error)
  const events = listEvents(run)
  const number = /HistoryEvent\(id: (\d+)/.exec(words)?.[1]
  const name = /scheduled event '([^']+)'/.exec(words)?.[1]
  const event = events.find((one) =>
    number === undefined
      ? name !== undefined && namesOf(one, events).includes(name)
      : String(one.eventId) === number,
  )
  if (event !== undefined) return describeEvent(event, events)
  return number === undefined ? null : `event ${number}`
}

function listEvents(run: RecordedHistory): readonly KeptEvent[] {
  const events = eventsOf(run)
  return Array.isArray(events) ? (events as readonly KeptEvent[]) : []
}

function describeEvent(event: KeptEvent, events: readonly KeptEvent[]): string {
  const type = String(event.eventType).replace('EVENT_TYPE_', '')
  return `event ${String(event.eventId)} (${[type, ...namesOf(event, events)].join(' ')})`
}

function namesOf(event: KeptEvent, events: readonly KeptEvent[]): readonly string[] {
  const { activityType, workflowType, workflowId, timerId, scheduledEventId } = attributesOf(event)
  // The end of an activity has the id of the event that scheduled it, and no type.
  const scheduled = scheduledEventId == null ? undefined : events[Number(scheduledEventId) - 1]
  const ofActivity = scheduled === undefined ? undefined : attributesOf(scheduled).activityType
  const names = [activityType?.name, ofActivity?.name, workflowType?.name, workflowId, timerId]
  return names.filter((name) => typeof name === 'string')
}

function attributesOf(event: KeptEvent): Named {
  const key = Object.keys(event).find((field) => field.endsWith('EventAttributes') && isRecord(event[field]))
  return key === undefined ? {} : (event[key] as Named)
}

/**
 * Finds the workflow task at which a history stops replaying, by a binary search over its beginnings, and names the event
 * before that task: an error of workflow code names no event itself.
 *
 * @param fails answers true if this beginning of the history does not replay either
 */
export async function findFailingTask(
  run: RecordedHistory,
  fails: (beginning: RecordedHistory) => Promise<boolean>,
): Promise<string | null> {
  const events = listEvents(run)
  const tasks = events.flatMap((event, index) =>
    isRecord(event['workflowTaskCompletedEventAttributes']) ? [index] : [],
  )
  if (tasks.length === 0) return null
  // The first `low` tasks replay, the first `high` do not.
  let low = 0
  let high = tasks.length
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    const following = events.findIndex(
      (event, index) => index > (tasks[middle - 1] ?? 0) && !isCommand(event),
    )
    const beginning = {
      ...run,
      history: { events: events.slice(0, following === -1 ? undefined : following) },
    }
    if (await fails(beginning)) high = middle
    else low = middle
  }
  const task = tasks[high - 1] ?? 0
  const before = events.slice(0, task).findLast((event) => !isCommand(event) && !isOfTask(event))
  return before === undefined ? null : `the workflow task after ${describeEvent(before, events)}`
}

/** An event that a workflow task has written itself. */
function isCommand(event: KeptEvent): boolean {
  return attributesOf(event).workflowTaskCompletedEventId != null
}

function isOfTask(event: KeptEvent): boolean {
  return Object.keys(event).some((field) => field.startsWith('workflowTask') && isRecord(event[field]))
}
