import { defineUpdate, setHandler } from '@temporalio/workflow'
import { failure } from '../protocol/failures.js'
import { UPDATES } from '../protocol/messages.js'
import type { RemoveQueued, Respond } from '../protocol/messages.js'
import { itemRemoved, removalRefusal } from '../thread/removals.js'
import { responded, responseRefusal } from '../thread/requests.js'
import type { ThreadHost } from './thread-host.js'

const removeQueuedUpdate = defineUpdate<void, [RemoveQueued]>(UPDATES.removeQueued)
const respondUpdate = defineUpdate<void, [Respond]>(UPDATES.respond)

/**
 * Registers the updates: one answers a request, one takes back what waits. One that is refused (as `Request.NotFound` or
 * `Request.Invalid`; a removal as `Item.NotFound` or `Item.Invalid`) leaves no trace, and both are synchronous: what was
 * accepted is in the state before anything else happens (T10).
 */
export function takeAnswers(host: ThreadHost): void {
  setHandler(
    respondUpdate,
    (answer) => {
      host.countSignal()
      host.update((control) => responded(control, answer, Date.now()))
    },
    {
      validator: (answer) => {
        const refusal = responseRefusal(host.control, answer)
        if (refusal !== null) throw failure(refusal)
      },
    },
  )
  setHandler(
    removeQueuedUpdate,
    (item) => {
      host.countSignal()
      host.update((control) => itemRemoved(control, item))
    },
    {
      validator: (item) => {
        const refusal = removalRefusal(host.control, item)
        if (refusal !== null) throw failure(refusal)
      },
    },
  )
}
