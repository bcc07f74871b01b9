/**
 * The tries of a function tool within one call.
 *
 * Owns: when its code is run again, and what takes its place once it has failed for good. Does not own: what a failure is
 * (`protocol/payloads/tool-failure.ts`), and what becomes of the end of the last try (`function-call.ts`).
 * Invariants: each try has a state of its own, and the writes of a failed try are dropped with it (T9); a destructive tool is run once; a
 * try begins only while this attempt holds the call (T4).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import { readThrownFailure } from '../../definitions/tool-error.js'
import type { ThrownFailure } from '../../definitions/tool-error.js'
import type { ToolDefinition, ToolErrorHandler } from '../../definitions/tool.js'
import type { ExecuteToolInput } from '../../protocol/activities.js'
import { idempotencyKeyOf } from '../../protocol/ids.js'
import { adviceFor, isRetryable } from '../../protocol/payloads/tool-failure.js'
import type { ToolErrorCategory, ToolFailure } from '../../protocol/payloads/tool-failure.js'
import { isObject } from '../../protocol/values.js'
import type { Store } from '../../store/store.js'
import type { ActivityDependencies } from '../activity.js'
import { guardState } from '../hooks/guarded-state.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { isStillHeld } from '../operation.js'
import { log } from '../temporal-activity.js'
import type { BufferedState } from '../thread-state/buffered-state.js'
import { errorFields, readThrown } from '../thrown.js'
import type { RequestRecord } from '../turn/request-log.js'
import { runBounded } from './bounded.js'
import { openHookedCall } from './call-hooks.js'
import type { HeldCall } from './held-call.js'
import { openReports } from './live-reports.js'
import { createInvoker } from './in-place.js'
import { answerProblem, isPending, toResult } from './tool-values.js'

interface ToolRun {
  readonly call: HeldCall
  readonly input: ExecuteToolInput
  readonly tool: ToolDefinition
  readonly args: Record<string, unknown>
  readonly content: PlanContent
  /** Milliseconds, for all tries together. */
  readonly timeout: number
  readonly signal: AbortSignal
  /** The hooks for a call whose state is dropped. */
  readonly hooks: HookBatch
}

/** One try of a tool. */
interface Try {
  readonly ended: Awaited<ReturnType<typeof runBounded<unknown>>>
  /** What the thrown value said of itself. */
  readonly thrown: ThrownFailure | null
  readonly state: BufferedState
  /** The hooks share the state. */
  readonly hooks: HookBatch
  /** The requests to models in this and all earlier tries. */
  readonly requests: readonly RequestRecord[]
}

/** The last try of a call. */
interface Tried extends Try {
  /** What went wrong in it, as the model would read it; null: nothing did, or it was stopped. */
  readonly problem: string | null
  /** The failure that it ended with, or that was overcome; null: there was none, or its result says what is known. */
  readonly failure: ToolFailure | null
}

/** Runs the code of a tool, again where that may help, and then what the tool names for a failure. */
export async function tryTool(dependencies: ActivityDependencies, run: ToolRun): Promise<Tried> {
  const deadline = performance.now() + run.timeout
  const requests: RequestRecord[] = []
  const tryCode = async (number: number, timeout: number, code: ToolCode): Promise<Try> => {
    const { spent, ...made } = await tryOnce(dependencies, run, { number, timeout, code })
    requests.push(...spent)
    return { ...made, requests: [...requests] }
  }
  let met: ThrownFailure | null = null
  for (let number = 1; ; number += 1) {
    const left = deadline - performance.now()
    const made = await tryCode(number, left, (...given) => run.tool.execute(...given))
    const { thrown } = made
    met = thrown ?? met
    const tried: Tried = { ...made, problem: problemOf(run, made), failure: failureOf(made, met, number) }
    const pause = thrown === null ? null : pauseBefore(run.tool, number + 1, thrown)
    if (pause === null || performance.now() + pause >= deadline)
      return recover(dependencies.store, run, tried, (code) => tryCode(number + 1, RECOVERY_TIME, code))
    if (!(await pauseUnlessStopped(pause, run.signal)))
      return { ...tried, ended: { kind: 'stopped' }, problem: null, failure: null }
    // Another attempt holds the call or has finished it; the commit finds out which of the two.
    if (!(await isStillHeld(dependencies.store, run.call.operation))) return tried
  }
}

/** Milliseconds for what stands in for a tool that has failed. */
const RECOVERY_TIME = 30_000

/** Code that runs as a try of a tool. */
type ToolCode = ToolDefinition['execute']

async function tryOnce(
  dependencies: ActivityDependencies,
  run: ToolRun,
  { number, timeout, code }: { readonly number: number; readonly timeout: number; readonly code: ToolCode },
): Promise<Omit<Try, 'requests'> & { readonly spent: readonly RequestRecord[] }> {
  const { call, args, signal, content } = run
  const { input, operation } = call
  const { threadId, callId, side } = input
  const abort = new AbortController()
  const { agent, run: runNumber, step } = run.input
  const caller = {
    ...{ threadId, id: callId, side, content, agent, run: runNumber, step },
    ...{ permissions: call.permissions, budgets: call.budgets },
    ...{ signal: abort.signal, hooks: run.hooks, log: call.inPlace },
  }
  const invoker = createInvoker(dependencies, caller)
  const calling = { ...run, invokeTool: invoker.invoke }
  const opened = await openHookedCall(dependencies, calling, abort.signal)
  const label = `call ${callId}`
  const { state, close } = guardState(opened.state.state, { label, abortSignal: abort.signal })
  const { redactor } = opened.state
  const reports = openReports(dependencies.store, call, { number, redactor })
  const made = {
    id: callId,
    attempt: operation.attempt - operation.asked + number - 1,
    idempotencyKey: idempotencyKeyOf(threadId, callId),
    progress: reports.progress,
    output: reports.output,
  }
  // The tool's own schema has parsed `args`.
  const work = async () => redactor.redactJson<unknown>(toResult(await code(state, args as never, made)))
  const ended = await runBounded<unknown>(work, { timeout, signal, abort })
  // Code that the tool has left running must not write any more; hooks still may.
  close()
  await Promise.all([opened.state.waitForWork(), reports.end()])
  const thrown = ended.kind === 'threw' ? readThrownFailure(ended.error) : null
  const redacted = ended.kind === 'threw' ? { ...ended, error: redactor.redactThrown(ended.error) } : ended
  return { ended: redacted, thrown, ...opened, spent: invoker.requests() }
}

/** Before the second attempt; doubled before each later one. */
const PAUSE = 1_000

/** Failures of a tool without `retry` after which its code may run again, if it changes nothing or can be repeated. */
const USUAL: readonly ToolErrorCategory[] = ['transient', 'rate_limit']

/** Those after which a tool with `retry` is run again, unless it says which. */
const DECLARED: readonly ToolErrorCategory[] = [...USUAL, 'timeout', 'unknown']

const USUAL_ATTEMPTS = 3

/** Milliseconds before the next try; null if there is none. */
function pauseBefore(tool: ToolDefinition, number: number, thrown: ThrownFailure): number | null {
  const { retry, destructive, readOnly, idempotent } = tool
  if (retry === false || (destructive !== undefined && destructive !== false)) return null
  if (retry === undefined && readOnly !== true && idempotent !== true) return null
  const { maximumAttempts, initialInterval = PAUSE, on } = retry ?? { maximumAttempts: USUAL_ATTEMPTS }
  if (number > maximumAttempts) return null
  if (!(on ?? (retry === undefined ? USUAL : DECLARED)).includes(thrown.category)) return null
  return Math.max(initialInterval * 2 ** (number - 2), thrown.retryAfter)
}

/** Returns false if a stop came before the end of the pause. */
async function pauseUnlessStopped(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(milliseconds, undefined, { signal })
    return true
  } catch (error) {
    if (!signal.aborted) throw error
    return false
  }
}

function failureOf({ ended, thrown }: Try, met: ThrownFailure | null, attempts: number): ToolFailure | null {
  if (ended.kind === 'threw') return thrown === null ? null : describe(thrown, attempts)
  if (ended.kind === 'timed_out')
    return { category: 'timeout', isRetryable: isRetryable('timeout'), attempts }
  if (ended.kind === 'stopped' || met === null || errorIn(ended.value) !== null) return null
  return { ...describe(met, attempts), recovery: 'retry' }
}

function describe({ category, status }: ThrownFailure, attempts: number): ToolFailure {
  return {
    ...{ category, isRetryable: isRetryable(category), attempts },
    ...(status !== null && { status }),
  }
}

/** The text of an answer that is an error; null: it is none, or throws when it is read, which its check will say. */
function errorIn(value: unknown): string | null {
  try {
    if (!isObject(value) || value['status'] !== 'error') return null
    const { error } = value
    return typeof error === 'string' ? error : 'The tool failed without a reason.'
  } catch {
    return null
  }
}

/** Whether an answer can take the place of a failure. */
function standsIn(value: unknown): boolean {
  return isPending(value) || (answerProblem(value) === null && errorIn(value) === null)
}

/** Puts what the tool names in the place of a failure. If that fails, too, the failure stays as it is. */
async function recover(
  store: Store,
  { tool, call }: ToolRun,
  tried: Tried,
  tryCode: (code: ToolCode) => Promise<Try>,
): Promise<Tried> {
  const { problem } = tried
  if (tool.onError === undefined || problem === null) return tried
  // A stale attempt calls nothing any more.
  if (!(await isStillHeld(store, call.operation))) return tried
  const category = tried.failure?.category ?? 'unknown'
  const second = await tryCode(recoveryCode(tool.onError, problem, category))
  const { ended } = second
  if (ended.kind === 'answered' && standsIn(ended.value)) {
    const recovery = isPending(ended.value) ? 'person' : 'fallback'
    const failure = tried.failure ?? { category, isRetryable: isRetryable(category), attempts: 1 }
    return { ...second, problem: null, failure: { ...failure, recovery } }
  }
  if (ended.kind === 'stopped') return { ...second, problem: null, failure: null }
  if (ended.kind === 'threw')
    log.warn('What stands in for a failed tool failed, too.', {
      ...{ tool: call.row.name, ...errorFields(readThrown(ended.error)) },
    })
  return { ...tried, requests: second.requests }
}

function problemOf({ timeout, call }: ToolRun, { ended }: Try): string | null {
  switch (ended.kind) {
    case 'threw':
      return readThrown(ended.error).message
    case 'timed_out':
      return `The tool "${call.row.name}" did not answer within ${timeout / 1000} seconds.`
    case 'answered':
      return errorIn(ended.value)
    case 'stopped':
      return null
  }
}

function recoveryCode(onError: ToolErrorHandler, problem: string, category: ToolErrorCategory): ToolCode {
  if ('fallback' in onError) {
    const { fallback } = onError
    if (typeof fallback !== 'function') return () => fallback
    const failure = { message: problem, category, advice: adviceFor(category) }
    return (state, args) => fallback(state, args as never, failure)
  }
  // The arguments of a tool are always an object.
  if ('tool' in onError)
    return (state, args) => state.invokeTool(onError.tool, args as Record<string, unknown>)
  return () => ({ status: 'pending', ...(onError.form !== undefined && { form: onError.form }) })
}
