import type { CallModelAnswer, CallRequest, ResultAnswer } from '../../src/protocol/activities.js'
import { LIMITS } from '../../src/protocol/limits.js'
import type { ThreadOperation } from '../../src/protocol/operations.js'
import type { Plan } from '../../src/protocol/plan.js'
import { advance } from '../../src/thread/advance.js'
import * as apply from '../../src/thread/apply.js'
import * as children from '../../src/thread/children.js'
import { carry, restore, shouldContinueAsNew } from '../../src/thread/continue-as-new.js'
import { initialControl } from '../../src/thread/control.js'
import type { Call, ThreadControl } from '../../src/thread/control.js'
import { factsSent } from '../../src/thread/facts.js'
import * as inbox from '../../src/thread/inbox.js'
import { nextAction } from '../../src/thread/next-action.js'
import type { Action } from '../../src/thread/next-action.js'
import * as settling from '../../src/thread/settling.js'
import { NOW, USAGE, dualPlan, plan } from './control-states.js'
import type { SeededRandom } from './seeded-random.js'

type Kind<K extends Action['kind']> = Extract<Action, { readonly kind: K }>

/** What a thread did, for a test to judge. */
export interface ThreadLog {
  /** Ids in the order in which the inbox took them. */
  readonly accepted: string[]
  /** Ids in the order in which model calls drained them. */
  readonly drained: string[]
  readonly actions: {
    readonly kind: Action['kind']
    readonly terminating: boolean
    readonly closing: boolean
  }[]
  /** Calls that were begun, by run and id: each once. */
  readonly begun: string[]
  /** Children whose rows exist. */
  readonly prepared: string[]
  /** How many of the accepted the closing transactions have met. */
  rejected: number
  /** How often each started child was answered for. */
  readonly answers: Map<string, number>
  /** Children whose answer became the result of their call. */
  readonly completed: string[]
  readonly carriedBytes: number[]
}

const LIFECYCLE = { stopTool: 'finish', sessionStop: 'close', sessionFail: 'give_up', maxSteps: 9 }
const TOOLS = ['work', 'work', 'ask', 'ask', 'nobody', 'constructor', 'finish', 'close', 'give_up']

/**
 * Runs the pure logic as the workflow does, in an environment that does whatever may happen, in whatever order the
 * numbers say: signals between and during actions, cuts, failures, closes of children, continue-as-new.
 */
export class RandomThread {
  control: ThreadControl
  readonly log: ThreadLog = {
    accepted: [],
    drained: [],
    actions: [],
    begun: [],
    prepared: [],
    rejected: 0,
    answers: new Map(),
    completed: [],
    carriedBytes: [],
  }
  readonly #random: SeededRandom
  readonly #plan: Plan
  /** Children that run, by reference, and whether this Temporal run sees them closing. */
  readonly #running = new Map<string, { readonly callId: string; observed: boolean }>()
  #now = NOW
  #made = 0
  #signals = 0

  constructor(random: SeededRandom) {
    this.#random = random
    const dual = random.chance(0.4)
    this.#plan = dual ? dualPlan(LIFECYCLE, { ...LIFECYCLE, stopOnResponse: false }) : plan(LIFECYCLE)
    const child = random.chance(0.3)
    this.control = initialControl(
      't',
      {
        agent: 'clerk',
        ...(child ? { parent: { threadId: 'p', callId: 'pc' }, resumable: false } : {}),
        ...(random.chance(0.5) ? { limits: { historyEvents: 0 } } : {}),
      },
      NOW,
    )
  }

  /** Acts until the thread waits or is closed. `events`: how many signals still come. */
  run(events: number): 'waits' | 'closed' {
    let left = events
    for (let turn = 0; turn < 4000; turn += 1) {
      this.#change(advance)
      const action = nextAction(this.control)
      if (action.kind === 'close') return 'closed'
      if (shouldContinueAsNew(this.control, this.#history())) this.#continueAsNew()
      const { terminating, closing } = this.control
      this.log.actions.push({ kind: action.kind, terminating, closing: closing !== null })
      const waits = action.kind === 'wait'
      if (waits && left === 0 && this.#running.size === 0) return 'waits'
      while (left > 0 && (waits || this.#random.chance(0.3))) {
        left -= 1
        this.#signal()
        if (waits) break
      }
      this.#perform(action)
    }
    throw new Error('Expected the thread to come to rest, got no end of actions.')
  }

  #change(change: (control: ThreadControl) => ThreadControl): void {
    const before = this.control
    const queued = new Set(before.queue.map(({ id }) => id))
    this.control = change(before)
    for (const { id } of this.control.queue) if (!queued.has(id)) this.log.accepted.push(id)
    const owed = new Set(this.control.children.map(({ reference }) => reference))
    for (const { reference } of before.children)
      if (!owed.has(reference)) this.log.answers.set(reference, (this.log.answers.get(reference) ?? 0) + 1)
  }

  #history() {
    const suggested = this.#random.chance(0.1)
    return {
      events: this.#random.below(400),
      bytes: this.#random.below(90_000),
      signals: this.#signals,
      suggested,
    }
  }

  #continueAsNew(): void {
    const json = JSON.stringify(carry(this.control))
    this.log.carriedBytes.push(Buffer.byteLength(json))
    this.control = restore(JSON.parse(json) as ThreadControl)
    this.#signals = 0
    for (const child of this.#running.values()) child.observed = false
  }

  #signal(): void {
    const random = this.#random
    this.#signals += 1
    this.#now += random.below(1000)
    const id = `m${(this.#made += 1)}`
    const past = this.log.accepted.filter((accepted) => accepted.startsWith('m'))
    const now = this.#now
    const signals: readonly ((control: ThreadControl) => ThreadControl)[] = [
      (control) => inbox.acceptMessage(control, { messageId: id }, now),
      (control) =>
        inbox.acceptMessage(control, { messageId: id, role: random.pick(['user', 'assistant']) }, now),
      (control) =>
        inbox.acceptMessage(control, { messageId: id, from: random.pick(['parent', 'tool']) }, now),
      (control) => inbox.acceptMessage(control, { content: '\u0001'.repeat(random.below(4096) + 1) }, now),
      // Sent again while it waits: one of the queue, or nothing that is not there already.
      (control) =>
        inbox.acceptMessage(control, { messageId: past.find((sent) => waits(control, sent)) }, now),
      (control) => inbox.acceptMessage(control, random.pick([undefined, { undecodable: true }, 7]), now),
      (control) => inbox.acceptContinue(control, now),
      inbox.acceptUnknownSignal,
      (control) => inbox.acceptStop(control, random.pick([undefined, { runId: 'run_1' }, [1]])),
      (control) => children.acceptReport(control, random.pick([null, this.#strangeReport()]), now),
      (control) => (random.chance(0.05) ? { ...control, terminating: true } : control),
    ]
    this.#change(random.pick(signals))
    if (random.chance(0.3)) this.#endChild()
  }

  #strangeReport() {
    return { reference: 'stranger', report: 1, invocations: ['c'], kind: 'result', messageId: 'stranger:1' }
  }

  /** A child ends: with a report before its close, or without one. */
  #endChild(): void {
    const ends = [...this.#running.entries()][0]
    if (ends === undefined) return
    const [reference, { callId, observed }] = ends
    this.#running.delete(reference)
    const report = { reference, report: 1, invocations: [callId], messageId: `${reference}:report:1` }
    const kind = this.#random.pick(['result', 'failure'])
    if (this.#random.chance(0.7))
      for (let sent = this.#random.pick([1, 2]); sent > 0; sent -= 1)
        this.#change((control) => children.acceptReport(control, { ...report, kind }, this.#now))
    const status = this.#random.pick(['completed', 'failed', 'terminated'])
    if (observed) this.#change((control) => children.childClosed(control, { reference, status }, this.#now))
  }

  #perform(action: Exclude<Action, { readonly kind: 'close' }>): void {
    this.#now += 1
    switch (action.kind) {
      case 'wait':
      case 'awaitChild':
        return this.#wait()
      case 'callModel':
        return this.#callModel(action)
      case 'executeTool':
      case 'prepareChild':
        return this.#call(action)
      case 'startChild':
        return this.#startChild(action)
      case 'stopChild':
        return this.#change((control) => children.stopForwarded(control, action.call.id))
      case 'completeCall':
        return this.#complete(action)
      case 'deliverReport':
        return this.#deliver(action)
      case 'announceReport':
        return this.#change(settling.reportAnnounced)
      case 'settle':
        return this.#settle(action)
      case 'cancelChild':
        return this.#change((control) => settling.childTold(control, action.reference))
    }
  }

  /** Time passes until something is due; a child that nobody sees is looked for. */
  #wait(): void {
    if (this.#random.chance(0.5)) this.#endChild()
    const at = children.nextCheckAt(this.control)
    if (at === null) return
    this.#now = Math.max(this.#now, at)
    const references = children.childrenToCheck(this.control, this.#now)
    const closed = references
      .filter((reference) => !this.#running.has(reference))
      .map((reference) => ({ reference, status: 'failed' }))
    this.#change((control) => children.childrenChecked(control, references, closed, this.#now))
  }

  #stored(): void {
    const { facts, factsDropped } = this.control
    this.#change((control) => factsSent(control, facts, factsDropped))
  }

  #callModel({ run, side, drain }: Kind<'callModel'>): void {
    if (this.#random.chance(0.05)) return this.#change(apply.activityFailed)
    if (this.control.run?.stopRequested === true && this.#random.chance(0.5)) return
    const answer = this.#modelAnswer(run.number, run.steps + 1)
    this.log.drained.push(...drain.map(({ id }) => id))
    this.#change((control) => apply.modelAnswered(control, { side, drain }, answer))
    this.#stored()
  }

  #modelAnswer(run: number, step: number): Exclude<CallModelAnswer, { readonly type: 'terminated' }> {
    const random = this.#random
    if (random.chance(0.05)) return { type: 'end', reason: 'model_failed', outcome: 'failed' }
    if (random.chance(0.05)) return { type: 'nothing_to_do', plan: this.#plan }
    if (random.chance(0.05)) return { type: 'interrupted', plan: this.#plan }
    const calls: CallRequest[] = Array.from({ length: random.pick([0, 0, 1, 2, 3]) }, (_, index) => ({
      id: `call_${run}_${step}_${index}`,
      name: random.pick(TOOLS),
    }))
    return { type: 'answered', plan: this.#plan, text: random.chance(0.6), calls, usage: USAGE }
  }

  #call({ kind, call }: Kind<'executeTool' | 'prepareChild'>): void {
    this.log.begun.push(call.id)
    if (this.#random.chance(0.05)) return this.#change(apply.activityFailed)
    if (this.#random.chance(0.02)) return this.#change(apply.terminationFound)
    if (kind === 'prepareChild' && this.#random.chance(0.8)) {
      const reference = `child-${call.id}`
      this.log.prepared.push(reference)
      const child = { type: 'child', reference, agent: 'helper', messageId: `${reference}:first` } as const
      return this.#change((control) => apply.childPrepared(control, call.id, child, this.#now))
    }
    this.#change((control) => apply.callAnswered(control, call.id, this.#result(call), this.#now))
    this.#stored()
  }

  #result(call: Call): ResultAnswer {
    const random = this.#random
    if (random.chance(0.3)) return { type: 'result', outcome: 'failed', errorDigest: random.pick(['x', 'y']) }
    const operations: ThreadOperation[] = []
    if (random.chance(0.2)) operations.push({ kind: 'queue_message', id: `${call.id}:q`, role: 'user' })
    if (random.chance(0.02)) operations.push({ kind: 'terminate' })
    return { type: 'result', outcome: 'succeeded', operations }
  }

  #startChild({ call }: Kind<'startChild'>): void {
    const observed = this.#random.chance(0.7)
    this.#running.set(call.reference, { callId: call.id, observed })
    this.log.answers.set(call.reference, 0)
    this.#change((control) => children.childStarted(control, call, observed))
  }

  #complete({ call }: Kind<'completeCall'>): void {
    this.log.completed.push(call.reference)
    const answer = { type: 'result', outcome: 'succeeded' } as const
    this.#change((control) => apply.callAnswered(control, call.id, answer, this.#now))
  }

  #deliver({ ending }: Kind<'deliverReport'>): void {
    const gone = this.#random.chance(0.2)
    const answer = gone
      ? ({ type: 'parent_gone' } as const)
      : ({ type: 'delivered', messageId: 'r' } as const)
    this.#change((control) => settling.reportDelivered(control, ending, answer))
  }

  #settle({ ending, close }: Kind<'settle'>): void {
    this.#change((control) => settling.withCutStep(control, ending, this.#now))
    const queued = this.control.queue.length
    if (close !== null) this.log.rejected = this.log.accepted.length
    if (this.#random.chance(0.3)) this.#signal()
    this.#change((control) => settling.settled(control, { ending, close, queued }, this.#now))
    this.#stored()
  }
}

function waits(control: ThreadControl, id: string): boolean {
  return control.queue.some((entry) => entry.id === id)
}

export const MOST_CARRIED = LIMITS.carriedStateBytes
