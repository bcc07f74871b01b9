import type { StoreStopAnswer, StoreStopInput } from '../protocol/end-activities.js'
import { storeStop as store } from '../store/threads/stops.js'
import type { ActivityDependencies } from './activity.js'

/** The activity `storeStop`: the activity in flight, which a signal or a cancellation has interrupted, is to hear of it. */
export async function storeStop(
  dependencies: ActivityDependencies,
  { threadId, run, by }: StoreStopInput,
): Promise<StoreStopAnswer> {
  await dependencies.store.write((tx) => store(tx, { threadId, run: by === 'terminate' ? null : run }))
  return { type: 'stored' }
}
