import { wholeInput } from '../../src/protocol/answer-problem.js'
import type { ThreadStart } from '../../src/protocol/messages.js'
import { closesRun, inOrder } from './command.js'
import type { ActivityEnd, Command, Job } from './command.js'
import { WorkflowInstance } from './instance.js'
import { newRun } from './workflow-run.js'
import type { Activity, Execution, Transfer, Watch, WorkflowRun } from './workflow-run.js'

/** A run refuses more; far below the real bound, as the bounds of a simulated thread are. */
const SIGNALS = 60

/** Temporal, as far as a thread can see it: one process, no network, and nothing happens by itself. */
export class FakeServer {
  readonly executions = new Map<string, Execution>()
  readonly transfers: Transfer[] = []
  readonly activities = new Set<Activity>()
  readonly openRuns = new Set<WorkflowRun>()
  readonly #watch: Watch
  #activities = 0

  constructor(watch: Watch) {
    this.#watch = watch
  }

  /** False: the id is taken. */
  start(workflowId: string, start: string, parent: Execution['parent'] = null): boolean {
    if (this.executions.has(workflowId)) return false
    const run = newRun({ workflowId, number: 1, start, carried: null })
    this.executions.set(workflowId, { run, parent })
    this.openRuns.add(run)
    return true
  }

  signal(workflowId: string, name: string, input: string): 'gone' | 'full' | null {
    const run = this.#open(workflowId)
    if (run === null) return 'gone'
    if (run.signals >= SIGNALS) return 'full'
    run.signals += 1
    this.#happens(run, { kind: 'signal', name, input }, input.length)
    return null
  }

  cancel(workflowId: string): 'gone' | null {
    const run = this.#open(workflowId)
    if (run === null) return 'gone'
    this.#happens(run, { kind: 'cancel' }, 0)
    return null
  }

  update(
    workflowId: string,
    update: { readonly id: string; readonly name: string; readonly input: string },
  ): boolean {
    const run = this.#open(workflowId)
    if (run !== null) this.#happens(run, { kind: 'update', ...update }, update.input.length)
    return run !== null
  }

  /** By an operator: no code of the workflow runs any more. */
  terminate(workflowId: string): void {
    const run = this.#open(workflowId)
    if (run !== null) this.#close(run, 'terminated')
  }

  fireTimer(run: WorkflowRun, seq: number): void {
    run.timers.delete(seq)
    this.#happens(run, { kind: 'timer', seq }, 0)
  }

  endActivity(activity: Activity, end: ActivityEnd): void {
    activity.state = 'closed'
    this.activities.delete(activity)
    const { run, seq } = activity
    run.activities.delete(seq)
    const isHeard = end.kind === 'answered' && end.byOperator !== true
    if (!isHeard && activity.attempts > 0) this.#watch.unheard(activity)
    if (!isHeard) this.#watch.askedAgain(activity)
    if (run.state === 'open')
      this.#happens(run, { kind: 'activity', seq, end }, end.kind === 'answered' ? end.answer.length : 0)
  }

  /** The first half of a workflow task: its code runs. */
  async beginTask(run: WorkflowRun): Promise<void> {
    run.instance ??= await this.#replayed(run)
    const jobs = inOrder(run.waiting)
    run.waiting = []
    run.isNew = false
    const info = {
      historyLength: run.events,
      historySize: run.bytes,
      continueAsNewSuggested: this.#watch.isSuggested(),
    }
    const task = { now: this.#watch.now, jobs, info }
    run.task = { task, commands: await run.instance.activate(task) }
  }

  /** The second half: the server takes the commands, unless the run would close over something new. */
  completeTask(run: WorkflowRun): void {
    const { task, commands } = known(run.task)
    if (run.waiting.length > 0 && commands.some(closesRun)) return this.loseTask(run)
    run.task = null
    const refused = new Set(commands.flatMap((command) => (isRefusal(command) ? [command.id] : [])))
    const jobs = task.jobs.filter((job) => job.kind !== 'update' || !refused.has(job.id))
    const left = commands.filter((command) => !isRefusal(command))
    for (const command of commands)
      if (command.kind === 'update') this.#watch.answered(command.id, command.refusal)
    // An update that was refused leaves no trace.
    if (jobs.length === 0 && left.length === 0 && run.history.length > 0) return
    run.history.push({ task: { ...task, jobs }, commands: JSON.stringify(left) })
    run.events += 3
    run.bytes += 300
    this.#watch.took(run, jobs, left)
    for (const command of left) this.#obey(run, command)
  }

  /** The worker dies, or the task fails: it comes again, with what has happened since. */
  loseTask(run: WorkflowRun): void {
    run.instance = null
    if (run.task === null) return
    run.waiting = [...run.task.task.jobs, ...run.waiting]
    run.isNew ||= run.history.length === 0
    run.task = null
  }

  carryOut(transfer: Transfer): void {
    const { from, seq } = transfer
    if (transfer.kind === 'child') {
      const isNew = this.start(transfer.workflowId, transfer.start, { run: from, seq })
      if (from.state === 'open') this.#happens(from, { kind: 'childStarted', seq, already: !isNew }, 0)
      return
    }
    const refusal =
      transfer.kind === 'signal'
        ? this.signal(transfer.workflowId, transfer.name, transfer.input)
        : this.cancel(transfer.workflowId)
    if (from.state === 'open') this.#happens(from, { kind: 'told', seq, refusal }, 0)
  }

  /** The instance of a run, made from its history if no worker has it. */
  async instanceOf(run: WorkflowRun): Promise<WorkflowInstance> {
    run.instance ??= await this.#replayed(run)
    return run.instance
  }

  async #replayed(run: WorkflowRun): Promise<WorkflowInstance> {
    const start = JSON.parse(run.start) as ThreadStart
    const carried: unknown = run.carried === null ? undefined : JSON.parse(run.carried)
    const continuedFromExecutionRunId = run.carried === null ? undefined : `run-${run.number - 1}`
    const info = { workflowId: run.workflowId, continuedFromExecutionRunId }
    const instance = new WorkflowInstance(info, () => this.#watch.main(start, carried))
    const live = Date.now
    for (const { task, commands } of run.history) {
      Date.now = () => task.now
      const again = (await instance.activate(task)).filter((command) => !isRefusal(command))
      if (JSON.stringify(again) !== commands)
        this.#watch.broken(
          `T11 a replay gives other commands: ${JSON.stringify(again)} instead of ${commands}`,
        )
    }
    Date.now = live
    return instance
  }

  #open(workflowId: string): WorkflowRun | null {
    const run = this.executions.get(workflowId)?.run
    return run?.state === 'open' ? run : null
  }

  #happens(run: WorkflowRun, job: Job, bytes: number): void {
    run.waiting.push(job)
    run.events += job.kind === 'activity' ? 2 : 1
    run.bytes += 150 + bytes
  }

  #obey(run: WorkflowRun, command: Command): void {
    switch (command.kind) {
      case 'activity':
        return this.#schedule(run, command)
      case 'cancelActivity':
        return this.#requestCancel(run.activities.get(command.seq))
      case 'timer':
        run.timers.set(command.seq, this.#watch.now + command.delay)
        return undefined
      case 'cancelTimer':
        run.timers.delete(command.seq)
        return undefined
      case 'child':
      case 'signal':
      case 'cancelWorkflow':
        this.transfers.push({ ...command, from: run })
        return undefined
      case 'continueAsNew':
        return this.#continue(run, command)
      case 'complete':
        return this.#close(run, 'completed')
      case 'cancelled':
        return this.#close(run, 'canceled')
      case 'bug':
        return this.#watch.broken(`a workflow task fails: ${command.message}`)
      case 'update':
        return undefined
    }
  }

  #schedule(run: WorkflowRun, { seq, name, input }: Extract<Command, { readonly kind: 'activity' }>): void {
    const id = (this.#activities += 1)
    const given = wholeInput(name, JSON.parse(input) as object)
    const activity: Activity = {
      id,
      run,
      seq,
      name,
      input,
      given,
      attempts: 0,
      state: 'scheduled',
      cancelRequested: false,
    }
    run.events += 1
    run.bytes += 250 + input.length
    run.activities.set(seq, activity)
    this.activities.add(activity)
    this.#watch.scheduled(activity)
  }

  #requestCancel(activity: Activity | undefined): void {
    if (activity === undefined) return
    activity.cancelRequested = true
    // Nobody works at it: the server ends it.
    if (activity.state === 'scheduled') this.endActivity(activity, { kind: 'cancelled' })
  }

  #continue(
    run: WorkflowRun,
    { start, carried }: Extract<Command, { readonly kind: 'continueAsNew' }>,
  ): void {
    const { workflowId } = run
    const execution = known(this.executions.get(workflowId))
    this.#leave(run, 'continued')
    execution.run = newRun({ workflowId, number: run.number + 1, start, carried })
    this.openRuns.add(execution.run)
  }

  #close(run: WorkflowRun, state: 'completed' | 'canceled' | 'terminated'): void {
    this.#leave(run, state)
    const { parent } = known(this.executions.get(run.workflowId))
    if (parent?.run.state === 'open')
      this.#happens(parent.run, { kind: 'childClosed', seq: parent.seq, status: state }, 0)
  }

  #leave(run: WorkflowRun, state: WorkflowRun['state']): void {
    run.state = state
    this.openRuns.delete(run)
    run.instance = null
    run.task = null
    run.timers.clear()
    for (const activity of run.activities.values()) {
      activity.state = 'closed'
      this.activities.delete(activity)
    }
  }
}

function isRefusal(command: Command): command is Extract<Command, { readonly kind: 'update' }> {
  return command.kind === 'update' && command.refusal !== null
}

function known<T>(value: T | null | undefined): T {
  if (value == null) throw new Error('Expected something that the server made itself, got nothing.')
  return value
}
