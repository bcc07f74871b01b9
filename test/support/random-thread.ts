import type { Plan } from '../../src/protocol/plan.js'
import { advance } from '../../src/thread/advance.js'
import * as apply from '../../src/thread/apply.js'
import * as answers from '../../src/thread/call-answers.js'
import { listOpenRequests, applyResponse, responseRefusal } from '../../src/thread/call-answers.js'
import { expireWait } from '../../src/thread/child-calls.js'
import {
  listClosedChildren,
  forgetClosedChildren,
  nextCheckAt,
  listOpenChildren,
} from '../../src/thread/children.js'
import { carry, restore, shouldContinueAsNew, initialControl } from '../../src/thread/continue-as-new.js'
import type { CarriedControl } from '../../src/thread/continue-as-new.js'
import type { ThreadControl } from '../../src/thread/control.js'
import { forgetSentFacts } from '../../src/thread/facts.js'
import * as models from '../../src/thread/model-answers.js'
import { applyDueTimes, nextAction, nextDueAt } from '../../src/thread/next-action.js'
import type { Action } from '../../src/thread/next-action.js'
import { giveUpEffect, completeEffect, forgetGivenUp, removeOutbound } from '../../src/thread/operations.js'
import * as reports from '../../src/thread/reports.js'
import { endingOf } from '../../src/thread/run.js'
import type { CallRequest, Run } from '../../src/thread/run.js'
import * as settling from '../../src/thread/settling.js'
import { dualPlan, NOW, plan } from './control-states.js'
import { RandomAnswers } from './random-answers.js'
import { RandomFamily } from './random-family.js'
import { randomSignal } from './random-signals.js'
import type { SeededRandom } from './seeded-random.js'
import { keyOf, ThreadLog } from './thread-log.js'

type Kind<K extends Action['kind']> = Extract<Action, { readonly kind: K }>
type Change = (control: ThreadControl) => ThreadControl

const WAITS: readonly Action['kind'][] = ['wait', 'awaitChildren', 'awaitAnswer', 'awaitModel']
const LIFECYCLE = { stopTool: 'finish', sessionStop: 'close', sessionFail: 'give_up', maxSteps: 9 }

/**
 * Runs the pure logic as the workflow does, in an environment that does whatever may happen, in whatever order the
 * numbers say: signals and answers between and during actions, cuts, failures, waits, closes of children, due effects,
 * continue-as-new.
 */
export class RandomThread {
  control: ThreadControl
  readonly plan: Plan
  readonly log = new ThreadLog()
  readonly #random: SeededRandom
  readonly #answers: RandomAnswers
  readonly family: RandomFamily
  now = NOW
  #signals = 0

  constructor(random: SeededRandom) {
    this.#random = random
    const dual = random.chance(0.4)
    const first = dual ? dualPlan(LIFECYCLE, { ...LIFECYCLE, stopOnResponse: false }) : plan(LIFECYCLE)
    this.plan = first
    this.#answers = new RandomAnswers(random, this)
    this.family = new RandomFamily(random, this)
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
    for (let turn = 0; turn < 8000; turn += 1) {
      this.change((control) => advance(applyDueTimes(control, this.now)))
      if (shouldContinueAsNew(this.control, this.#history())) this.#continueAsNew()
      const action = nextAction(this.control)
      if (action.kind === 'close') return 'closed'
      this.log.acts(action, this.control)
      if (action.kind === 'wait' && left === 0 && this.#rests()) return 'waits'
      const waits = WAITS.includes(action.kind)
      while (left > 0 && (waits || this.#random.chance(0.3))) {
        left -= 1
        this.#signal()
        if (waits) break
      }
      this.#perform(action, left === 0)
    }
    throw new Error('Expected the thread to come to rest, got no end of actions.')
  }

  #rests(): boolean {
    const { children, effects } = this.control
    const isOwed = listOpenChildren(this.control).some(({ owes }) => owes.length > 0)
    const isDeferred = children.some(({ state }) => state === 'deferred')
    return this.family.children.rest && !isOwed && !isDeferred && effects.length === 0
  }

  change(change: Change): void {
    const before = this.control
    this.control = change(before)
    this.log.changed(before, this.control)
  }

  #history() {
    const suggested = this.#random.chance(0.1)
    const size = { events: this.#random.below(400), bytes: this.#random.below(90_000) }
    return {
      ...size,
      atLastAction: size,
      began: 0,
      signals: this.#signals,
      suggested,
    }
  }

  #continueAsNew(): void {
    const json = JSON.stringify(carry(this.control))
    this.log.carried(this.control, json)
    this.control = restore(JSON.parse(json) as CarriedControl, this.control.start)
    this.#signals = 0
    this.family.children.unseen()
  }

  #signal(): void {
    this.#signals += 1
    this.now += this.#random.below(1000)
    this.change(randomSignal(this.#random, this.log, this.now))
    if (this.#random.chance(0.3)) this.family.children.act()
    if (this.#random.chance(0.2)) this.#respond()
    if (this.#random.chance(0.2)) this.change((control) => applyDueTimes(control, this.now))
  }

  /** An answer from outside, right or wrong, to a request that may be there or not. */
  #respond(): void {
    const random = this.#random
    const id = random.pick([
      ...this.log.requests,
      'nobody',
      ...listOpenRequests(this.control).map((open) => open.id),
    ])
    const answer = random.pick([
      ...[
        { id, names: ['A'] },
        { id, result: true },
        { id, approved: false },
        { id, approved: true },
      ],
      ...[undefined, { undecodable: true }, { id: 7 }, { id, approved: true, result: true }],
    ])
    const before = listOpenRequests(this.control).map((open) => open.id)
    if (responseRefusal(this.control, answer) !== null) return
    this.log.answeredRequests.push(id)
    if (!before.includes(id))
      throw new Error(`Expected no answer to ${id} to be taken, which nobody asked for.`)
    this.change((control) => applyResponse(control, answer as { id: string; approved: true }, this.now))
  }

  #perform(action: Exclude<Action, { readonly kind: 'close' }>, calm: boolean): void {
    this.now += 1
    switch (action.kind) {
      case 'wait':
      case 'awaitChildren':
        return this.#wait(action, calm)
      case 'awaitAnswer':
      case 'awaitModel':
        if (calm) return this.#answer(action.kind === 'awaitAnswer' ? action.call.request : undefined)
        return this.#random.chance(0.5) ? this.#respond() : this.#signal()
      case 'waitUntil':
        return this.#waitUntil(action.until)
      case 'callModel':
        return this.#callModel(action)
      case 'callPrompt':
        return this.#callPrompt(action)
      case 'executeTool':
      case 'prepareChild':
      case 'prepareMessage':
        return this.#call(action)
      case 'startChildren':
      case 'sendMessage':
      case 'stopChildren':
      case 'cancelTimedOut':
      case 'startDeferred':
      case 'expireChild':
        return this.family.perform(action)
      case 'runRemote':
        return this.#runRemote(action.call.id)
      case 'completeCall':
        return this.#complete(action)
      case 'runEffect':
        return this.#runEffect(action.effectId)
      case 'sendOutbound':
        return this.change(removeOutbound)
      case 'deliverReport':
        return this.#deliver(action)
      case 'announceReport':
        return this.change((control) => reports.applyAnnouncement(control, 'delivered'))
      case 'settle':
        return this.#settle(action)
      case 'cancelChild':
        this.log.told.push(action.reference)
        return this.change((control) => settling.removeFromCascade(control, action.reference))
    }
  }

  /** Time passes until something is due, or something changes. */
  #wait(action: Kind<'wait' | 'awaitChildren'>, calm: boolean): void {
    const { control } = this
    if (calm) this.family.children.finish()
    else if (this.#random.chance(0.5)) this.family.children.act()
    if (this.control !== control) return
    const deadline = action.kind === 'awaitChildren' ? action.call.wait.deadline : null
    const checkAt = nextCheckAt(control)
    const times = [deadline, checkAt, nextDueAt(control, this.now)].filter((time) => time !== null)
    if (times.length === 0) return
    this.now = Math.max(this.now, Math.min(...times))
    if (action.kind === 'awaitChildren')
      this.change((current) => expireWait(current, action.call.id, this.now))
    if (checkAt !== null && checkAt <= this.now) this.family.check()
  }

  #waitUntil(until: number): void {
    if (this.#random.chance(0.5)) this.#signal()
    if (endingOf(this.control) !== null) return
    this.now = Math.max(this.now, until)
    this.change(apply.endWait)
  }

  #answer(request = pendingRequest(this.control.run)): void {
    // A signal of the same moment may have ended or answered it.
    if (request === undefined) return
    const { requestId: id, next } = request
    const answer = next === 'complete' ? ({ id, result: true } as const) : { id, approved: true }
    if (responseRefusal(this.control, answer) !== null) return
    this.log.answeredRequests.push(id)
    this.change((control) => applyResponse(control, answer, this.now))
  }

  #stored(): void {
    this.change((control) => forgetSentFacts(control, control))
  }

  #callModel({ run, drain, ...called }: Kind<'callModel'>): void {
    this.change((control) => models.forgetRevival(control, drain))
    if (this.#random.chance(0.05))
      return this.change((control) => apply.applyActivityFailure(control, 'failed'))
    if ((this.control.run?.stop ?? null) !== null && this.#random.chance(0.5)) return
    const answer = this.#answers.model(run, called, this.now)
    if (this.#random.chance(0.2)) this.#signal()
    const taken = answer.type === 'activates' || answer.type === 'moved' ? [] : drain
    this.log.drained.push(...taken.map(keyOf))
    this.log.takes(taken, () =>
      this.change((control) => models.applyModelAnswer(control, { ...called, drain }, answer, this.now)),
    )
    if (answer.type !== 'moved') this.#stored()
  }

  #callPrompt({ call, frame }: Kind<'callPrompt'>): void {
    this.change(answers.beginFrame)
    if (this.#random.chance(0.05))
      return this.change((control) => apply.applyActivityFailure(control, 'failed'))
    const answer = this.#answers.frame(call, this.now)
    this.log.deepest = Math.max(this.log.deepest, frame.depth)
    this.change((control) => answers.applyFrameAnswer(control, frame, answer, this.now))
  }

  #call(action: Kind<'executeTool' | 'prepareChild' | 'prepareMessage'>): void {
    const { kind, call } = action
    if (this.#random.chance(0.05))
      return this.change((control) => apply.applyActivityFailure(control, 'failed'))
    if (this.#random.chance(0.02)) return this.change(apply.applyTermination)
    const { family } = this
    if (kind !== 'executeTool') {
      const change = kind === 'prepareChild' ? family.prepareChild(call) : family.prepareMessage(call)
      if (change !== null) return this.change(change)
    }
    const answer = kind === 'executeTool' ? this.#answers.call(action, this.now) : this.#answers.result(call)
    if (answer.type === 'result') this.log.results.push(call.id)
    if (answer.type === 'pending') this.log.requests.push(answer.requestId)
    const now = this.now
    this.change((control) => {
      if (answer.type === 'result') return answers.applyCallResult(control, call.id, answer, now)
      if (answer.type === 'remote') return answers.applyRemoteCall(control, call.id, answer)
      if (answer.type === 'kind') return answers.applyToolKind(control, call.id, answer.tool)
      if (answer.type === 'pending') return answers.applyPendingCall(control, call.id, answer, now)
      return answer.type === 'wait'
        ? apply.applyWait(control, answer, null)
        : apply.applyEnd(control, answer, now)
    })
    this.#stored()
  }

  /** However it ends, the call is completed, unless its run is over. */
  #runRemote(id: string): void {
    this.log.remotes.push(id)
    if (this.#random.chance(0.3)) this.#signal()
    if (endingOf(this.control) !== null && this.#random.chance(0.5)) return
    this.change((control) => answers.applyRemoteReturn(control, id))
  }

  #complete({ call, by }: Kind<'completeCall'>): void {
    if (by.kind === 'response' && this.#random.chance(0.2)) {
      const again = this.#answers.pending(call)
      this.log.requests.push(again.requestId)
      return this.change((control) => answers.applyPendingCall(control, call.id, again, this.now))
    }
    if (by.kind === 'children')
      this.log.completed.push(...by.reports.map((answer) => ({ callId: call.id, ...answer })))
    this.log.results.push(call.id)
    const answer = this.#answers.result(call)
    this.change((control) => answers.applyCallResult(control, call.id, answer, this.now))
  }

  #runEffect(id: string): void {
    const entry = { kind: 'effect', id, queuedAt: 0 } as const
    this.log.effects.push(id)
    const failed = this.#random.chance(0.1)
    const operations = this.#random.chance(0.2) ? [this.#answers.operation()] : []
    this.log.takes([entry], () =>
      this.change((control) =>
        failed ? giveUpEffect(control, id) : completeEffect(control, { id, operations }, this.now),
      ),
    )
    if (!failed) return
    this.log.givenUp.push(id)
    this.#settle({ kind: 'settle', ending: null, close: null })
  }

  #deliver({ due }: Kind<'deliverReport'>): void {
    const gone = this.#random.chance(0.2)
    const answer = gone
      ? ({ type: 'parent_gone' } as const)
      : ({ type: 'delivered', kind: 'failure', messageId: 'r' } as const)
    this.change((control) => reports.applyDeliveredReport(control, due, answer))
  }

  #settle({ ending, close }: Kind<'settle'>): void {
    this.change((control) => settling.interruptStep(control, ending, this.now))
    const queued = this.control.queue.length
    if (close !== null) this.log.rejected = this.log.accepted.length
    const { givenUp } = this.control
    const closed = listClosedChildren(this.control)
    if (this.#random.chance(0.3)) this.#signal()
    this.change((control) => settling.applySettle(control, { ending, close, queued }, this.now))
    this.change((control) => forgetClosedChildren(control, closed))
    if (ending === null && close === null && this.#random.chance(0.3)) return
    this.log.givenUpTold.push(...givenUp)
    this.change((control) => forgetGivenUp(control, givenUp))
    this.#stored()
  }
}

function pendingRequest(run: Run | null): CallRequest | undefined {
  return run?.phase.kind === 'pending' ? run.phase.request : undefined
}
