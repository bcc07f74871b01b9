import { Cut, OperationLost } from '../activities/steps.js'
import { runActivity } from '../activities/run-activity.js'
import type { Activity } from '../temporal/workflow-run.js'
import type { World } from '../world.js'

/** An attempt of an activity in some worker; after its heartbeat was missed it may go on, unheard. */
interface Running {
  readonly activity: Activity
  readonly number: number
  readonly steps: Generator<void, unknown>
}

/** What an operator may complete an activity with. */
const NO_ANSWERS = ['null', '{}', '[]', '"done"', '5', '{"type":"future"}', '{"type":"answered"}']

/** Workers that carry out activities: they die, are cut off, lose answers and come too late. */
export class Attempts {
  readonly running = new Set<Running>()
  readonly #world: World
  #begun = 0

  constructor(world: World) {
    this.#world = world
  }

  begin(activity: Activity): void {
    const world = this.#world
    activity.state = 'started'
    activity.attempts += 1
    this.#begun += 1
    const attempt = {
      world,
      activity: activity.id,
      order: this.#begun,
      isCut: () => activity.cancelRequested && (world.calm || world.random.chance(0.8)),
      isOver: () => activity.state === 'closed',
    }
    const steps = runActivity(attempt, activity.name, activity.given)
    const running = { activity, number: activity.attempts, steps }
    this.running.add(running)
    this.step(running)
  }

  /** On to the next transaction, or to the answer. */
  step(running: Running): void {
    const { activity, steps } = running
    try {
      const { done, value } = steps.next()
      if (done !== true) return
      this.running.delete(running)
      this.#answered(running, value)
    } catch (error) {
      this.running.delete(running)
      if (!(error instanceof Cut) && !(error instanceof OperationLost)) throw error
      if (!this.#isHeard(running)) return
      if (error instanceof Cut && activity.cancelRequested)
        this.#world.server.endActivity(activity, { kind: 'cancelled' })
      else activity.state = 'scheduled'
    }
  }

  /** No beat came in time. The attempt is dead, or goes on where nobody hears it. */
  miss(running: Running): void {
    const { activity } = running
    const world = this.#world
    if (world.random.chance(0.6)) this.running.delete(running)
    if (!this.#isHeard(running)) return
    world.saw('fault a heartbeat is missed')
    if (activity.cancelRequested || world.random.chance(0.04)) {
      world.saw('fault an activity fails for good')
      this.#world.server.endActivity(activity, { kind: 'failed' })
    } else activity.state = 'scheduled'
  }

  /** A worker was killed with all that it did. */
  die(): void {
    for (const running of [...this.running]) {
      this.running.delete(running)
      if (!this.#isHeard(running)) continue
      const { activity } = running
      if (activity.cancelRequested) this.#world.server.endActivity(activity, { kind: 'failed' })
      else activity.state = 'scheduled'
    }
  }

  #answered(running: Running, value: unknown): void {
    const { activity } = running
    const world = this.#world
    if (!this.#isHeard(running)) {
      world.saw('fault an answer comes too late')
      return
    }
    const type = typeof value === 'object' && value !== null && 'type' in value ? String(value.type) : 'other'
    world.saw('answer', activity.name, type)
    // An earlier attempt may have done something, of which this answer tells nothing.
    if (type === 'terminated' && activity.attempts > 1) world.log.unheard.add(activity.run.workflowId)
    if (world.may(0.04)) {
      world.saw('fault an answer is lost')
      if (activity.cancelRequested) this.#world.server.endActivity(activity, { kind: 'failed' })
      else activity.state = 'scheduled'
      return
    }
    if (world.may(0.01)) {
      world.saw('fault an activity is completed with no answer')
      const answer = world.random.pick(NO_ANSWERS)
      world.tell(() => `${activity.run.workflowId} gets #${activity.id} ${answer} of an operator`)
      return world.server.endActivity(activity, { kind: 'answered', answer, byOperator: true })
    }
    const answer = JSON.stringify(value)
    world.tell(() => `${activity.run.workflowId} gets #${activity.id} ${answer}`)
    world.server.endActivity(activity, { kind: 'answered', answer })
  }

  /** The server takes an answer of the last attempt only. */
  #isHeard({ activity, number }: Running): boolean {
    return activity.state === 'started' && activity.attempts === number
  }
}
