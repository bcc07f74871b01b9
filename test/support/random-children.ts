import type { ChildReport } from '../../src/protocol/messages.js'
import { acceptReport, applyChildClose, listOpenChildren } from '../../src/thread/children.js'
import type { ThreadControl } from '../../src/thread/control.js'
import type { SeededRandom } from './seeded-random.js'

interface Running {
  readonly reference: string
  readonly resumable: boolean
  /** The call that started several, whose ends are told together. */
  readonly group: string | null
  /** Its close is seen by this Temporal run of its parent. */
  observed: boolean
  /** Calls whose messages it has, and those that its session has taken. */
  inbox: string[]
  taken: string[]
  reports: number
}

interface Parent {
  readonly control: ThreadControl
  change(change: (control: ThreadControl) => ThreadControl): void
  readonly now: number
}

/** The children of a thread, which do whatever children may do: answer, say nothing, go on, end, die; late and twice. */
export class RandomChildren {
  /** Reports that their parent took for the first time, while they were its children. */
  readonly heard: ChildReport[] = []
  readonly started: string[] = []
  /** Calls whose message was sent to a child that was there. */
  readonly sent: string[] = []
  readonly cancelled: string[] = []
  readonly #running = new Map<string, Running>()
  readonly #said: ChildReport[] = []
  readonly #random: SeededRandom
  readonly #parent: Parent

  constructor(random: SeededRandom, parent: Parent) {
    this.#random = random
    this.#parent = parent
  }

  /** References of those that run. */
  get running(): readonly string[] {
    return [...this.#running.keys()]
  }

  /** Nobody of them has anything to say. */
  get rest(): boolean {
    return [...this.#running.values()].every(isIdle)
  }

  start(child: Pick<Running, 'reference' | 'resumable' | 'group'>, callId: string, observed: boolean): void {
    this.started.push(child.reference)
    this.#running.set(child.reference, { ...child, observed, inbox: [callId], taken: [], reports: 0 })
  }

  /** False: it is gone. */
  send(reference: string, callId: string): boolean {
    const child = this.#running.get(reference)
    child?.inbox.push(callId)
    if (child !== undefined) this.sent.push(callId)
    return child !== undefined
  }

  /** A cancelled one ends, some time. */
  cancel(reference: string): void {
    this.cancelled.push(reference)
    const child = this.#running.get(reference)
    if (child !== undefined && this.#random.chance(0.5)) this.#ends(child, true)
  }

  /** Their parent continues as new: it sees none of them closing any more. */
  unseen(): void {
    for (const child of this.#running.values()) child.observed = false
  }

  /** One of them does something, or a report comes again. */
  act(): void {
    const random = this.#random
    const old = this.#said.at(-1 - random.below(3))
    if (old !== undefined && random.chance(0.1)) this.#deliver(old)
    const children = [...this.#running.values()]
    if (children.length === 0) return
    const child = random.pick(children)
    if (random.chance(0.2)) this.#take(child)
    else this.#ends(child, random.chance(0.2))
  }

  /** One that has something to say says it. */
  finish(): void {
    const child = [...this.#running.values()].find((running) => !isIdle(running))
    if (child !== undefined) this.#ends(child, false)
  }

  #take(child: Running): void {
    child.taken.push(...child.inbox.splice(0, 1 + this.#random.below(child.inbox.length + 1)))
  }

  /** Its session is over: with a report, or because it was killed. `closes`: it takes nothing any more. */
  #ends(child: Running, closes: boolean): void {
    const random = this.#random
    const last = closes || !child.resumable
    // A session may take what came; when it closes, what came behind its report is not named.
    if (child.taken.length === 0 || random.chance(0.7)) this.#take(child)
    if (last && !random.chance(0.1)) child.taken.push(...child.inbox.splice(0))
    const killed = random.chance(0.15)
    if (!killed) this.#report(child, last)
    if (!killed && !last) return
    this.#running.delete(child.reference)
    const closed = { reference: child.reference, status: random.pick(['completed', 'failed', 'terminated']) }
    const { now } = this.#parent
    if (child.observed) this.#parent.change((control) => applyChildClose(control, closed, now))
  }

  #report(child: Running, closes: boolean): void {
    const random = this.#random
    const { reference, group } = child
    const number = (child.reports += 1)
    const invocations = child.taken.splice(0)
    const silent = random.chance(0.15)
    const named = group !== null && invocations.includes(group)
    const said: ChildReport = {
      reference,
      report: number,
      invocations,
      kind: silent ? 'notice' : random.pick(['result', 'failure']),
      ...(silent || named ? {} : { messageId: `${reference}:report:${number}` }),
      ...(closes ? { closes } : {}),
    }
    this.#said.push(said)
    this.#deliver(said)
    if (random.chance(0.2)) this.#deliver(said)
  }

  #deliver(said: ChildReport): void {
    const known = listOpenChildren(this.#parent.control).find(({ reference }) => reference === said.reference)
    if (known !== undefined && said.report > known.reports) this.heard.push(said)
    const { now } = this.#parent
    this.#parent.change((control) => acceptReport(control, said, now))
  }
}

function isIdle({ inbox, taken }: Running): boolean {
  return inbox.length === 0 && taken.length === 0
}
