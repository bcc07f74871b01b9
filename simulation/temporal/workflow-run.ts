import type { ThreadStart } from '../../src/protocol/messages.js'
import type { Command, Job, Task } from './command.js'
import type { WorkflowInstance } from './instance.js'

/** An activity as the server knows it. */
export interface Activity {
  readonly id: number
  readonly run: WorkflowRun
  readonly seq: number
  readonly name: string
  readonly input: string
  /** The same, read. */
  readonly given: unknown
  /** Attempts that were started. */
  attempts: number
  state: 'scheduled' | 'started' | 'closed'
  cancelRequested: boolean
}

/** One Temporal run of a workflow. */
export interface WorkflowRun {
  readonly workflowId: string
  readonly number: number
  readonly start: string
  readonly carried: string | null
  readonly history: { readonly task: Task; readonly commands: string }[]
  readonly activities: Map<number, Activity>
  readonly timers: Map<number, number>
  state: 'open' | 'continued' | 'completed' | 'canceled' | 'terminated'
  /** What has happened since the last task. */
  waiting: Job[]
  /** A task is due though nothing has happened: the first one. */
  isNew: boolean
  task: { readonly task: Task; readonly commands: readonly Command[] } | null
  instance: WorkflowInstance | null
  events: number
  bytes: number
  signals: number
}

export interface Execution {
  run: WorkflowRun
  readonly parent: { readonly run: WorkflowRun; readonly seq: number } | null
}

/** Something on its way from one workflow to another. */
export type Transfer = { readonly from: WorkflowRun } & Extract<
  Command,
  { readonly kind: 'child' | 'signal' | 'cancelWorkflow' }
>

/** Who looks at what happens. */
export interface Watch {
  readonly now: number
  /** The code of the workflow. */
  main(start: ThreadStart, carried: unknown): Promise<unknown>
  isSuggested(): boolean
  scheduled(activity: Activity): void
  /** A task was completed. */
  took(run: WorkflowRun, jobs: readonly Job[], commands: readonly Command[]): void
  answered(updateId: string, refusal: string | null): void
  /** It ends without an answer though it was begun. */
  unheard(activity: Activity): void
  /** The workflow may ask once more for what it did. */
  askedAgain(activity: Activity): void
  broken(problem: string): void
}

export function newRun(of: Pick<WorkflowRun, 'workflowId' | 'number' | 'start' | 'carried'>): WorkflowRun {
  return {
    ...of,
    history: [],
    activities: new Map(),
    timers: new Map(),
    state: 'open',
    waiting: [],
    isNew: true,
    task: null,
    instance: null,
    events: 2,
    bytes: of.start.length + (of.carried?.length ?? 0),
    signals: 0,
  }
}
