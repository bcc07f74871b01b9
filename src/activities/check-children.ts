import type { CheckChildrenAnswer, CheckChildrenInput } from '../protocol/end-activities.js'
import { whileBeating } from './beat.js'
import { closeStatus } from './close-status.js'

/** Looks for children whose close event can no longer reach their parent (T7). */
export async function checkChildren(input: CheckChildrenInput): Promise<CheckChildrenAnswer> {
  return whileBeating(async () => {
    const closed: { reference: string; status: string }[] = []
    for (const reference of input.references) {
      const status = await closeStatus(reference)
      if (status !== null) closed.push({ reference, status })
    }
    return { type: 'checked', closed }
  })
}
