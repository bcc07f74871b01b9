import type { StoreStopAnswer, StoreStopInput } from '../protocol/end-activities.js'
import { insertNews, insertStop, isOver } from '../store/threads/stops.js'
import type { ActivityDependencies } from './activity.js'

/** The activity `storeStop`: the activity in flight is to hear of a signal or a cancellation that came through Temporal alone. */
export async function storeStop(
  dependencies: ActivityDependencies,
  { threadId, run, by, operation }: StoreStopInput,
): Promise<StoreStopAnswer> {
  const { store } = dependencies
  if (operation !== undefined) await store.write((tx) => insertNews(tx, { threadId, run, operation }))
  else {
    const stop = { threadId, run: by === 'terminate' ? null : run }
    if (!(await store.read((db) => isOver(db, stop)))) await store.write((tx) => insertStop(tx, stop))
  }
  return { type: 'stored' }
}
