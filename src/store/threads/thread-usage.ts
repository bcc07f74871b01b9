/**
 * Owns: the sums over the rows of threads that say what they have used.
 *
 * Does not own: what a request cost (activities/turn/request-log.ts, which wrote it into the rows).
 *
 * Invariants:
 * - A cost that is not known is never counted as zero: the sum is null, and the known part stands beside it.
 */
import type { RunUsage } from './runs.js'
import type {
  Durations,
  ModelUsage,
  RecordedRequest,
  RequestsUsage,
  ThreadUsage,
} from '../../protocol/status.js'
import type { Reader } from '../store.js'

/** Threads whose rows one statement reads, and rows that it reads at most. */
const THREADS = 500
const ROWS = 1000

/** Sums what these threads have used. Each id counts once. */
export async function sumThreadUsage(db: Reader, threadIds: readonly string[]): Promise<ThreadUsage> {
  const totals = { messages: 0, runs: 0, steps: 0, toolCalls: 0, failedToolCalls: 0 }
  const all = createTally()
  const byModel = new Map<string, Tally>()
  const toolTimes: number[] = []
  for (let from = 0; from < threadIds.length; from += THREADS) {
    const ids = threadIds.slice(from, from + THREADS)
    totals.messages += await countMessages(db, ids)
    totals.runs += await countRuns(db, ids)
    for (const { status, started_at: began, finished_at: ended } of await listCalls(db, ids)) {
      totals.toolCalls += 1
      if (status !== 'open' && status !== 'succeeded') totals.failedToolCalls += 1
      if (began !== null && ended !== null) toolTimes.push((ended - began) / 1000)
    }
    for await (const { isStep, requests } of listWork(db, ids)) {
      if (isStep) totals.steps += 1
      for (const request of requests) {
        const own = byModel.get(request.model) ?? createTally()
        byModel.set(request.model, own)
        own.add(request)
        all.add(request)
      }
    }
  }
  return {
    threads: threadIds.length,
    ...totals,
    ...all.sum(),
    toolTime: durations(toolTimes),
    models: [...byModel].map(([model, tally]) => ({ model, ...tally.sum() })).toSorted(byName),
  }
}

function byName(one: ModelUsage, other: ModelUsage): number {
  return one.model < other.model ? -1 : 1
}

interface Tally {
  add(request: RecordedRequest): void
  sum(): RequestsUsage
}

function createTally(): Tally {
  const counts = { requests: 0, failedRequests: 0, inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 }
  const times: number[] = []
  let knownCost = 0
  let isKnown = true
  const spend = ({ cost, ...tokens }: RunUsage): void => {
    counts.inputTokens += tokens.inputTokens
    counts.outputTokens += tokens.outputTokens
    counts.cachedInputTokens += tokens.cachedInputTokens
    knownCost += cost ?? 0
    isKnown &&= cost !== null
  }
  return {
    add({ usage, error, took }) {
      counts.requests += 1
      if (error !== null) counts.failedRequests += 1
      if (usage !== null) spend(usage)
      if (error === null && took !== undefined) times.push(took)
    },
    sum: () => ({ ...counts, cost: isKnown ? knownCost : null, knownCost, answerTime: durations(times) }),
  }
}

function durations(times: readonly number[]): Durations {
  const sorted = times.map(Math.round).toSorted((one, other) => one - other)
  const rank = (part: number): number | null => sorted[Math.ceil(part * sorted.length) - 1] ?? null
  const mean = sorted.length === 0 ? null : Math.round(sorted.reduce((a, b) => a + b, 0) / sorted.length)
  return { count: sorted.length, mean, p50: rank(0.5), p95: rank(0.95), max: rank(1) }
}

async function countMessages(db: Reader, threadIds: readonly string[]): Promise<number> {
  const { count } = await db
    .selectFrom('messages')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('thread_id', 'in', threadIds)
    .where('position', 'is not', null)
    .executeTakeFirstOrThrow()
  return count
}

async function countRuns(db: Reader, threadIds: readonly string[]): Promise<number> {
  const { count } = await db
    .selectFrom('runs')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('thread_id', 'in', threadIds)
    .executeTakeFirstOrThrow()
  return count
}

function listCalls(db: Reader, threadIds: readonly string[]) {
  return (
    db
      .selectFrom('tool_calls')
      .select(['status', 'started_at', 'finished_at'])
      .where('thread_id', 'in', threadIds)
      // What code calls in place belongs to the call of that code, in its time too.
      .where('message_id', '<>', '')
      .execute()
  )
}

interface Work {
  /** A model has answered in a step of the run itself. */
  readonly isStep: boolean
  readonly requests: readonly RecordedRequest[]
}

/** The operations that may have sent requests to models, page by page: each row has the texts of its answer and its requests. */
async function* listWork(db: Reader, threadIds: readonly string[]): AsyncGenerator<Work> {
  for (let after = { thread: '', id: '' }; ;) {
    const rows = await db
      .selectFrom('operations')
      .select(['thread_id', 'id', 'kind', 'key', 'answer', 'detail'])
      .where('thread_id', 'in', threadIds)
      .where('kind', 'in', ['model', 'activation', 'compaction', 'tool'])
      .where('detail', 'is not', null)
      .where((where) => where(where.refTuple('thread_id', 'id'), '>', where.tuple(after.thread, after.id)))
      .orderBy('thread_id')
      .orderBy('id')
      .limit(ROWS)
      .execute()
    for (const { kind, key, answer, detail } of rows) {
      // Written by the activities: the store's boundary.
      const { requests = [] } = JSON.parse(detail ?? '{}') as Partial<Pick<Work, 'requests'>>
      const { type } = JSON.parse(answer ?? '{}') as { readonly type?: string }
      const isStep = kind === 'model' && key === null && type === 'answered'
      yield { isStep, requests: answer === null ? requests : requests.map(asEnded) }
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < ROWS) return
    after = { thread: last.thread_id, id: last.id }
  }
}

/** A request that was under way when its operation was ended: by a stop, or by the end of the tool that sent it. */
function asEnded(request: RecordedRequest): RecordedRequest {
  return request.usage === null && request.error === null ? { ...request, error: 'interrupted' } : request
}
