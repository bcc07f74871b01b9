import { defineUpdate, setHandler } from '@temporalio/workflow'
import { failure } from '../protocol/failures.js'
import { UPDATES } from '../protocol/messages.js'
import type { Respond } from '../protocol/messages.js'
import { responded, responseRefusal } from '../thread/requests.js'
import type { ThreadHost } from './thread-host.js'

const respondUpdate = defineUpdate<void, [Respond]>(UPDATES.respond)

/**
 * Registers the update that answers a request. It is refused as `Request.NotFound` or `Request.Invalid`, leaves no trace
 * then, and is synchronous: an accepted answer is in the state before anything else happens (T10).
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
}
