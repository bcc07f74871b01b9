import { ACTIVITIES } from '../src/protocol/answer-problem.js'
import type { ThreadStart } from '../src/protocol/messages.js'
import { agentThread } from '../src/workflows/agent-thread.js'
import type { SeededRandom } from '../test/support/seeded-random.js'
import type { ThreadRow } from './store/rows.js'
import type { Command, Job } from './temporal/command.js'
import { FakeServer } from './temporal/server.js'
import type { Activity, Watch, WorkflowRun } from './temporal/workflow-run.js'

/** A rule that a schedule has broken. */
export interface Broken {
  readonly rule: string
  readonly detail: string
}

/** What was done, for the rules that look at a life when it is over. */
export interface WorldLog {
  /** Messages and tools of each thread in the order in which its workflow took them. */
  readonly accepted: Map<string, string[]>
  /** When a thread took a message, when a step first named it, and when it was moved last, in order: `thread message`. */
  readonly taken: Map<string, number>
  readonly drained: Map<string, number>
  readonly moved: Map<string, number>
  /** When a thread took an update. */
  readonly updated: Map<string, number>
  /** Messages that a thread took and had no room for: `thread message`. */
  readonly crowdedOut: Set<string>
  /** Ids of raw signals that have no row. */
  readonly strangers: Set<string>
  /** What a call, or the transcript, told of a child: `thread child call`. */
  readonly told: Map<string, string[]>
  /** Calls that a child is to answer: `thread child call`. */
  readonly invocations: Set<string>
  /** Threads of which an activity did something and was never heard: cut with its worker, or failed for good. */
  readonly unheard: Set<string>
  /** Threads that got an answer without what was done ahead: what it hid may be told of twice. */
  readonly garbled: Set<string>
  /** Code of tools that was run, by `thread call`. */
  readonly sideEffects: Map<string, number>
}

/** Everything that a simulated life has: a fake server, a fake store, a clock, and who chooses. */
export class World {
  readonly server: FakeServer
  readonly threads = new Map<string, ThreadRow>()
  readonly random: SeededRandom
  readonly log: WorldLog = {
    accepted: new Map(),
    ...{ taken: new Map(), drained: new Map(), moved: new Map(), updated: new Map() },
    crowdedOut: new Set(),
    strangers: new Set(),
    told: new Map(),
    invocations: new Set(),
    unheard: new Set(),
    garbled: new Set(),
    sideEffects: new Map(),
  }
  readonly broken: Broken[] = []
  /** What happened how often: a simulator that explores nothing is seen here. */
  readonly seen: Map<string, number>
  /** One line for each thing that happened; null: nobody reads it. */
  readonly story: string[] | null
  readonly answers = new Map<string, (refusal: string | null) => void>()
  now = 1_763_767_000_000
  /** Nothing unusual happens any more. */
  calm = false
  /** Calls of tools, children and effects that models, tools and hooks may still ask for. */
  budget: number
  /** Jobs and drains so far, by which their order is noted. */
  happened = 0
  /** Activities that do more than look for children. */
  work = 0
  #made = 0

  constructor(random: SeededRandom, { seen, story }: Pick<World, 'seen' | 'story'>) {
    this.random = random
    this.seen = seen
    this.story = story
    this.budget = 1 + random.below(9)
    this.server = new FakeServer(watchOf(this))
  }

  /** An id that no other has. */
  newId(kind: string): string {
    this.#made += 1
    return `${kind}-${this.#made}`
  }

  /** Unlike `random.chance`, never when nothing unusual is to happen. */
  may(probability: number): boolean {
    return !this.calm && this.random.chance(probability)
  }

  saw(...words: readonly string[]): void {
    const what = words.join(' ')
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1)
  }

  tell(line: () => string): void {
    this.story?.push(line())
  }

  breaks(rule: string, detail: string): void {
    this.broken.push({ rule, detail })
  }

  thread(id: string): ThreadRow {
    const thread = this.threads.get(id)
    if (thread === undefined) throw new Error(`Expected a row of thread ${id}, found none.`)
    return thread
  }

  /** Set by the rules that look while it happens. */
  onScheduled: (activity: Activity) => void = () => undefined
  onTook: (run: WorkflowRun, jobs: readonly Job[], commands: readonly Command[]) => void = () => undefined
}

function watchOf(world: World): Watch {
  return {
    get now() {
      return world.now
    },
    main: (start: ThreadStart, carried: unknown) => agentThread(start, carried as never),
    isSuggested: () => world.may(0.06),
    scheduled: (activity: Activity) => {
      world.saw('activity', activity.name)
      world.tell(
        () => `${activity.run.workflowId} asks for ${activity.name} #${activity.id} ${activity.input}`,
      )
      if (activity.name !== 'thread.checkChildren') world.work += 1
      world.onScheduled(activity)
    },
    took: (run: WorkflowRun, jobs: readonly Job[], commands: readonly Command[]) =>
      world.onTook(run, jobs, commands),
    answered: (id: string, refusal: string | null) => world.answers.get(id)?.(refusal),
    unheard: ({ run, name }: Activity) => {
      // These are asked for until they are heard.
      if (name !== ACTIVITIES.deliverReport && name !== ACTIVITIES.settle)
        world.log.unheard.add(run.workflowId)
    },
    askedAgain: ({ id, run }: Activity) => {
      const operations = world.threads.get(run.workflowId)?.operations.values() ?? []
      for (const operation of operations) if (operation.by === id) operation.by = null
    },
    broken: (problem: string) => world.breaks(problem.slice(0, 30), problem),
  }
}
