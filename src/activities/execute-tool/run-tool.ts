import type { CallInput, ExecuteToolAnswer } from '../../protocol/activities.js'
import type { PlanContent } from '../../definitions/plan-content.js'
import type { PendingToolResult, ToolDefinition, ToolResult } from '../../definitions/tool.js'
import { idempotencyKeyOf, runIdOf } from '../../protocol/ids.js'
import { FileError } from '../../store/file-error.js'
import { findThread } from '../../store/threads.js'
import type { Store } from '../../store/store.js'
import { assertStoppedByUser } from '../beat.js'
import type { ActivityDependencies } from '../dependencies.js'
import { promptOf } from '../plan-content.js'
import { openBufferedState } from '../thread-state/buffered-thread-state.js'
import type { BufferedState } from '../thread-state/buffered-thread-state.js'
import type { HeldCall } from './begin-call.js'
import { cancelled, failed, interrupted } from './call-result.js'
import type { CallResult } from './call-result.js'
import { commitResult } from './commit-result.js'
import { shownText } from './long-text.js'
import { toCallResult } from './to-call-result.js'
import type { PendingResult } from './to-call-result.js'

interface ToolRun {
  readonly call: HeldCall
  readonly tool: ToolDefinition
  readonly args: Record<string, unknown>
  readonly content: PlanContent
  /** Milliseconds. */
  readonly timeout: number
  readonly signal: AbortSignal
}

type Settled =
  | { readonly kind: 'answered'; readonly result: ToolResult | PendingToolResult }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'stopped' }

/** Runs the tool's own code. A throw is a result, and keeps what the call did before; a timeout or a cut keeps nothing. */
export async function runTool(dependencies: ActivityDependencies, run: ToolRun): Promise<ExecuteToolAnswer> {
  const { store } = dependencies
  const abort = new AbortController()
  const state = await openState(dependencies, run, abort.signal)
  const settled = await settle(run, state, abort)
  if (settled.kind !== 'answered') state.close()
  await state.settled()
  if (settled.kind === 'stopped') assertStoppedByUser()
  const { call } = run
  switch (settled.kind) {
    case 'stopped':
      return commitResult(store, call, await cutResult(store, call.input.threadId))
    case 'timed_out':
      return commitResult(store, call, timedOut(run))
    case 'threw': {
      const result = await thrownResult(store, call, settled.error)
      return commitWithEffects(store, call, { result, state })
    }
    case 'answered': {
      const result = await toCallResult(store, { ...run, state, result: settled.result })
      return commitWithEffects(store, call, { result, state })
    }
  }
}

function openState(
  dependencies: ActivityDependencies,
  { call, content }: ToolRun,
  abortSignal: AbortSignal,
): Promise<BufferedState> {
  const { input } = call
  return openBufferedState({
    dependencies,
    threadId: input.threadId,
    agent: input.agent,
    now: input.now,
    origin: { kind: 'call', id: input.callId, run: input.run, step: input.step, side: input.side },
    content,
    execution: {
      flowId: runIdOf(input.run),
      currentSide: input.side,
      promptPath: [promptOf(content, input.side).name],
      ...stepCounts(input),
      abortSignal,
    },
  })
}

function stepCounts({
  step,
  sideSteps,
}: CallInput): Record<'stepCount' | 'sideAStepCount' | 'sideBStepCount', number> {
  return { stepCount: step, sideAStepCount: sideSteps.a, sideBStepCount: sideSteps.b }
}

/** A tool that ignores its abort signal is not waited for: its state is closed behind it. */
async function settle(run: ToolRun, { state }: BufferedState, abort: AbortController): Promise<Settled> {
  const { call, tool, args, signal } = run
  const key = idempotencyKeyOf(call.input.threadId, call.input.callId)
  return new Promise((resolve) => {
    const end = (settled: Settled): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      if (settled.kind === 'timed_out' || settled.kind === 'stopped') abort.abort(new Error(settled.kind))
      resolve(settled)
    }
    const stop = (): void => end({ kind: 'stopped' })
    const timer = setTimeout(() => end({ kind: 'timed_out' }), run.timeout)
    signal.addEventListener('abort', stop)
    if (signal.aborted) return stop()
    const made = { id: call.input.callId, attempt: call.attempt, idempotencyKey: key }
    // `args` were parsed by the tool's own schema.
    Promise.resolve()
      .then(() => tool.execute(state, args as never, made))
      .then(
        (result) => end({ kind: 'answered', result }),
        (error: unknown) => end({ kind: 'threw', error }),
      )
  })
}

/** A path that somebody else has turned into another kind meanwhile costs the call its effects, not its result. */
async function commitWithEffects(
  store: Store,
  call: HeldCall,
  { result, state }: { readonly result: PendingResult; readonly state: BufferedState },
): Promise<ExecuteToolAnswer> {
  try {
    return await commitResult(store, call, result, { effects: (tx) => state.commit(tx) })
  } catch (error) {
    if (!FileError.isInstance(error)) throw error
    return commitResult(store, call, failed(error.message, 'invalid_file'))
  }
}

async function cutResult(store: Store, threadId: string): Promise<CallResult> {
  const thread = await store.read((db) => findThread(db, threadId))
  return thread?.terminate_requested_at == null ? interrupted() : cancelled()
}

/** An error may hold a whole response: it is bounded as results are. */
async function thrownResult(store: Store, call: HeldCall, error: unknown): Promise<PendingResult> {
  const shown = await shownText(store, call, messageOf(error))
  return async (tx) => {
    await shown.put(tx)
    return failed(shown.text)
  }
}

function timedOut({ timeout, call }: ToolRun): CallResult {
  return failed(`The tool "${call.input.name}" did not answer within ${timeout / 1000} seconds.`, 'timeout')
}

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message === '' ? 'The tool failed without a reason.' : message
}
