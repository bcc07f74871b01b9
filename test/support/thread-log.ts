import { listOpenChildren } from '../../src/thread/children.js'
import { listCalls } from '../../src/thread/calls.js'
import type { ChildAnswer } from '../../src/thread/calls.js'
import type { QueueEntry, ThreadControl } from '../../src/thread/control.js'
import type { Action } from '../../src/thread/next-action.js'
import { stepOf } from '../../src/thread/run.js'
import type { Call } from '../../src/thread/run.js'

/** What a thread did, for rules to judge. */
export class ThreadLog {
  /** Items in the order in which the inbox took them. */
  readonly accepted: string[] = []
  /** Items in the order in which a model call, a run or an effect took them. */
  readonly taken: string[] = []
  /** Items that left the queue otherwise: removed by user code, dropped, or rejected with the thread. */
  readonly left: string[] = []
  /** Items that were taken while another one waited in front of them. */
  readonly overtaken: string[] = []
  /** Items that model calls were given. */
  readonly drained: string[] = []
  readonly actions: { readonly kind: Action['kind']; readonly ends: boolean }[] = []
  /** Times at which more than one call was in flight, or one before its turn. */
  readonly outOfTurn: string[] = []
  /** Calls that got a result from an activity. */
  readonly results: string[] = []
  /** Calls that ran on another worker. */
  readonly remotes: string[] = []
  readonly requests: string[] = []
  readonly answeredRequests: string[] = []
  readonly effects: string[] = []
  readonly givenUp: string[] = []
  /** Effects that a settle has told of. */
  readonly givenUpTold: string[] = []
  /** Children whose rows exist. */
  readonly prepared: string[] = []
  /** Requests of children that lack variables, and those that expired. */
  readonly deferred: string[] = []
  readonly expired: string[] = []
  /** How often each call of a child was answered, by `reference call`. */
  readonly answers = new Map<string, number>()
  /** Answers of children that became results of their calls. */
  readonly completed: (ChildAnswer & { readonly callId: string })[] = []
  /** Children that were told that the thread is gone. */
  readonly told: string[] = []
  readonly carriedBytes: number[] = []
  /** How many of the accepted the closing transactions have met. */
  rejected = 0
  deepest = 0
  #messages = 0
  #taking: ReadonlySet<string> = new Set()

  nextMessageId(): string {
    return `m${(this.#messages += 1)}`
  }

  acts({ kind }: Action, { terminating, closing }: ThreadControl): void {
    this.actions.push({ kind, ends: terminating || closing !== null })
  }

  /** What leaves the queue meanwhile was taken. */
  takes(entries: readonly QueueEntry[], change: () => void): void {
    this.#taking = new Set(entries.map(keyOf))
    change()
    this.#taking = new Set()
  }

  changed(before: ThreadControl, after: ThreadControl): void {
    const [had, has] = [new Set(before.queue.map(keyOf)), new Set(after.queue.map(keyOf))]
    this.accepted.push(...after.queue.map(keyOf).filter((key) => !had.has(key)))
    let waits = false
    for (const key of before.queue.map(keyOf)) {
      if (has.has(key)) waits = true
      else this.#leaves(key, waits, beginsWith(after, key))
    }
    const owed = new Set(owedBy(after))
    for (const key of owed) if (!this.answers.has(key)) this.answers.set(key, 0)
    for (const key of owedBy(before))
      if (!owed.has(key)) this.answers.set(key, (this.answers.get(key) ?? 0) + 1)
    if (!inTurn(stepOf(after.run)?.calls ?? [])) this.outOfTurn.push(JSON.stringify(stepOf(after.run)))
  }

  carried(control: ThreadControl, json: string): void {
    this.carriedBytes.push(Buffer.byteLength(json))
    for (const call of listCalls(stepOf(control.run)?.calls ?? []))
      if (!json.includes(call.id)) this.outOfTurn.push(`${call.id} is not carried`)
  }

  #leaves(key: string, overtakes: boolean, begun: boolean): void {
    if (!this.#taking.has(key) && !begun) {
      this.left.push(key)
      return
    }
    this.taken.push(key)
    if (overtakes) this.overtaken.push(key)
  }
}

export function keyOf({ kind, id }: QueueEntry): string {
  return `${kind} ${id}`
}

/** Calls that children have not answered. */
export function owedBy(control: ThreadControl): readonly string[] {
  return listOpenChildren(control).flatMap(({ reference, owes }) =>
    owes.map(({ callId }) => `${reference} ${callId}`),
  )
}

/** A tool of the inbox becomes a call of its own. */
function beginsWith({ run }: ThreadControl, key: string): boolean {
  const step = stepOf(run)
  return step?.outside === true && step.calls.some(({ id }) => `tool ${id}` === key)
}

/** At each level: what is done, then at most one that is being done, then what is open. */
function inTurn(calls: readonly Call[]): boolean {
  const active = calls.filter(({ state }) => state !== 'done' && state !== 'open')
  if (active.length > 1) return false
  const order = calls.map(({ state }) => (state === 'done' ? 0 : state === 'open' ? 2 : 1))
  if (order.some((rank, index) => rank < (order[index - 1] ?? 0))) return false
  return calls.every((call) => call.state !== 'framed' || inTurn(call.calls))
}
