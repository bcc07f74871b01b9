import type {
  ActivityInput,
  AheadPair,
  CallModelAnswer,
  CallModelInput,
  CallRequest,
} from '../../src/protocol/activities.js'
import { LEVEL } from '../../src/protocol/answer-problem.js'
import type { ThreadOperation } from '../../src/protocol/operations.js'
import type { Plan } from '../../src/protocol/plan.js'
import type { JsonValue } from '../../src/protocol/values.js'
import { digestOf } from '../../src/store/digest.js'
import { advance } from '../../src/thread/advance.js'
import {
  aheadOf,
  applyAhead,
  applyAllAhead,
  beginAhead,
  controlAhead,
  markAhead,
  modelActionOf,
  nextAhead,
} from '../../src/thread/ahead.js'
import type { AheadAction, AheadWork } from '../../src/thread/ahead.js'
import { acknowledge, applyTermination } from '../../src/thread/apply.js'
import { initialControl } from '../../src/thread/continue-as-new.js'
import type { ThreadControl } from '../../src/thread/control.js'
import { factsToSend } from '../../src/thread/facts.js'
import { acceptMessage, acceptUnknownSignal } from '../../src/thread/inbox.js'
import { applyModelAnswer, beginModelCall, modelInput } from '../../src/thread/model-answers.js'
import { nextAction } from '../../src/thread/next-action.js'
import { dualPlan, NOW, plan, USAGE } from './control-states.js'
import type { SeededRandom } from './seeded-random.js'

type ModelAction = Extract<AheadAction, { readonly kind: 'callModel' }>

/** One activity of a thread: where it began, what it answered, and what it did. */
export interface Burst {
  /** The state in which its first action begins. */
  readonly begun: ThreadControl
  readonly action: ModelAction
  readonly answer: CallModelAnswer
  readonly pairs: readonly AheadPair[]
  readonly works: readonly AheadWork[]
  /** The state of the activity at its end. */
  readonly known: ThreadControl
}

const LIFECYCLE = { stopTool: 'finish', sessionStop: 'close', sessionFail: 'give_up', maxSteps: 5 }
const TOOLS = [
  ...['work', 'work', 'work', 'work', 'work', 'nobody', 'finish', 'close'],
  'give_up',
  'draft',
  'ask',
]

/** What goes through Temporal and back. */
function sent<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

/**
 * A life of a thread whose activities go on as long as the rules allow, with random answers. It ends where the thread needs
 * something else than model calls, function tools and the ends of its runs.
 */
export class AheadThread {
  control: ThreadControl
  readonly bursts: Burst[] = []
  readonly #random: SeededRandom
  readonly #plan: Plan
  #now = NOW
  #made = 0

  constructor(random: SeededRandom) {
    this.#random = random
    this.#plan = random.chance(0.4)
      ? dualPlan(LIFECYCLE, { ...LIFECYCLE, stopOnResponse: false }, { maxSessionTurns: 4 })
      : plan({ ...LIFECYCLE, stopOnResponse: random.chance(0.7) })
    this.control = initialControl('t', { agent: 'clerk' }, NOW)
  }

  live(): this {
    for (let turn = 0; turn < 4; turn += 1) {
      this.#receive()
      while (this.#act());
      if (this.control.run !== null) return this
    }
    return this
  }

  #receive(): void {
    this.#now += this.#random.below(1000)
    const role = this.#random.chance(0.2) ? 'assistant' : 'user'
    this.control = acceptMessage(this.control, { messageId: `m${(this.#made += 1)}`, role }, this.#now)
    if (this.#random.chance(0.2)) this.control = acceptUnknownSignal(this.control)
  }

  /** One action of the workflow; false if this life ends, or waits for a message. */
  #act(): boolean {
    this.control = advance(this.control)
    const action = nextAction(this.control)
    if (action.kind !== 'callModel') return false
    const ahead = aheadOf(this.control, action)
    const begun = beginModelCall(this.control, action)
    const given = modelInput(begun, action)
    const input = sent({ ...this.#base(begun), ...given, ...(ahead !== undefined && { ahead }) })
    const answer = sent(this.#modelAnswer(input))
    const burst = this.#goAhead(input, answer, { begun, action })
    const now = (this.#now += 1)
    const { pairs } = burst
    this.bursts.push(burst)
    if (pairs.length > 0)
      this.control = applyAllAhead(
        { waiting: begun, received: [], begun, action, answer, pairs: sent(pairs) },
        now,
      )
    else if (answer.type === 'terminated') this.control = applyTermination(begun)
    else {
      const known = { answer, storesFacts: true, isOfStep: true }
      this.control = applyModelAnswer(acknowledge(begun, begun, known), action, answer, now)
      if (ahead !== undefined) this.control = markAhead(this.control)
    }
    return true
  }

  #base(control: ThreadControl): ActivityInput {
    const run = control.run?.number ?? control.runs
    return { level: LEVEL, threadId: 't', now: this.#now, run, ...factsToSend(control) }
  }

  /** As `activities/run-ahead.ts` goes on, without bounds. */
  #goAhead(
    input: CallModelInput,
    answer: CallModelAnswer,
    { begun, action }: Pick<Burst, 'begun' | 'action'>,
  ): Burst {
    const pairs: AheadPair[] = []
    const works: AheadWork[] = []
    const burst = { begun, action, answer, pairs, works }
    const { ahead } = input
    if (ahead === undefined || (answer.type !== 'answered' && answer.type !== 'end'))
      return { ...burst, known: begun }
    const start = controlAhead(input, ahead, answer.plan === undefined ? this.#plan : null)
    if (start.run === null) return { ...burst, known: start }
    let known = applyAhead(start, modelActionOf(input, start.run), answer, (this.#now += 1))
    for (;;) {
      const next = nextAhead(known, this.#now)
      if (next === null) return { ...burst, known }
      const { control, work } = beginAhead(next, { level: LEVEL, now: this.#now })
      const given = sent(this.#answerOf(work))
      pairs.push({ id: work.id, at: this.#now, answer: given })
      works.push(sent(work))
      known = applyAhead(control, next.action, given, (this.#now += 1))
    }
  }

  #answerOf(work: AheadWork): AheadPair['answer'] {
    if (work.name === 'callModel') return this.#modelAnswer(work.input)
    return work.name === 'settle' ? this.#settleAnswer() : this.#toolAnswer(work.id)
  }

  #modelAnswer({ run, step, plan: known }: CallModelInput): CallModelAnswer {
    const random = this.#random
    const given = known === null ? { plan: this.#plan } : {}
    if (random.chance(0.02)) return { type: 'end', reason: 'model_failed', outcome: 'failed', ...given }
    if (random.chance(0.01)) return { type: 'end', reason: 'blocked', outcome: 'blocked', ...given }
    if (random.chance(0.01)) return { type: 'wait', until: this.#now + 5, ...given }
    if (random.chance(0.01)) return { type: 'interrupted', ...given }
    if (random.chance(0.01)) return { type: 'terminated' }
    const count = random.pick([0, 1, 1, 2, 3])
    const calls = Array.from({ length: count }, (_, index): CallRequest => {
      return { id: `call_${run}_${step}_${index}`, name: random.pick(TOOLS) }
    })
    const text = random.chance(0.6)
    return {
      ...{ type: 'answered', text, calls, usage: USAGE, ...given },
      ...(text && count === 0 && random.chance(0.1) && { truncated: true as const }),
      ...this.#operations(),
    }
  }

  #toolAnswer(id: string): AheadPair['answer'] {
    const random = this.#random
    if (random.chance(0.01)) return { type: 'terminated' }
    if (random.chance(0.02)) return { type: 'kind', tool: { kind: 'prompt', prompt: 'writer' } } as never
    if (random.chance(0.02)) {
      const asked = { kind: 'approval', status: 'waiting_permission', next: 'execute' } as const
      return { type: 'pending', requestId: `${id}:request`, ...asked } as never
    }
    const failed = { type: 'result', outcome: 'failed', errorDigest: random.pick(['x', 'y']) }
    if (random.chance(0.2)) return failed
    return { type: 'result', outcome: 'succeeded', usage: USAGE, ...this.#operations() } as never
  }

  #settleAnswer(): AheadPair['answer'] {
    return this.#random.chance(0.02) ? ({ type: 'settled', terminated: true } as never) : { type: 'settled' }
  }

  #operations(): { readonly operations?: readonly ThreadOperation[] } {
    const random = this.#random
    if (!random.chance(0.1)) return {}
    this.#made += 1
    const operation = random.pick<ThreadOperation>([
      { kind: 'queue_message', id: `q${this.#made}`, role: 'user' },
      { kind: 'queue_tool', id: `tool-${this.#made}`, name: 'work' },
      { kind: 'schedule_effect', id: `effect-${this.#made}`, dueAt: this.#now + random.below(10) },
      { kind: 'set_env' },
      { kind: 'hand_off', agent: 'boss' },
      { kind: 'force_turn', side: random.pick(['a', 'b']) },
      { kind: 'stop_run' },
    ])
    return { operations: [operation] }
  }
}

/** What the activities of these lives have decided, and the inputs of it. */
export function digestOfWorks(threads: readonly AheadThread[]): string {
  return digestOf(threads.map(({ bursts }) => bursts.map(({ works }) => sent<unknown>(works) as JsonValue)))
}
