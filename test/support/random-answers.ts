import type {
  CallModelAnswer,
  CallRequest,
  EndAnswer,
  ImmediateCall,
  PendingAnswer,
  ResultAnswer,
  WaitAnswer,
} from '../../src/protocol/activities.js'
import type { ThreadOperation } from '../../src/protocol/operations.js'
import type { Plan, ToolPlan } from '../../src/protocol/plan.js'
import type { ThreadControl } from '../../src/thread/control.js'
import type { Call, CallWork, ModelCall, Run } from '../../src/thread/run.js'
import { USAGE } from './control-states.js'
import type { SeededRandom } from './seeded-random.js'

type ModelAnswer = Exclude<CallModelAnswer, { readonly type: 'terminated' }>

const TOOLS = [
  ...['ask', 'ask', 'create', 'write', 'write', 'draft', 'draft', 'transfer', 'nobody', 'constructor'],
  ...['finish', 'close', 'give_up', 'work', 'work', 'work'],
]

/** What activities of a thread may answer; ids are never used twice, as those of real activities. */
export class RandomAnswers {
  readonly #random: SeededRandom
  readonly #thread: { readonly plan: Plan; readonly control: ThreadControl }
  #made = 0

  constructor(random: SeededRandom, thread: { readonly plan: Plan; readonly control: ThreadControl }) {
    this.#random = random
    this.#thread = thread
  }

  model(run: Run, called: ModelCall, now: number): ModelAnswer {
    const random = this.#random
    const { plan } = this.#thread
    if (random.chance(0.04)) return this.#end()
    if (random.chance(0.05)) return this.#wait(now, plan)
    if (random.chance(0.03)) return this.#modelPending(plan)
    if (random.chance(0.04)) return { type: 'interrupted', plan }
    if (called.toolFirst) return { type: 'begun', plan }
    if (run.planning === 'unknown' && random.chance(0.1)) return { type: 'moved', plan }
    if (!this.#thread.control.activated.includes(called.side) && random.chance(0.3))
      return { type: 'activates', plan, calls: this.#immediate(), usage: USAGE }
    const mayRest = run.began === 'not_yet' && isFresh(run)
    if (mayRest && random.chance(0.05)) return { type: 'nothing_to_do', plan }
    const number = run.steps + 1
    const names = random.pick([[], [], this.#names(3), this.#names(2), this.#names(1), []])
    const calls = names.map((name, index) => ({ id: `call_${run.number}_${number}_${index}`, name }))
    const operations = random.chance(0.05) ? [this.#queueTool()] : []
    return { type: 'answered', plan, text: random.chance(0.6), calls, usage: USAGE, operations }
  }

  /** A nested step has fewer calls, or it would never end. */
  frame(call: Call, now: number): ModelAnswer {
    const random = this.#random
    if (random.chance(0.04)) return this.#end()
    if (random.chance(0.05)) return this.#wait(now)
    if (random.chance(0.03)) return this.#modelPending()
    if (random.chance(0.03)) return { type: 'interrupted' }
    const deeper = random.chance(0.7) ? ['draft'] : this.#names(1)
    const names = random.pick([this.#names(2), deeper, deeper, []])
    const calls: readonly CallRequest[] = names.map((name, index) => ({ id: `${call.id}_${index}`, name }))
    return { type: 'answered', text: true, calls, usage: USAGE }
  }

  call({ call, depth, tool }: CallWork, now: number) {
    const random = this.#random
    if (random.chance(0.03)) return this.#end()
    if (random.chance(0.04)) return this.#wait(now)
    if (random.chance(0.1)) return this.pending(call)
    if (random.chance(0.08)) return REMOTE
    const unknown = tool === undefined && call.tool === undefined
    if (unknown && random.chance(0.3)) return { type: 'kind', tool: this.#kind(depth) } as const
    return this.result(call)
  }

  result(call: Call): ResultAnswer {
    const random = this.#random
    if (random.chance(0.3)) return { type: 'result', outcome: 'failed', errorDigest: random.pick(['x', 'y']) }
    const operations: ThreadOperation[] = []
    if (random.chance(0.2)) operations.push({ kind: 'queue_message', id: `${call.id}:q`, role: 'user' })
    if (random.chance(0.2)) operations.push(this.operation())
    if (random.chance(0.02)) operations.push({ kind: 'terminate' })
    return { type: 'result', outcome: 'succeeded', operations, usage: USAGE }
  }

  pending({ id }: Call): PendingAnswer {
    this.#made += 1
    const requestId = `${id}:request:${this.#made}`
    return this.#random.chance(0.5)
      ? { type: 'pending', requestId, kind: 'approval', status: 'waiting_permission', next: 'execute' }
      : { type: 'pending', requestId, kind: 'call', status: 'waiting_input', next: 'complete' }
  }

  #modelPending(plan?: Plan): PendingAnswer {
    this.#made += 1
    const requestId = `model:request:${this.#made}`
    const asked = { type: 'pending', requestId, kind: 'budget', status: 'waiting_permission' } as const
    return { ...asked, next: 'execute', ...(plan === undefined ? {} : { plan }), usage: USAGE }
  }

  operation(): ThreadOperation {
    const random = this.#random
    const known = this.#thread.control.effects.at(-1)?.id ?? 'nothing'
    return random.pick<ThreadOperation>([
      this.#queueTool(),
      this.#queueTool(),
      this.schedule(),
      this.schedule(),
      { kind: 'remove_effect', id: known },
      { kind: 'remove_queued', id: `m${random.below(60)}` },
      { kind: 'set_env' },
      { kind: 'hand_off', agent: random.pick(['boss', 'clerk']) },
      { kind: 'force_turn', side: random.pick(['a', 'b']) },
      { kind: 'stop_run' },
    ])
  }

  schedule(): ThreadOperation {
    // One that is not due yet may be scheduled anew.
    const again = this.#thread.control.effects.at(-1)?.id
    const id = again !== undefined && this.#random.chance(0.2) ? again : `effect-${(this.#made += 1)}`
    return { kind: 'schedule_effect', id, dueAt: DUE_FROM + this.#random.below(90_000) }
  }

  #queueTool(): ThreadOperation {
    return { kind: 'queue_tool', id: `tool-${(this.#made += 1)}`, name: this.#random.pick(TOOLS) }
  }

  #immediate(): readonly ImmediateCall[] {
    const count = 1 + this.#random.below(2)
    return Array.from({ length: count }, () => {
      const id = `immediate-${(this.#made += 1)}`
      return { id, name: 'ask', tool: { kind: 'subagent', agent: 'helper' } }
    })
  }

  #kind(depth: number): ToolPlan {
    const kinds: readonly ToolPlan[] = [
      { kind: 'prompt', prompt: 'hidden' },
      { kind: 'prompt', prompt: 'writer' },
      { kind: 'subagent', agent: 'helper' },
      { kind: 'subagent_message' },
      { kind: 'function', timeout: 1 },
      { kind: 'function', timeout: 1, taskQueue: 'gpu' },
    ]
    return this.#random.pick(depth < 8 ? kinds : kinds.slice(2))
  }

  #wait(now: number, plan?: Plan): WaitAnswer {
    const until = now + this.#random.below(30_000)
    return { type: 'wait', until, ...(plan === undefined ? {} : { plan }), usage: USAGE }
  }

  #end(): EndAnswer {
    if (this.#random.chance(0.6)) return { type: 'end', reason: 'model_failed', outcome: 'failed' }
    const request = { id: `variables-${(this.#made += 1)}`, kind: 'variables' }
    return { type: 'end', reason: 'blocked', outcome: 'blocked', request, operations: [this.#queueTool()] }
  }

  #names(count: number): readonly string[] {
    return Array.from({ length: count }, () => this.#random.pick(TOOLS))
  }
}

const REMOTE = { type: 'remote', taskQueue: 'python', activity: 'draw', timeout: 1000 } as const

/** Set by the thread that is driven: effects are due some time after its start. */
const DUE_FROM = 1_763_767_000_000

/** Nothing of it is made again. */
export function isFresh({ phase }: Run): boolean {
  return phase.kind === 'between_steps' && phase.call === null
}
