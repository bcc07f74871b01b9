/**
 * What `src/workflows` takes from `@temporalio/workflow`, without sandbox, converters and core: the same order of jobs,
 * conditions and microtasks, in one process and fast. `hooks.ts` puts it in the place of the SDK.
 */
import { ActivityFailure, CancelledFailure, ChildWorkflowFailure } from '@temporalio/common'
import { ContinueAsNew, activeInstance } from './instance.js'
import { CancellationScope } from './scope.js'

export {
  ActivityFailure,
  CancelledFailure,
  ChildWorkflowFailure,
  TemporalFailure,
  TerminatedFailure,
} from '@temporalio/common'
export { CancellationScope }

export const ActivityCancellationType = {
  WAIT_CANCELLATION_COMPLETED: 'WAIT_CANCELLATION_COMPLETED',
} as const
export const ParentClosePolicy = { ABANDON: 'ABANDON' } as const

interface Definition {
  readonly kind: 'query' | 'update'
  readonly name: string
}

/** All simulated threads begin with the present code. */
export function patched(): boolean {
  return true
}

export function defineQuery(name: string): Definition {
  return { kind: 'query', name }
}

export function defineUpdate(name: string): Definition {
  return { kind: 'update', name }
}

export function setHandler(
  { kind, name }: Definition,
  handle: (input?: unknown) => unknown,
  options: { readonly validator?: (input: unknown) => void } = {},
): void {
  const instance = activeInstance()
  if (kind === 'query') instance.queries.set(name, handle)
  else instance.setUpdateHandler(name, { handle, validate: options.validator ?? (() => undefined) })
}

export function setDefaultSignalHandler(handle: (name: string, input: unknown) => void): void {
  activeInstance().setSignalHandler(handle)
}

export function workflowInfo() {
  return activeInstance().info
}

export function allHandlersFinished(): boolean {
  return activeInstance().handling === 0
}

export async function condition(isMet: () => boolean, timeout?: number): Promise<boolean> {
  const instance = activeInstance()
  if (timeout === undefined) {
    await instance.until(isMet)
    return true
  }
  const scope = new CancellationScope({ cancellable: true })
  try {
    const over = scope.run(() => sleep(timeout)).then(() => false)
    return await Promise.race([over, instance.until(isMet, scope).then(() => true)])
  } finally {
    scope.cancel()
  }
}

export function sleep(delay: number): Promise<void> {
  const instance = activeInstance()
  const { seq, end } = instance.ask<void>((number) => ({
    kind: 'timer',
    seq: number,
    delay: Math.max(1, delay),
  }))
  let isOver = false
  CancellationScope.current().onCancel((error) => {
    if (isOver) return
    if (!instance.takeBack(seq)) instance.give({ kind: 'cancelTimer', seq })
    instance.fail(seq, error)
  })
  const ended = end.finally(() => {
    isOver = true
  })
  // A race may leave it behind.
  ended.catch(() => undefined)
  return ended
}

export function proxyActivities({ taskQueue }: { readonly taskQueue?: string }) {
  return new Proxy<Record<string, (input: unknown) => Promise<unknown>>>(
    {},
    { get: (_target, name) => (input: unknown) => activity(String(name), input, taskQueue ?? null) },
  )
}

function activity(name: string, given: unknown, taskQueue: string | null): Promise<unknown> {
  const instance = activeInstance()
  const scope = CancellationScope.current()
  if (scope.consideredCancelled)
    return Promise.reject(new CancelledFailure('cancelled before it was asked for'))
  const input = JSON.stringify(given)
  const { seq, end } = instance.ask<unknown>((number) => ({
    kind: 'activity',
    seq: number,
    name,
    input,
    taskQueue,
  }))
  let isOver = false
  scope.onCancel((error) => {
    if (isOver || !scope.cancellable) return
    if (!instance.takeBack(seq)) return instance.give({ kind: 'cancelActivity', seq })
    instance.fail(seq, new ActivityFailure('cancelled', name, '', 'CANCEL_REQUESTED', '', error))
  })
  return end.finally(() => {
    isOver = true
  })
}

interface ChildOptions {
  readonly workflowId: string
  readonly args: readonly [unknown]
  readonly memo?: unknown
  readonly staticSummary?: string
  readonly staticDetails?: string
}

export async function startChild(_type: string, { workflowId, args: [start], ...shown }: ChildOptions) {
  const instance = activeInstance()
  const { seq, end } = instance.ask<void>((number) => ({
    kind: 'child',
    seq: number,
    workflowId,
    start: JSON.stringify(start),
    labels: JSON.stringify([shown.memo, shown.staticSummary, shown.staticDetails]),
  }))
  // Started and closed may come in one task.
  const closed = instance.awaitEnd<unknown>(-seq)
  closed.catch(() => undefined)
  await end
  return { workflowId, result: () => closed }
}

export function getExternalWorkflowHandle(workflowId: string) {
  const instance = activeInstance()
  return {
    signal: (name: string, given?: unknown) => {
      const input = given === undefined ? '' : JSON.stringify(given)
      return instance.ask<void>((seq) => ({ kind: 'signal', seq, workflowId, name, input })).end
    },
    cancel: () => instance.ask<void>((seq) => ({ kind: 'cancelWorkflow', seq, workflowId })).end,
  }
}

export function continueAsNew(...args: readonly unknown[]): Promise<never> {
  return Promise.reject(new ContinueAsNew(args))
}

export function isCancellation(error: unknown): boolean {
  if (error instanceof CancelledFailure) return true
  const wraps = error instanceof ActivityFailure || error instanceof ChildWorkflowFailure
  return wraps && error.cause instanceof CancelledFailure
}

/** It is no command, but whoever opens the workflow in the Temporal UI reads it. */
export function setCurrentDetails(details: string): void {
  activeInstance().details = details
}

export function upsertSearchAttributes(): void {
  // No start of a simulated thread names any.
}
