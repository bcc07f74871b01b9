/**
 * What is wrong with a thread, or may be: one answer, of which nothing is guessed.
 *
 * Owns: what diagnostics consist of, and what they cannot say. Does not own: how a thread is compared with its workflow (`doctor`, whose findings
 * these are, without a repair), and the texts of errors (`errors()`, for operators).
 */
import type { CallOutcome, ThreadStatus } from '../../protocol/status.js'
import { StoreError } from '../../store/store-error.js'
import { TemporalUnavailableError } from '../../protocol/errors.js'
import { listErrors } from '../../store/errors.js'
import type { StoredEvent } from '../../store/event-rows.js'
import type { JsonValue } from '../../protocol/values.js'
import type { Unavailable } from '../../views/capabilities.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { checkThread } from '../doctor/check-thread.js'
import type { Finding } from '../doctor/finding.js'
import { findWait } from '../lists/thread-routing.js'
import type { ExhaustedLimit } from '../lists/thread-routing.js'
import { readSnapshot } from '../read-snapshot.js'
import type { ThreadSnapshot } from '../read-snapshot.js'
import { readBoundaries } from './thread-boundaries.js'
import type { ContextBoundary } from './thread-boundaries.js'
import { readNewestFacts } from './newest-facts.js'

/** Something that went wrong, by its code; texts are in `errors()`. Times are microseconds since 1970. */
export interface Incident {
  readonly kind: 'warning' | 'failed_call' | 'failed_request' | 'failed_hook' | 'failed_effect' | 'failed_run'
  /** The code, or the reason of a run. */
  readonly code: string
  /** The tool, model, hook or effect; null: none. */
  readonly name: string | null
  readonly sequence: number
  readonly at: number
  readonly runId?: string
  readonly toolCallId?: string
  readonly outcome?: CallOutcome
  readonly errorId?: string
}

/** What is wrong with a thread at one moment. */
export interface ThreadDiagnostics {
  readonly threadId: string
  readonly status: ThreadStatus
  /** True: nobody answered for it, or it is closed. */
  readonly stale: boolean
  readonly at: number
  /** What `everthread doctor` finds about it; nothing is repaired. */
  readonly findings: readonly Finding[] | Unavailable
  /** What went wrong among its newest 1,000 events, the newest 50, the newest first. */
  readonly incidents: readonly Incident[]
  /** The newest 20 stored errors, the newest first, by their types. */
  readonly errors: readonly { readonly id: string; readonly at: number; readonly type: string }[]
  /** The number of requests that wait for somebody. */
  readonly pending: number
  /** What it does, and since when; null: nothing. It does not say that this takes too long. */
  readonly working: { readonly doing: string | null; readonly since: number } | null
  readonly interrupt: 'none' | 'stopped' | 'terminating' | 'terminated'
  /** The limit of its account for which it waits. */
  readonly waitsFor: ExhaustedLimit | null
  /** The limits of budgets that its newest run has used up. */
  readonly exceeded: readonly string[]
  /** Its newest cut of the context; `not_applicable`: there was none. */
  readonly context: ContextBoundary | 'not_applicable'
  readonly commands: Unavailable
  readonly processes: Unavailable
}

const INCIDENTS = 50
const ERRORS = 20

/** Reads diagnostics, also from Temporal; `known`: what is read already. @throws ThreadNotFoundError */
export async function readDiagnostics(
  context: ClientContext,
  threadId: string,
  known?: { readonly snapshot: ThreadSnapshot; readonly facts: Awaited<ReturnType<typeof readNewestFacts>> },
): Promise<ThreadDiagnostics> {
  const snapshot = known?.snapshot ?? (await readSnapshot(context, threadId)).snapshot
  const { status, stale, at, run } = snapshot
  const store = await context.store()
  const { facts, errors } = await store.read(async (db) => {
    await requireThread(db, threadId)
    return {
      facts: known?.facts ?? (await readNewestFacts(db, threadId)),
      errors: await listErrors(db, { threadId, limit: ERRORS }),
    }
  })
  const [boundary] = await readBoundaries(context, threadId, { limit: 1 })
  return {
    ...{ threadId, status, stale, at, findings: await findingsOf(context, threadId) },
    incidents: facts.events.flatMap(incidentOf).toReversed().slice(0, INCIDENTS),
    errors: errors.toReversed().map(({ id, at: failedAt, type }) => ({ id, at: failedAt, type })),
    pending: snapshot.pending.length,
    working: run === null ? null : { doing: run.doing, since: run.since },
    interrupt: interruptOf(snapshot),
    waitsFor: findWait(facts.events),
    exceeded: facts.exceeded,
    context: boundary ?? 'not_applicable',
    commands: { unavailable: 'the runtime runs no commands' },
    processes: { unavailable: 'the runtime starts no processes' },
  }
}

async function findingsOf(context: ClientContext, threadId: string): Promise<ThreadDiagnostics['findings']> {
  try {
    return await checkThread({ context, fix: false, reopen: false }, threadId)
  } catch (error) {
    // Without Temporal there is nothing to compare the thread with, and that is no health.
    if (StoreError.isInstance(error)) throw error
    if (TemporalUnavailableError.isInstance(error)) return { unavailable: 'Temporal did not answer' }
    throw error
  }
}

function interruptOf({ status, terminated }: ThreadSnapshot): ThreadDiagnostics['interrupt'] {
  if (status === 'stopped') return 'stopped'
  if (terminated === null) return 'none'
  return status === 'terminated' ? 'terminated' : 'terminating'
}

/** By type: what it is, and the fields that have the code and the name. */
const KINDS: Readonly<Record<string, readonly [Incident['kind'], code: string, name: string | null]>> = {
  'runtime.warning': ['warning', 'code', null],
  'tool.result': ['failed_call', 'errorCode', 'name'],
  'model.failed': ['failed_request', 'error', 'model'],
  'hook.failed': ['failed_hook', 'code', 'hook'],
  'effect.failed': ['failed_effect', 'code', 'name'],
  'run.failed': ['failed_run', 'reason', null],
}

function incidentOf({ type, sequence, at, scope, payload }: StoredEvent): readonly Incident[] {
  const known = KINDS[type]
  const outcome = textOf(payload['outcome'])
  if (known === undefined || outcome === 'succeeded') return []
  const [kind, code, name] = known
  const { runId, toolCallId } = scope
  const errorId = textOf(payload['errorId'])
  return [
    {
      ...{ kind, code: textOf(payload[code]) ?? outcome ?? type, sequence, at },
      name: name === null ? null : textOf(payload[name]),
      ...(runId !== undefined && { runId }),
      ...(toolCallId !== undefined && { toolCallId }),
      // Written as a `Fact`: the store's boundary.
      ...(outcome !== null && { outcome: outcome as CallOutcome }),
      ...(errorId !== null && { errorId }),
    },
  ]
}

function textOf(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null
}
