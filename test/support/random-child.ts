import type { CallModelAnswer } from '../../src/protocol/activities.js'
import type { DeliverReportAnswer } from '../../src/protocol/end-activities.js'
import { advance } from '../../src/thread/advance.js'
import * as apply from '../../src/thread/apply.js'
import { applyCallResult } from '../../src/thread/call-answers.js'
import { carry, restore, shouldContinueAsNew } from '../../src/thread/continue-as-new.js'
import type { CarriedControl } from '../../src/thread/continue-as-new.js'
import type { ThreadControl } from '../../src/thread/control.js'
import * as inbox from '../../src/thread/inbox.js'
import * as models from '../../src/thread/model-answers.js'
import { nextAction } from '../../src/thread/next-action.js'
import type { Action } from '../../src/thread/next-action.js'
import { acceptOperations, removeOutbound } from '../../src/thread/operations.js'
import * as reports from '../../src/thread/reports.js'
import { endingOf } from '../../src/thread/run.js'
import type { Call } from '../../src/thread/run.js'
import * as settling from '../../src/thread/settling.js'
import { NOW, USAGE, idleControl, plan, resultOf } from './control-states.js'
import { isFresh } from './random-answers.js'
import type { SeededRandom } from './seeded-random.js'

type Kind<K extends Action['kind']> = Extract<Action, { readonly kind: K }>
type ModelAnswer = Exclude<CallModelAnswer, { readonly type: 'terminated' }>

const PLAN = plan({ sessionStop: 'close', maxSteps: 6 })
const BLOCKED = { type: 'end', reason: 'blocked', outcome: 'blocked' } as const
const MISSING = { type: 'end', reason: 'definition_missing', outcome: 'failed' } as const

/** What a parent would have learned of its child. */
export interface ChildLog {
  /** Calls whose messages the child took. */
  readonly asked: string[]
  /** Those that came when the last report was on its way or announced. */
  readonly late: string[]
  /** Calls that announced reports named, each time. */
  readonly answered: string[]
  readonly numbers: number[]
  /** What was wrong at the moment when it happened. */
  readonly broken: string[]
  parentGone: boolean
}

/** One life of a child under whatever its parent, its users, its model, its store and its worker may do. */
const SIZE = { events: 1, bytes: 1 }
const HISTORY = { ...SIZE, atLastAction: SIZE, began: 0, signals: 1, suggested: false }

export class RandomChild {
  control: ThreadControl
  readonly log: ChildLog = {
    asked: [],
    late: [],
    answered: [],
    numbers: [],
    broken: [],
    parentGone: false,
  }
  readonly #random: SeededRandom
  #ids = 0
  #lastTold = false

  constructor(random: SeededRandom) {
    this.#random = random
    const start = { parent: { threadId: 'p', callId: 'first' }, resumable: random.chance(0.75) }
    this.control = idleControl({ ...start, limits: { historyEvents: 0 } })
    this.#ask('first')
  }

  /** Acts until the child waits for nothing that would come by itself, or is closed. */
  run(events: number): 'waits' | 'closed' {
    let left = events
    for (let turn = 0; turn < 3000; turn += 1) {
      this.#change(advance)
      if (shouldContinueAsNew(this.control, HISTORY)) this.#continueAsNew()
      const action = nextAction(this.control)
      if (action.kind === 'close') return 'closed'
      if (action.kind === 'wait' && left === 0) return 'waits'
      if (action.kind === 'announceReport' && action.report.closes === true) this.#lastTold = true
      const waits = action.kind === 'wait'
      while (left > 0 && (waits || this.#random.chance(0.25))) {
        left -= 1
        this.#signal()
        if (waits) break
      }
      this.#perform(action)
    }
    throw new Error('Expected the child to come to rest, got no end of actions.')
  }

  #change(change: (control: ThreadControl) => ThreadControl): void {
    this.control = change(this.control)
  }

  #continueAsNew(): void {
    const carried = JSON.parse(JSON.stringify(carry(this.control))) as CarriedControl
    this.control = restore(carried, this.control.start)
  }

  #ask(invocation: string): void {
    const input = { messageId: `m-${invocation}`, from: 'parent', invocation } as const
    this.log[this.#lastTold ? 'late' : 'asked'].push(invocation)
    this.#change((control) => inbox.acceptMessage(control, input, NOW))
  }

  #signal(): void {
    const random = this.#random
    const id = `x${(this.#ids += 1)}`
    const queued = this.control.queue[0]?.id ?? 'nothing'
    if (random.chance(0.35)) return this.#ask(`c${this.#ids}`)
    const change = random.pick<(control: ThreadControl) => ThreadControl>([
      (control) => inbox.acceptStop(control, undefined),
      (control) => inbox.acceptStop(control, { children: false }),
      (control) => inbox.goOn(control, NOW),
      (control) => inbox.acceptMessage(control, { messageId: id }, NOW),
      (control) => inbox.acceptMessage(control, { messageId: id, from: 'child' }, NOW),
      (control) => inbox.acceptSetEnv(control, { names: ['A'] }, NOW),
      (control) => inbox.acceptTool(control, { toolCallId: id, name: 'work' }, NOW),
      (control) => acceptOperations(control, { operations: [{ kind: 'remove_queued', id: queued }] }, NOW),
      (control) => acceptOperations(control, { operations: [{ kind: 'queue_tool', id, name: 'work' }] }, NOW),
      (control) => (random.chance(0.15) ? { ...control, terminating: true } : control),
    ])
    this.#change(change)
  }

  #perform(action: Exclude<Action, { readonly kind: 'close' }>): void {
    switch (action.kind) {
      case 'callModel':
        return this.#callModel(action)
      case 'executeTool':
        return this.#executeTool(action.call)
      case 'waitUntil':
        return endingOf(this.control) === null ? this.#change(apply.endWait) : undefined
      case 'sendOutbound':
        return this.#change(removeOutbound)
      case 'deliverReport':
        return this.#deliver(action)
      case 'announceReport':
        return this.#announce(action)
      case 'settle':
        return this.#settle(action)
      case 'wait':
        return undefined
      default:
        throw new Error(`Expected a child without children, got ${action.kind}.`)
    }
  }

  #callModel({ run, side, asked, toolFirst, drain }: Kind<'callModel'>): void {
    this.#change((control) => models.forgetRevival(control, drain))
    if (this.#random.chance(0.1))
      return this.#change((control) => apply.applyActivityFailure(control, 'failed'))
    if (run.stop !== null && this.#random.chance(0.5)) return
    const answer = this.#answer(run.began === 'not_yet' && isFresh(run), toolFirst)
    if (this.#random.chance(0.2)) this.#signal()
    const called = { side, asked, toolFirst, drain }
    this.#change((control) => models.applyModelAnswer(control, called, answer, NOW))
  }

  #answer(first: boolean, toolFirst: boolean): ModelAnswer {
    const random = this.#random
    const request = { id: `v${(this.#ids += 1)}`, kind: 'variables' }
    if (random.chance(0.1)) return { ...BLOCKED, request }
    if (random.chance(0.05)) return MISSING
    if (random.chance(0.05)) return { type: 'interrupted', plan: PLAN }
    if (random.chance(0.1)) return { type: 'wait', until: NOW, plan: PLAN }
    if (toolFirst) return { type: 'begun', plan: PLAN }
    if (first && random.chance(0.2)) return { type: 'nothing_to_do', plan: PLAN }
    const names = random.pick([[], [], ['work'], ['work', 'close'], ['close']])
    const calls = names.map((name) => ({ id: `call-${(this.#ids += 1)}`, name }))
    return { type: 'answered', plan: PLAN, text: random.chance(0.7), calls, usage: USAGE }
  }

  #executeTool(call: Call): void {
    const random = this.#random
    const operation = { kind: 'queue_message', id: 'note', role: 'user' } as const
    const operations = random.pick([
      [],
      [],
      [{ kind: 'signal_thread', to: 'p', operation } as const],
      [{ kind: 'stop_run' } as const],
    ])
    const answer = random.chance(0.2) ? resultOf('failed') : resultOf('succeeded', { operations })
    this.#change((control) => applyCallResult(control, call.id, answer, NOW))
  }

  #deliver({ due }: Kind<'deliverReport'>): void {
    const random = this.#random
    const answer = random.pick<DeliverReportAnswer>([
      ...[1, 2, 3, 4].map(() => ({ type: 'delivered', kind: 'result', messageId: 'r' }) as const),
      { type: 'delivered', kind: 'notice', messageId: null },
      { type: 'delivered', kind: 'failure', messageId: 'r' },
      random.chance(0.2) ? { type: 'parent_gone' } : { type: 'delivered', kind: 'failure', messageId: 'r' },
    ])
    if (answer.type === 'parent_gone') this.log.parentGone = true
    if (random.chance(0.3)) this.#signal()
    this.#change((control) => reports.applyDeliveredReport(control, due, answer))
  }

  #announce({ report }: Kind<'announceReport'>): void {
    if (this.control.run !== null) this.log.broken.push('announced before its run was settled')
    if (this.control.outbound.length > 0) this.log.broken.push('announced before others were told')
    const gone = this.#random.chance(0.03)
    if (gone) this.log.parentGone = true
    this.log.answered.push(...report.invocations)
    this.log.numbers.push(report.report)
    this.#change((control) => reports.applyAnnouncement(control, gone ? 'gone' : 'delivered'))
    if (this.#random.chance(0.2)) this.#signal()
  }

  #settle({ ending, close }: Kind<'settle'>): void {
    this.#change((control) => settling.interruptStep(control, ending, NOW))
    const queued = this.control.queue.length
    if (this.#random.chance(0.3)) this.#signal()
    this.#change((control) => settling.applySettle(control, { ending, close, queued }, NOW))
  }
}
