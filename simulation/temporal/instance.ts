import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  ChildWorkflowFailure,
  TerminatedFailure,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/common'
import type { Command, Job, Task } from './command.js'
import { CancellationScope, enterScope } from './scope.js'

interface Pending {
  resolve(value: unknown): void
  reject(error: Error): void
}

interface Condition {
  readonly isMet: () => boolean
  readonly resolve: () => void
}

interface UpdateHandler {
  handle(input: unknown): void
  /** Throws to refuse. */
  validate(input: unknown): void
}

interface InstanceInfo {
  readonly workflowId: string
  readonly continuedFromExecutionRunId: string | undefined
  historyLength: number
  historySize: number
  continueAsNewSuggested: boolean
}

/** Thrown by `continueAsNew`. */
export class ContinueAsNew extends Error {
  readonly args: readonly unknown[]

  constructor(args: readonly unknown[]) {
    super('continue as new')
    this.args = args
  }
}

let active: WorkflowInstance | undefined

function enter(instance: WorkflowInstance): void {
  active = instance
}

/** The instance whose workflow code is running now. */
export function activeInstance(): WorkflowInstance {
  if (active === undefined) throw new Error('Expected a workflow to be active, got none.')
  return active
}

/** One cached workflow run in a worker: real workflow code, driven by jobs, that answers with commands. */
export class WorkflowInstance {
  readonly info: InstanceInfo
  readonly queries = new Map<string, () => unknown>()
  readonly updates = new Map<string, UpdateHandler>()
  /** What the Temporal UI shows of it. */
  details = ''
  /** Updates that are under way: they answer in a microtask of their own. */
  handling = 0
  readonly #root = new CancellationScope({ cancellable: true })
  /** Threads shield all that they do from their root's cancellation. */
  readonly #shield = new CancellationScope({ cancellable: false })
  readonly #main: () => Promise<unknown>
  readonly #pending = new Map<number, Pending>()
  #signalHandler: ((name: string, input: unknown) => void) | undefined
  #early: Job[] = []
  #conditions: Condition[] = []
  #commands: Command[] = []
  #seq = 0
  #started = false

  constructor(
    info: Pick<InstanceInfo, 'workflowId' | 'continuedFromExecutionRunId'>,
    main: () => Promise<unknown>,
  ) {
    this.info = { ...info, historyLength: 0, historySize: 0, continueAsNewSuggested: false }
    this.#main = main
  }

  /** Runs one workflow task to its end. */
  async activate({ jobs, info }: Task): Promise<readonly Command[]> {
    this.#enter()
    Object.assign(this.info, info)
    for (const job of jobs) {
      this.#apply(job)
      this.#unblock()
    }
    if (!this.#started) this.#start()
    do await microtasks()
    while (this.#unblock())
    const commands = this.#commands
    this.#commands = []
    return commands
  }

  query(name: string): unknown {
    this.#enter()
    return this.queries.get(name)?.()
  }

  setSignalHandler(handler: (name: string, input: unknown) => void): void {
    this.#signalHandler = handler
    for (const job of this.#early.splice(0)) this.#apply(job)
  }

  setUpdateHandler(name: string, handler: UpdateHandler): void {
    this.updates.set(name, handler)
    const early = this.#early.filter((job) => job.kind === 'update' && job.name === name)
    this.#early = this.#early.filter((job) => !early.includes(job))
    for (const job of early) this.#apply(job)
  }

  /** Gives a command a number, under which its end is awaited. */
  ask<T>(command: (seq: number) => Command): { readonly seq: number; readonly end: Promise<T> } {
    const seq = (this.#seq += 1)
    this.#commands.push(command(seq))
    return { seq, end: this.awaitEnd(seq) }
  }

  awaitEnd<T>(key: number): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      // Whoever asked knows what comes: the two sides of one wire.
      this.#pending.set(key, { resolve: resolve as Pending['resolve'], reject })
    })
  }

  give(command: Command): void {
    this.#commands.push(command)
  }

  /** Takes back a command that this task has not given yet. */
  takeBack(seq: number): boolean {
    const index = this.#commands.findIndex((command) => 'seq' in command && command.seq === seq)
    if (index === -1) return false
    this.#commands.splice(index, 1)
    return true
  }

  fail(key: number, error: Error): void {
    this.#take(key)?.reject(error)
  }

  /** `scope`: whose cancellation leaves the condition behind. */
  until(isMet: () => boolean, scope?: CancellationScope): Promise<void> {
    if (isMet()) return Promise.resolve()
    return new Promise((resolve) => {
      const condition = { isMet, resolve }
      this.#conditions.push(condition)
      scope?.onCancel(() => {
        this.#conditions = this.#conditions.filter((waiting) => waiting !== condition)
      })
    })
  }

  #enter(): void {
    enter(this)
    enterScope(this.#shield)
  }

  #start(): void {
    this.#started = true
    enterScope(this.#root)
    this.#main().then(
      (result) => this.give({ kind: 'complete', result: JSON.stringify(result) }),
      (error: unknown) => this.give(endOf(error)),
    )
    enterScope(this.#shield)
    this.#unblock()
  }

  #take(key: number): Pending | undefined {
    const pending = this.#pending.get(key)
    this.#pending.delete(key)
    return pending
  }

  #unblock(): boolean {
    const met = this.#conditions.filter(({ isMet }) => isMet())
    if (met.length === 0) return false
    this.#conditions = this.#conditions.filter((condition) => !met.includes(condition))
    for (const { resolve } of met) resolve()
    return true
  }

  #apply(job: Job): void {
    switch (job.kind) {
      case 'cancel':
        return this.#root.cancel()
      case 'signal':
        if (this.#signalHandler === undefined) this.#early.push(job)
        else this.#signalHandler(job.name, parsed(job.input))
        return undefined
      case 'update':
        return this.#update(job)
      case 'activity':
        return this.#activityEnded(job)
      case 'timer':
        return this.#take(job.seq)?.resolve(undefined)
      case 'childStarted':
        if (!job.already) return this.#take(job.seq)?.resolve(undefined)
        return this.fail(job.seq, new WorkflowExecutionAlreadyStartedError('already started', '', ''))
      case 'childClosed':
        if (job.status === 'completed') return this.#take(-job.seq)?.resolve(undefined)
        return this.fail(-job.seq, childFailure(job.status))
      case 'told':
        if (job.refusal === null) return this.#take(job.seq)?.resolve(undefined)
        return this.fail(job.seq, refusedSignal(job.refusal))
    }
  }

  #update(job: Extract<Job, { readonly kind: 'update' }>): void {
    const handler = this.updates.get(job.name)
    if (handler === undefined) {
      this.#early.push(job)
      return
    }
    const input = parsed(job.input)
    try {
      handler.validate(input)
    } catch (error) {
      this.give({ kind: 'update', id: job.id, refusal: error instanceof Error ? error.message : 'refused' })
      return
    }
    this.handling += 1
    handler.handle(input)
    void Promise.resolve().then(() => {
      this.handling -= 1
      this.give({ kind: 'update', id: job.id, refusal: null })
    })
  }

  #activityEnded({ seq, end }: Extract<Job, { readonly kind: 'activity' }>): void {
    if (end.kind === 'answered') return this.#take(seq)?.resolve(parsed(end.answer))
    const cause = end.kind === 'cancelled' ? new CancelledFailure('cancelled') : new Error('failed')
    return this.fail(
      seq,
      new ActivityFailure('Activity task failed', '', '', 'NON_RETRYABLE_FAILURE', '', cause),
    )
  }
}

/** What the sender wrote, or what the payload converter makes of bytes that are none of its own. */
function parsed(text: string): unknown {
  return text === '' ? undefined : (JSON.parse(text) as unknown)
}

/** Node runs every waiting microtask before the next of its ticks. */
function microtasks(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(resolve)
  })
}

function endOf(error: unknown): Command {
  if (error instanceof ContinueAsNew) {
    const [start, carried] = error.args
    return { kind: 'continueAsNew', start: JSON.stringify(start), carried: JSON.stringify(carried) }
  }
  if (error instanceof CancelledFailure) return { kind: 'cancelled' }
  return { kind: 'bug', message: error instanceof Error ? (error.stack ?? error.message) : String(error) }
}

function childFailure(status: string): Error {
  const cause =
    status === 'terminated'
      ? new TerminatedFailure('terminated')
      : status === 'canceled'
        ? new CancelledFailure('canceled')
        : new Error(status)
  const execution = { workflowId: '', runId: '' }
  return new ChildWorkflowFailure(undefined, execution, 'agentThread', 'NON_RETRYABLE_FAILURE', cause)
}

function refusedSignal(refusal: 'gone' | 'full'): Error {
  const type = refusal === 'full' ? 'SignalCountLimitExceeded' : 'ExternalWorkflowExecutionNotFound'
  return ApplicationFailure.nonRetryable('The signal was refused.', type)
}
