/**
 * What happened in the runs of a thread, made of its events: runs, their steps, requests to models and calls of tools.
 *
 * Events come in order and once (`event-stream.ts`), but the page begins in the middle of the log: a run whose beginning it has not
 * seen begins with the first event of it that came.
 */
import type { ThreadEvent, ThreadEventOf } from '../protocol/events.js'
import type { AttachmentRef } from '../protocol/message.js'
import type { ToolProgress } from '../protocol/payloads/live-text.js'
import type { Usage } from '../protocol/status.js'

/** A request to a model. */
export interface ModelCall {
  readonly model: string
  readonly attempt: number
  readonly startedAt: number
  readonly reason: string
  readonly milliseconds?: number
  readonly usage?: Usage
  readonly finishReason?: string
  readonly error?: string
  readonly errorId?: string
  /** What follows a failure. */
  readonly next?: string
}

/** A call of a tool; times are milliseconds since 1970. */
export interface ToolRun {
  readonly id: string
  readonly name: string
  readonly startedAt: number
  readonly endedAt?: number
  /** Left out while it runs. */
  readonly outcome?: string
  readonly errorCode?: string
  readonly errorId?: string
  readonly arguments?: string
  /** Its beginning, if it is long. */
  readonly result?: string
  readonly attachments: readonly AttachmentRef[]
  /** A person has given other arguments than the model. */
  readonly changed?: Changed
  /** What its code has reported; left out if it has not, and once the call has ended. */
  readonly live?: LiveCall
}

/** What is seen of a call while it runs. */
export interface LiveCall {
  readonly attempt: number
  /** The newest report; left out: none came. */
  readonly progress?: ToolProgress
  readonly output: string
}

export interface Changed {
  /** Null: somebody without a name. */
  readonly by: string | null
}

export interface Step {
  readonly id: string
  readonly number: number
  readonly prompt: string
  readonly startedAt: number
  readonly endedAt?: number
  readonly contextTokens?: number
  readonly requests: readonly ModelCall[]
  readonly tools: readonly ToolRun[]
  /** By the id of the call, which begins after the answer. */
  readonly changed: Readonly<Record<string, Changed>>
}

export interface Run {
  readonly id: string
  readonly trigger: string
  readonly startedAt: number
  readonly endedAt?: number
  readonly outcome: 'running' | 'completed' | 'failed' | 'cancelled'
  readonly reason?: string
  readonly problem?: string
  readonly usage?: Usage
  readonly steps: readonly Step[]
  /** Warnings, budgets, waits, decisions and reopenings, in order. */
  readonly notes: readonly Note[]
}

export interface Note {
  readonly at: number
  readonly text: string
  readonly errorId?: string
}

/** Long enough to look back, and bounded. */
const MOST_RUNS = 40
const MOST_NOTES = 50

/** The runs after an event, the newest last; the same list if the event says nothing about them. */
export function applyToRuns(runs: readonly Run[], event: ThreadEvent): readonly Run[] {
  const at = Date.parse(event.timestamp)
  switch (event.type) {
    case 'run.started':
      return [...runs, runOf(event.runId ?? '', event.payload.trigger, at)].slice(-MOST_RUNS)
    case 'run.completed':
    case 'run.failed':
    case 'run.cancelled':
      return inRun(runs, event, (run) => endRun(run, event, at))
    case 'step.started':
    case 'step.completed':
    case 'context.resolved':
    case 'model.requested':
    case 'model.completed':
    case 'model.failed':
    case 'tool.started':
    case 'tool.result':
      return inRun(runs, event, (run) => applyToSteps(run, event, at))
    case 'tool.output':
    case 'tool.progress':
      return reportOf(runs, event)
    case 'permission.resolved':
      return event.payload.changed === true ? inRun(runs, event, (run) => applyToSteps(run, event, at)) : runs
    default: {
      const text = noteOf(event)
      if (text === null) return runs
      const errorId =
        event.type === 'hook.failed' || event.type === 'effect.failed' ? event.payload.errorId : undefined
      const note = { at, text, ...(errorId !== undefined && { errorId }) }
      return inRun(runs, event, (run) => ({ ...run, notes: [...run.notes, note].slice(-MOST_NOTES) }))
    }
  }
}

function runOf(id: string, trigger: string, startedAt: number): Run {
  return { id, trigger, startedAt, outcome: 'running', steps: [], notes: [] }
}

/** Changes the run of an event: the newest one, if the event names none. */
function inRun(runs: readonly Run[], { runId, timestamp }: ThreadEvent, change: (run: Run) => Run) {
  const index = runId === undefined ? runs.length - 1 : runs.findLastIndex(({ id }) => id === runId)
  const run = runs[index]
  if (run === undefined)
    return runId === undefined ? runs : [...runs, change(runOf(runId, '', Date.parse(timestamp)))]
  return runs.with(index, change(run))
}

type RunEnd = ThreadEventOf<'run.completed' | 'run.failed' | 'run.cancelled'>

function endRun(run: Run, { type, payload }: RunEnd, endedAt: number): Run {
  const outcome = type === 'run.completed' ? 'completed' : type === 'run.failed' ? 'failed' : 'cancelled'
  const { reason, usage } = payload
  const problem = 'error' in payload && typeof payload.error === 'string' ? { problem: payload.error } : {}
  return { ...run, outcome, reason, usage, endedAt, ...problem }
}

type StepEvent = ThreadEventOf<
  | 'step.started'
  | 'step.completed'
  | 'context.resolved'
  | 'model.requested'
  | 'model.completed'
  | 'model.failed'
  | 'tool.started'
  | 'tool.result'
  | 'permission.resolved'
>

function applyToSteps(run: Run, event: StepEvent, at: number): Run {
  const id = event.stepId ?? run.steps.at(-1)?.id ?? ''
  const known = run.steps.find((step) => step.id === id)
  const number = event.type === 'step.started' ? event.payload.step : (run.steps.at(-1)?.number ?? 0) + 1
  const step = known ?? { id, number, prompt: '', startedAt: at, requests: [], tools: [], changed: {} }
  const next = applyToStep(step, event, at)
  const steps =
    known === undefined ? [...run.steps, next] : run.steps.map((one) => (one === known ? next : one))
  return { ...run, steps }
}

function applyToStep(step: Step, event: StepEvent, at: number): Step {
  switch (event.type) {
    case 'step.started':
      return { ...step, number: event.payload.step, prompt: event.payload.prompt ?? '' }
    case 'step.completed':
      return { ...step, endedAt: at }
    case 'context.resolved': {
      const { estimatedTokens } = event.payload
      return estimatedTokens === undefined ? step : { ...step, contextTokens: estimatedTokens }
    }
    case 'model.requested': {
      const { model, attempt, routing } = event.payload
      return {
        ...step,
        requests: [...step.requests, { model, attempt, startedAt: at, reason: routing.reason }],
      }
    }
    case 'model.completed': {
      const { model, attempt, milliseconds, usage, finishReason } = event.payload
      return inRequest(step, { model, attempt, at }, { milliseconds, usage, finishReason })
    }
    case 'model.failed': {
      const { model, attempt, error, errorId, next } = event.payload
      return inRequest(
        step,
        { model, attempt, at },
        { error, next, ...(errorId !== undefined && { errorId }) },
      )
    }
    case 'tool.started':
      return { ...step, tools: [...step.tools, startedTool(step, event, at)] }
    case 'permission.resolved':
      return { ...step, changed: { ...step.changed, [event.toolCallId ?? '']: { by: event.payload.by } } }
    case 'tool.result':
      return { ...step, tools: endTool(step.tools, event, at) }
  }
}

/** The newest request of that model and attempt: prompts that are called as tools number theirs anew. */
function inRequest(
  step: Step,
  { model, attempt, at }: { readonly model: string; readonly attempt: number; readonly at: number },
  patch: Partial<ModelCall>,
): Step {
  const index = step.requests.findLastIndex(
    (one) => one.model === model && one.attempt === attempt && one.milliseconds === undefined,
  )
  const request = step.requests[index] ?? { model, attempt, startedAt: at, reason: '' }
  const next = { ...request, ...patch }
  return { ...step, requests: index === -1 ? [...step.requests, next] : step.requests.with(index, next) }
}

function startedTool(
  { changed }: Step,
  { toolCallId = '', payload }: ThreadEventOf<'tool.started'>,
  startedAt: number,
): ToolRun {
  const { name, preview } = payload
  return {
    ...{ id: toolCallId, name, startedAt, attachments: [] },
    ...(preview !== null && { arguments: preview }),
    ...(changed[toolCallId] !== undefined && { changed: changed[toolCallId] }),
  }
}

type Report = ThreadEventOf<'tool.output' | 'tool.progress'>

/** Adds a report to the call that it names, which runs. Pieces of output may come twice; a higher attempt begins anew. */
function reportOf(runs: readonly Run[], report: Report): readonly Run[] {
  const { toolCallId } = report
  const place = runs.flatMap((run, at) =>
    run.steps.flatMap((step, stepAt) =>
      step.tools.flatMap((tool, toolAt) =>
        tool.id === toolCallId && tool.endedAt === undefined ? [{ run, at, step, stepAt, tool, toolAt }] : [],
      ),
    ),
  )
  const found = place.at(-1)
  if (found === undefined) return runs
  const { run, at, step, stepAt, tool, toolAt } = found
  const live = reported(tool.live, report)
  if (live === tool.live) return runs
  const tools = step.tools.with(toolAt, { ...tool, live })
  return runs.with(at, { ...run, steps: run.steps.with(stepAt, { ...step, tools }) })
}

function reported(known: LiveCall | undefined, report: Report): LiveCall {
  const { attempt } = report.payload
  if (known !== undefined && attempt < known.attempt) return known
  const live = known?.attempt === attempt ? known : { attempt, output: '' }
  if (report.type === 'tool.progress') {
    const { attempt: _attempt, ...progress } = report.payload
    return { ...live, progress }
  }
  const { offset, text } = report.payload
  return { ...live, output: live.output.slice(0, offset) + text }
}

function endTool(
  tools: readonly ToolRun[],
  { toolCallId = '', payload }: ThreadEventOf<'tool.result'>,
  endedAt: number,
): readonly ToolRun[] {
  const { name, outcome, errorCode, errorId, preview, attachments } = payload
  const index = tools.findLastIndex(({ id }) => id === toolCallId)
  const known = tools[index] ?? { id: toolCallId, name, startedAt: endedAt, attachments }
  const { live: _live, ...begun } = known
  const ended = {
    ...begun,
    ...{ outcome, endedAt, attachments },
    ...(errorCode !== null && { errorCode }),
    ...(errorId !== undefined && { errorId }),
    ...(preview !== null && { result: preview }),
  }
  return index === -1 ? [...tools, ended] : tools.with(index, ended)
}

/** What stands between the steps, as a sentence; null for events that the timeline shows otherwise, or not. */
function noteOf(event: ThreadEvent): string | null {
  switch (event.type) {
    case 'runtime.warning':
      return `${event.payload.code}${event.payload.message === undefined ? '' : `: ${event.payload.message}`}`
    case 'model.unavailable':
      return 'no model is left that could answer'
    case 'budget.warning':
    case 'budget.exceeded':
      return `${event.type === 'budget.warning' ? 'budget is nearly used' : 'budget is used up'}: ${event.payload.limit} of the ${event.payload.scope}, ${event.payload.used} of ${event.payload.most}`
    case 'budget.raised':
      return `budget raised${event.payload.by === null ? '' : ` by ${event.payload.by}`}`
    case 'limit.changed':
      return `waits for the limit ${event.payload.limit} of the account`
    case 'action.resolved':
      return `request ${event.payload.decision}${event.payload.by === null ? '' : ` by ${event.payload.by}`}`
    case 'permission.evaluated':
      return event.payload.decision === 'allowed'
        ? null
        : `call ${event.payload.decision} (${event.payload.source})`
    case 'thread.reopened':
      return 'the thread had lost its workflow and was reopened'
    case 'thread.updated':
      return event.payload.agent === undefined ? null : `agent ${event.payload.agent}`
    case 'hook.failed':
      return `hook ${event.payload.hook} failed: ${event.payload.code}`
    case 'effect.failed':
      return `effect ${event.payload.name} failed: ${event.payload.code}`
    case 'effect.scheduled':
      return `effect ${event.payload.name} scheduled`
    case 'effect.completed':
      return `effect ${event.payload.name} ran`
    default:
      return null
  }
}

/** The outcome of the newest run; `running` while one goes on. */
export function isWorking(runs: readonly Run[]): boolean {
  return runs.at(-1)?.outcome === 'running'
}
