import { defineQuery, defineUpdate, setDefaultSignalHandler, setHandler } from '@temporalio/workflow'
import type { CancellationScope } from '@temporalio/workflow'
import { failure } from '../protocol/failures.js'
import { QUERIES, SIGNALS, UPDATES } from '../protocol/messages.js'
import type { RemoveQueued, Respond } from '../protocol/messages.js'
import type { ControlSnapshot } from '../protocol/status.js'
import { responded, responseRefusal } from '../thread/call-answers.js'
import { acceptReport } from '../thread/children.js'
import type { ThreadControl } from '../thread/control.js'
import {
  acceptContinue,
  acceptMessage,
  acceptSetEnv,
  acceptStop,
  acceptTool,
  acceptUnknownSignal,
} from '../thread/inbox.js'
import { acceptOperations, itemRemoved, removalRefusal } from '../thread/operations.js'
import { snapshotOf } from '../thread/snapshot.js'
import type { ThreadHost } from './thread-host.js'
import type { Millis } from '../protocol/time.js'

type Accept = (control: ThreadControl, input: unknown, now: Millis) => ThreadControl

const ACCEPT: ReadonlyMap<string, Accept> = new Map<string, Accept>([
  [SIGNALS.queueMessage, acceptMessage],
  [SIGNALS.continue, (control, _input, now) => acceptContinue(control, now)],
  [SIGNALS.childReport, acceptReport],
  [SIGNALS.stop, acceptStop],
  [SIGNALS.queueTool, acceptTool],
  [SIGNALS.setEnv, acceptSetEnv],
  [SIGNALS.operations, acceptOperations],
])

const snapshotQuery = defineQuery<ControlSnapshot>(QUERIES.snapshot)

/** Registers all handlers of a thread, before the first await. */
export function registerHandlers(host: ThreadHost, root: CancellationScope): void {
  takeMessages(host, root)
  takeAnswers(host)
}

/**
 * Registers the handlers, before the first await. Signals have one handler for all names: with one each, those that wait
 * for a run's first task would be taken name by name and not in their order (T3). It is synchronous, checks the shape,
 * records and skips what is wrong, and never throws (T10).
 */
function takeMessages(host: ThreadHost, root: CancellationScope): void {
  setHandler(snapshotQuery, () => snapshotOf(host.control, { now: Date.now(), since: host.since }))
  setDefaultSignalHandler((name, input) => {
    host.countSignal()
    const accept = ACCEPT.get(name) ?? acceptUnknownSignal
    host.update((control) => accept(control, input, Date.now()))
    const { terminating, run } = host.control
    if (terminating) host.cut('terminate')
    else if (run !== null && run.stop !== null) host.cut('stop')
  })
  cutOnCancel(host, root)
}

/** T8: a run whose first task brings the cancellation knows of it before it acts, or continues as new without it. */
function cutOnCancel(host: ThreadHost, root: CancellationScope): void {
  const terminate = (): void => {
    host.update((control) => ({ ...control, terminating: true }))
    host.cut('terminate')
  }
  if (root.consideredCancelled) terminate()
  else root.cancelRequested.catch(terminate)
}

const removeQueuedUpdate = defineUpdate<void, [RemoveQueued]>(UPDATES.removeQueued)
const respondUpdate = defineUpdate<void, [Respond]>(UPDATES.respond)

/**
 * Registers the updates: one answers a request, one takes back what waits. One that is refused (as `Request.NotFound` or
 * `Request.Invalid`; a removal as `Item.NotFound` or `Item.Invalid`) leaves no trace, and both are synchronous: what was
 * accepted is in the state before anything else happens (T10).
 */
function takeAnswers(host: ThreadHost): void {
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
