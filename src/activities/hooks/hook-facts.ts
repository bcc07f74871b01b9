/**
 * The facts of the runs of hooks, which are the same at all points.
 * Owns: what `hook.started`, `hook.completed` and `hook.failed` say, and where the text of a failure is kept.
 * Does not own: in which transaction they are stored: that of the writes of the hook (`hook-batch.ts`), or the one that decides
 * (`deciding-hooks.ts`, `run-end-hooks.ts`).
 * Invariants:
 * F1: a run has its beginning and one end, beside each other. A hook that no worker has did not run: it has only its failure.
 * F2: they hold ids, names and numbers (T5): what a hook has changed is named, and stands where it is stored.
 */
import { randomUUID } from 'node:crypto'

import type { HookPoint } from '../../definitions/hook.js'
import type { HookDecision, HookFailureCode, HookStatus } from '../../protocol/payloads/governance.js'
import type { EventScope } from '../../protocol/events.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import type { Micros } from '../../protocol/time.js'
import { recordError } from '../../store/errors.js'
import type { Writer } from '../../store/store.js'
import { readThrown } from '../thrown.js'

/** The failure of one hook. */
export interface HookFailure {
  readonly code: HookFailureCode
  readonly error: unknown
}

/** One run of a hook, or the failure of one that this worker lacks. */
export interface HookRun {
  readonly hook: string
  /** Null: this worker has no hook of that id, so the point is unknown. */
  readonly point: HookPoint | null
  readonly scope: EventScope
  /** Milliseconds after which it is abandoned; null: this worker does not have it. */
  readonly timeout: number | null
  /** Milliseconds that it took. */
  readonly duration: number
  readonly end: HookEnd
}

type HookEnd =
  | {
      readonly kind: 'completed'
      readonly decision: HookDecision
      /** A stop came first, and its answer was not used. */
      readonly isStopped: boolean
      /** It has changed what it was given. */
      readonly isChanged: boolean
      /** The ids of the messages that it injected. */
      readonly added: readonly string[]
    }
  | {
      readonly kind: 'failed'
      readonly failure: HookFailure
      /** What it was asked about was not done. */
      readonly isClosed: boolean
    }

/** Returns the facts of a run. The text of a failure is kept for operators alone (T5). */
export async function factsOfRun(
  tx: Writer,
  { hook, point, scope, timeout, duration, end }: HookRun,
  { threadId, now }: { readonly threadId: string; readonly now: Micros },
): Promise<readonly Fact[]> {
  const began =
    timeout === null || point === null ? [] : [fact('hook.started', { hook, point, timeout }, scope)]
  if (end.kind === 'failed') {
    const { failure, isClosed } = end
    const { code, error } = failure
    const errorId = randomUUID()
    const { message, stack } = readThrown(error)
    await recordError(tx, { id: errorId, threadId, at: now, type: `hook.${code}`, message, stack })
    const fails = isClosed ? 'closed' : 'open'
    const payload = { hook, point, code, retryable: MAY_PASS[code], fails, errorId } as const
    return [...began, fact('hook.failed', payload, scope)]
  }
  if (point === null) throw new Error(`Expected the point of the hook "${hook}", which has run.`)
  const { decision, isStopped, isChanged, added } = end
  const status: HookStatus = isStopped ? 'stopped' : 'completed'
  const payload = {
    ...{ hook, point, status, decision, duration },
    ...(added.length > 0 && { added }),
    ...(isChanged && { updated: [referenceOf(point, scope)] }),
  }
  return [...began, fact('hook.completed', payload, scope)]
}

/** Whether a failure may pass by itself. The other ones need another code, or another worker. */
const MAY_PASS: Readonly<Record<HookFailureCode, boolean>> = {
  threw: true,
  timeout: true,
  invalid_answer: false,
  missing: false,
  blocked: false,
}

/** What the hooks of a point can change, and the id that tells one such thing from another. */
const SUBJECTS: Readonly<Record<HookPoint, readonly [name: string, id: keyof EventScope]>> = {
  after_thread_created: ['thread', 'runId'],
  after_subagent_created: ['thread', 'runId'],
  after_system_message: ['system', 'stepId'],
  filter_messages: ['messages', 'stepId'],
  prefilter_llm_history: ['request', 'stepId'],
  before_compaction: ['compaction', 'stepId'],
  after_compaction: ['summary', 'stepId'],
  before_create_message: ['message', 'messageId'],
  after_create_message: ['message', 'messageId'],
  before_update_message: ['message', 'messageId'],
  after_update_message: ['message', 'messageId'],
  before_tool_call: ['arguments', 'toolCallId'],
  before_permission_request: ['arguments', 'toolCallId'],
  before_run_end: ['run', 'runId'],
  before_store_tool_result: ['result', 'toolCallId'],
  after_tool_call_success: ['result', 'toolCallId'],
  after_tool_call_failure: ['result', 'toolCallId'],
}

function referenceOf(point: HookPoint, scope: EventScope): string {
  const [name, key] = SUBJECTS[point]
  const id = scope[key]
  return id === undefined ? name : `${name}:${id}`
}
