/**
 * Calls of sources that waited for their next part when their run was stopped.
 *
 * Owns: which calls these are, and how long their sources are told. Does not own: the end of the calls themselves (`settle.ts`).
 * Invariant: a source hears of each such call at least once, behind the commit of its end: the activity that says so is repeated until it
 * has ended, and what it reads stays.
 */
import type { ToolSource } from '../../definitions/tool-source.js'
import { sourcesOf } from '../../definitions/known-definitions.js'
import { listCutContinuations } from '../../store/operations.js'
import { currentSignal } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import { continuationOf } from '../operation.js'
import { readSourceUser } from '../thread-row.js'
import { log } from '../temporal-activity.js'
import { errorFields, readThrown } from '../thrown.js'
import { runBounded } from '../tool/bounded.js'
import { withLoginAt } from './kept-logins.js'

/** Milliseconds: the end of the run waits for it, but its rows are there already. */
const CANCEL_TIME = 5_000

interface Cancelled {
  readonly threadId: string
  readonly run: number
  readonly agent: string
}

/** Tells the sources of a stopped run which of their calls nobody waits for any more. */
export async function cancelWaitingCalls(
  dependencies: ActivityDependencies,
  place: Cancelled,
): Promise<void> {
  const sources = sourcesOf(dependencies.registry).filter((source) => source.cancel !== undefined)
  if (sources.length === 0) return
  const cut = await dependencies.store.read((db) => listCutContinuations(db, place))
  if (cut.length === 0) return
  const user = await readSourceUser(dependencies.store, place)
  await Promise.all(
    cut.map(async (operation) => {
      const next = continuationOf(operation)
      const source = sources.find(({ name }) => name === next?.source)
      if (next === null || source === undefined) return
      await cancelOne(source, {
        ...withLoginAt(dependencies.store, user, source.name),
        resume: next.resume,
      })
    }),
  )
}

async function cancelOne(
  source: ToolSource,
  call: Omit<Parameters<NonNullable<ToolSource['cancel']>>[0], 'signal'>,
): Promise<void> {
  const abort = new AbortController()
  const bounds = { timeout: CANCEL_TIME, signal: currentSignal(), abort }
  const ended = await runBounded(() => source.cancel?.({ ...call, signal: abort.signal }), bounds)
  if (ended.kind === 'answered') return
  const thrown = readThrown(ended.kind === 'threw' ? ended.error : new Error(ended.kind))
  log.warn('A source was not told of a stopped call.', { source: source.name, ...errorFields(thrown) })
}
