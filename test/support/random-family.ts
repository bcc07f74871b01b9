import type { PrepareChildAnswer } from '../../src/protocol/activities.js'
import type { ThreadOperation } from '../../src/protocol/operations.js'
import type { PreparedChild } from '../../src/protocol/status.js'
import * as answers from '../../src/thread/call-answers.js'
import * as calls from '../../src/thread/child-calls.js'
import { markChildCancelled } from '../../src/thread/child-calls.js'
import { markStopForwarded } from '../../src/thread/calls.js'
import * as deferred from '../../src/thread/children.js'
import { applyChildChecks, listChildrenToCheck } from '../../src/thread/children.js'
import type { ThreadControl } from '../../src/thread/control.js'
import type { Action } from '../../src/thread/next-action.js'
import type { Call } from '../../src/thread/run.js'
import { RandomChildren } from './random-children.js'
import type { SeededRandom } from './seeded-random.js'
import type { ThreadLog } from './thread-log.js'

type Kind<K extends Action['kind']> = Extract<Action, { readonly kind: K }>
type FamilyAction = Kind<
  'startChildren' | 'sendMessage' | 'stopChildren' | 'cancelTimedOut' | 'startDeferred' | 'expireChild'
>

interface Host {
  readonly control: ThreadControl
  readonly log: ThreadLog
  readonly now: number
  change(change: (control: ThreadControl) => ThreadControl): void
}

/** What a thread's activities and Temporal do for its subagents. */
export class RandomFamily {
  readonly children: RandomChildren
  readonly #groups = new Map<string, string>()
  readonly #random: SeededRandom
  readonly #host: Host
  #made = 0

  constructor(random: SeededRandom, host: Host) {
    this.children = new RandomChildren(random, host)
    this.#random = random
    this.#host = host
  }

  /** Null: the activity answers something else. */
  prepareChild(call: Call): ((control: ThreadControl) => ThreadControl) | null {
    const random = this.#random
    const { now } = this.#host
    if (random.chance(0.15)) return null
    if (random.chance(0.15)) return this.#deferred(call, now)
    const count = random.pick([1, 1, 1, 2, 4])
    const resumable = random.chance(0.5)
    const children = Array.from({ length: count }, () => this.#newChild(resumable))
    const group = count > 1 || random.chance(0.2)
    this.#host.log.prepared.push(...children.map(({ reference }) => reference))
    if (group) for (const { reference } of children) this.#groups.set(reference, call.id)
    const timeout = random.chance(0.4) ? { timeout: random.below(60_000) } : {}
    const blocking = random.chance(0.6)
    const answer: PrepareChildAnswer = { type: 'children', children, group, blocking, ...timeout }
    return (control) => calls.applyPreparedChildren(control, call.id, answer, now)
  }

  /** Null: the activity answers something else. */
  prepareMessage(call: Call): ((control: ThreadControl) => ThreadControl) | null {
    const random = this.#random
    const { now, control: known, log } = this.#host
    const child = deferred
      .listOpenChildren(known)
      .filter(({ resumable }) => resumable)
      .at(-1 - random.below(2))
    if (child === undefined || random.chance(0.1)) return null
    const { reference } = child
    if (!this.children.running.includes(reference) && random.chance(0.5)) {
      const closed: ThreadOperation = { kind: 'child_closed', reference, status: 'failed' }
      log.results.push(call.id)
      const result = { type: 'result', outcome: 'failed', operations: [closed] } as const
      return (control) => answers.applyCallResult(control, call.id, result, now)
    }
    // Its close or last report may come while the message is written.
    if (random.chance(0.2)) this.children.act()
    const timeout = random.chance(0.4) ? { timeout: random.below(60_000) } : {}
    const about = { reference, messageId: `${call.id}:message`, role: 'user' } as const
    const answer = { type: 'message', ...about, blocking: random.chance(0.6), ...timeout } as const
    return (control) => calls.applyPreparedMessage(control, call.id, answer, now)
  }

  perform(action: FamilyAction): void {
    const host = this.#host
    const { now } = host
    switch (action.kind) {
      case 'startChildren':
        return this.#startAll(action.call)
      case 'sendMessage':
        return this.#send(action.call)
      case 'stopChildren':
        return host.change((control) => markStopForwarded(control, action.call.id, action.references))
      case 'cancelTimedOut':
        this.children.cancel(action.reference)
        return host.change((control) => markChildCancelled(control, action.call.id, action.reference))
      case 'startDeferred':
        host.change((control) => deferred.openDeferred(control, action.deferred, now))
        return this.#startDeferred(action)
      case 'expireChild':
        return this.#expire(action)
    }
  }

  /** Looks for children that are due. */
  check(): void {
    const host = this.#host
    const references = listChildrenToCheck(host.control, host.now)
    const closed = references
      .filter((reference) => !this.children.running.includes(reference))
      .map((reference) => ({ reference, status: 'failed' }))
    host.change((control) => applyChildChecks(control, references, closed, host.now))
  }

  #startAll(call: Kind<'startChildren'>['call']): void {
    for (const { reference, resumable } of call.starting) {
      const isObserved = this.#random.chance(0.7)
      const group = this.#groups.get(reference) ?? null
      this.children.start({ reference, resumable, group }, call.id, isObserved)
      // It may be over before its started event is seen.
      if (this.#random.chance(0.1)) this.children.act()
      const started = { callId: call.id, reference, isObserved }
      this.#host.change((control) => calls.applyChildStart(control, started, this.#host.now))
    }
  }

  #send({ id: callId, reference }: Kind<'sendMessage'>['call']): void {
    if (this.#random.chance(0.1)) this.children.act()
    const host = this.#host
    const lost = { callId, reference, status: 'not_found' }
    const sent = this.children.send(reference, callId)
    host.change((control) =>
      sent ? calls.onMessageSent(control, callId, host.now) : calls.onMessageLost(control, lost, host.now),
    )
  }

  #startDeferred({ deferred: waiting }: Kind<'startDeferred'>): void {
    const { reference, resumable, callId } = waiting
    const isObserved = this.#random.chance(0.7)
    this.#host.log.prepared.push(reference)
    this.children.start({ reference, resumable, group: null }, callId, isObserved)
    if (this.#random.chance(0.1)) this.children.act()
    this.#host.change((control) =>
      deferred.applyDeferredStart(control, waiting, { isObserved, now: this.#host.now }),
    )
  }

  #expire({ deferred: { requestId } }: Kind<'expireChild'>): void {
    const host = this.#host
    if (this.#random.chance(0.2))
      return host.change((control) => deferred.postponeExpiry(control, requestId, host.now))
    // The store may have had the answer before its workflow.
    const messageId = this.#random.chance(0.3) ? null : `expired:${requestId}`
    if (messageId !== null) host.log.expired.push(requestId)
    host.change((control) => deferred.applyChildExpiry(control, requestId, messageId, host.now))
  }

  #deferred(call: Call, now: number): (control: ThreadControl) => ThreadControl {
    const requestId = `env-${(this.#made += 1)}`
    const child = this.#newChild(this.#random.chance(0.5))
    const { log } = this.#host
    log.deferred.push(requestId)
    log.requests.push(requestId)
    log.results.push(call.id)
    const expiresAt = now + this.#random.below(90_000)
    const defer: ThreadOperation = { kind: 'defer_child', requestId, child, expiresAt }
    const result = { type: 'result', outcome: 'failed', operations: [defer] } as const
    return (control) => answers.applyCallResult(control, call.id, result, now)
  }

  #newChild(resumable: boolean): PreparedChild {
    const reference = `child-${(this.#made += 1)}`
    return { reference, agent: 'helper', messageId: `${reference}:first`, resumable }
  }
}
