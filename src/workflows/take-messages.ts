import { defineQuery, defineSignal, setDefaultSignalHandler, setHandler } from '@temporalio/workflow'
import type { CancellationScope } from '@temporalio/workflow'
import { QUERIES, SIGNALS } from '../protocol/messages.js'
import type { ControlSnapshot } from '../protocol/snapshot.js'
import { acceptReport } from '../thread/children.js'
import type { ThreadControl } from '../thread/control.js'
import { acceptContinue, acceptMessage, acceptStop, acceptUnknownSignal } from '../thread/inbox.js'
import { snapshotOf } from '../thread/snapshot.js'
import type { ThreadHost } from './thread-host.js'

type Accept = (control: ThreadControl, input: unknown, now: number) => ThreadControl

const snapshotQuery = defineQuery<ControlSnapshot>(QUERIES.snapshot)

/**
 * Registers every handler, before the first await. All are synchronous: they check the shape, record and skip what is
 * wrong, and never throw (T10).
 */
export function takeMessages(host: ThreadHost, root: CancellationScope): void {
  const on = (name: string, accept: Accept): void => {
    setHandler(defineSignal<[unknown]>(name), (input) => {
      host.countSignal()
      host.update((control) => accept(control, input, Date.now()))
    })
  }
  on(SIGNALS.queueMessage, acceptMessage)
  on(SIGNALS.continue, (control, _input, now) => acceptContinue(control, now))
  on(SIGNALS.childReport, acceptReport)
  on(SIGNALS.stop, (control, input) => {
    const next = acceptStop(control, input)
    if (next.run?.stopRequested === true) host.cut()
    return next
  })
  setHandler(snapshotQuery, () => snapshotOf(host.control, { now: Date.now(), since: host.since }))
  setDefaultSignalHandler(() => {
    host.countSignal()
    host.update(acceptUnknownSignal)
  })
  cutOnCancel(host, root)
}

function cutOnCancel(host: ThreadHost, root: CancellationScope): void {
  root.cancelRequested.catch(() => {
    host.update((control) => ({ ...control, terminating: true }))
    host.cut()
  })
}
