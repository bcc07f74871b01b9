/**
 * One Temporal run of a thread: its mutable cell, and the handlers of signals, updates and the query that change or read it.
 */
import {
  CancellationScope,
  defineQuery,
  defineUpdate,
  setDefaultSignalHandler,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow'

import type { ThreadControl } from '../thread/control.js'
import type { Millis } from '../protocol/time.js'
import { failure } from '../protocol/failures.js'
import { QUERIES, SIGNALS, UPDATES } from '../protocol/messages.js'
import type { PromoteQueued, RemoveQueued, Respond } from '../protocol/messages.js'
import type { ControlSnapshot } from '../protocol/status.js'
import { applyResponse, responseRefusal } from '../thread/call-answers.js'
import { acceptReport } from '../thread/children.js'
import {
  acceptContinue,
  acceptMessage,
  acceptSetEnv,
  acceptStop,
  acceptTool,
  acceptUnknownSignal,
  gotItemWithoutRow,
} from '../thread/inbox.js'
import {
  acceptOperations,
  promoteQueuedItem,
  promotionRefusal,
  removeQueuedItem,
  removalRefusal,
} from '../thread/operations.js'
import { snapshotOf } from '../thread/snapshot.js'

/** `stop` cancels what a stop interrupts; `terminate` cancels everything. */
type Interruption = 'stop' | 'terminate'

interface Interruptible {
  readonly by: Interruption
  /** Called once, when the work is cancelled. */
  readonly onInterrupt?: (by: Interruption) => void
  /** Called once, when an item comes that has no row in the store: the work is to go on no further. */
  readonly onNews?: () => void
}

/** The mutable cell of one Temporal run: the control state, what is in flight, what was shown. */
export interface ThreadHost {
  readonly control: ThreadControl
  readonly level: number
  /** Bytes of its history when this Temporal run began. */
  readonly began: number
  /** Its history when the last action began. */
  readonly atLastAction: { readonly events: number; readonly bytes: number }
  /** Signals and updates that this Temporal run took. */
  readonly signals: number
  /** When the action under way began, in milliseconds. */
  readonly since: Millis
  /** Changes the control state by the thread's own work. */
  update(change: Change): void
  /** Changes it by what comes from outside, at any time; while an action is under way, the change is remembered. */
  receive(change: Change): void
  countSignal(): void
  /** Runs something that a stop or terminate may cancel. */
  cancellable<T>(work: () => Promise<T>, interruptible: Interruptible): Promise<T>
  /** Cancels the work in flight, if this interrupts it. */
  interrupt(by: Interruption): void
  /** Tells the work in flight that an item without a row waits. */
  tellNews(): void
  /** An action that gets the state as it is now begins. */
  beginAction(now: Millis): void
  /** It has ended; returns what was received meanwhile, in order. */
  endAction(): readonly Change[]
}

/** A change of the control state. It is applied again where an activity has done more than its workflow knew. */
type Change = (control: ThreadControl) => ThreadControl

/** The host of this Temporal run, with all handlers registered: it is created before the first await. */
export function createThreadHost(initial: ThreadControl, level: number, root: CancellationScope): ThreadHost {
  const host = createCell(initial, level)
  takeMessages(host, root)
  takeAnswers(host)
  return host
}

function createCell(initial: ThreadControl, level: number): ThreadHost {
  const began = workflowInfo().historySize
  let atLastAction = readHistory()
  let control = initial
  let signals = 0
  let since = Date.now()
  let received: Change[] | null = null
  return {
    ...createInterruption(),
    get control() {
      return control
    },
    get signals() {
      return signals
    },
    get atLastAction() {
      return atLastAction
    },
    get since() {
      return since
    },
    level,
    began,
    update: (change) => {
      control = change(control)
    },
    receive: (change) => {
      control = change(control)
      received?.push(change)
    },
    countSignal: () => {
      signals += 1
    },
    beginAction: (now) => {
      since = now
      atLastAction = readHistory()
      received = []
    },
    endAction: () => {
      const changes = received ?? []
      received = null
      return changes
    },
  }
}

/** What is in flight, and may be interrupted. */
function createInterruption(): Pick<ThreadHost, 'cancellable' | 'interrupt' | 'tellNews'> {
  let inFlight: Interruptible | null = null
  let scope: CancellationScope | null = null
  return {
    // One scope serves until it is cancelled, since each new one would stay in memory with the run's root scope.
    cancellable: (work, interruptible) => {
      if (scope === null || scope.consideredCancelled) scope = new CancellationScope({ cancellable: true })
      inFlight = interruptible
      const end = (): void => void (inFlight = null)
      const running = scope.run(work)
      // Not awaited, since one more promise would cost time in each step.
      running.then(end, end)
      return running
    },
    interrupt: (by) => {
      if (inFlight === null || scope === null || scope.consideredCancelled) return
      if (by !== 'terminate' && inFlight.by !== by) return
      scope.cancel()
      inFlight.onInterrupt?.(by)
    },
    tellNews: () => {
      const { onNews } = inFlight ?? {}
      if (inFlight === null || onNews === undefined) return
      inFlight = { ...inFlight, onNews: () => undefined }
      onNews()
    },
  }
}

function readHistory(): ThreadHost['atLastAction'] {
  const { historyLength, historySize } = workflowInfo()
  return { events: historyLength, bytes: historySize }
}

type Accept = (control: ThreadControl, input: unknown, now: Millis) => ThreadControl

const ACCEPT: ReadonlyMap<string, Accept> = new Map<string, Accept>([
  [SIGNALS.queueMessage, acceptMessage],
  [SIGNALS.continue, acceptContinue],
  [SIGNALS.childReport, acceptReport],
  [SIGNALS.stop, acceptStop],
  [SIGNALS.queueTool, acceptTool],
  [SIGNALS.setEnv, acceptSetEnv],
  [SIGNALS.operations, acceptOperations],
])

const snapshotQuery = defineQuery<ControlSnapshot>(QUERIES.snapshot)

/**
 * Registers the handlers of signals and the query. Signals have one handler for all names: with one each, the signals that wait
 * for a run's first task would come name by name and not in their order (T3). The handler is synchronous, checks the shape,
 * records and skips what is wrong, and never throws (T10).
 */
function takeMessages(host: ThreadHost, root: CancellationScope): void {
  setHandler(snapshotQuery, () => snapshotOf(host.control, { now: Date.now(), since: host.since }))
  setDefaultSignalHandler((name, input) => {
    host.countSignal()
    const accept = ACCEPT.get(name) ?? acceptUnknownSignal
    const now = Date.now()
    const before = host.control
    host.receive((control) => accept(control, input, now))
    if (gotItemWithoutRow(before, host.control)) host.tellNews()
    const { terminating, run } = host.control
    if (terminating) host.interrupt('terminate')
    else if (run !== null && run.stop !== null) host.interrupt('stop')
  })
  interruptOnCancel(host, root)
}

/** T8: a cancellation in the first task of a run counts before the run acts, or it would continue as new without it. */
function interruptOnCancel(host: ThreadHost, root: CancellationScope): void {
  const terminate = (): void => {
    host.receive((control) => ({ ...control, terminating: true }))
    host.interrupt('terminate')
  }
  if (root.consideredCancelled) terminate()
  else root.cancelRequested.catch(terminate)
}

const removeQueuedUpdate = defineUpdate<void, [RemoveQueued]>(UPDATES.removeQueued)

const promoteQueuedUpdate = defineUpdate<void, [PromoteQueued]>(UPDATES.promoteQueued)

const respondUpdate = defineUpdate<void, [Respond]>(UPDATES.respond)

/**
 * Registers the updates: one responds to a request, one removes a queued item, one promotes it. A refused update (`Request.NotFound`
 * or `Request.Invalid`; for an item `Item.NotFound` or `Item.Invalid`) leaves no trace. All are synchronous: an accepted update
 * is in the state before anything else happens (T10).
 */
function takeAnswers(host: ThreadHost): void {
  setHandler(
    respondUpdate,
    (answer) => {
      host.countSignal()
      const now = Date.now()
      host.receive((control) => applyResponse(control, answer, now))
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
      host.receive((control) => removeQueuedItem(control, item))
    },
    {
      validator: (item) => {
        const refusal = removalRefusal(host.control, item)
        if (refusal !== null) throw failure(refusal)
      },
    },
  )
  setHandler(
    promoteQueuedUpdate,
    (item) => {
      host.countSignal()
      host.receive((control) => promoteQueuedItem(control, item))
    },
    {
      validator: (item) => {
        const refusal = promotionRefusal(host.control, item)
        if (refusal !== null) throw failure(refusal)
      },
    },
  )
}
