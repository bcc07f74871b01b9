import type { CheckChildrenAnswer, CheckChildrenInput } from '../protocol/end-activities.js'
import type { ChildReport } from '../protocol/messages.js'
import { missedReports } from '../store/missed-reports.js'
import { whileBeating } from './beat.js'
import { closeStatus } from './close-status.js'
import type { ActivityDependencies } from './dependencies.js'

/** Looks for children whose close event can no longer reach their parent, and for reports that did not (T7). */
export async function checkChildren(
  { store }: ActivityDependencies,
  { references, taken }: CheckChildrenInput,
): Promise<CheckChildrenAnswer> {
  return whileBeating(async () => {
    const closed: { reference: string; status: string }[] = []
    const missed: ChildReport[] = []
    for (const [index, reference] of references.entries()) {
      const status = await closeStatus(reference)
      // What it said before it closed comes first.
      missed.push(...(await store.read((db) => missedReports(db, reference, taken[index] ?? 0))))
      if (status !== null) closed.push({ reference, status })
    }
    return { type: 'checked', closed, ...(missed.length > 0 && { missed }) }
  })
}
