import type { StoreStopAnswer, StoreStopInput } from '../protocol/end-activities.js'
import { storeNews, storeStop as store } from '../store/threads/stops.js'
import type { ActivityDependencies } from './activity.js'

/** The activity `storeStop`: the activity in flight is to hear of a signal or a cancellation that came through Temporal alone. */
export async function storeStop(
  dependencies: ActivityDependencies,
  { threadId, run, by, operation }: StoreStopInput,
): Promise<StoreStopAnswer> {
  await dependencies.store.write((tx) =>
    operation === undefined
      ? store(tx, { threadId, run: by === 'terminate' ? null : run })
      : storeNews(tx, { threadId, run, operation }),
  )
  return { type: 'stored' }
}
