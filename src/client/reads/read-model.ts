/**
 * The one answer to what happens in a thread now, made of the reads that answer each question by itself.
 *
 * Owns: which parts it has, their bounds, and what stands in the place of those that this runtime has not. Does not own: any of the parts.
 */
import type { LastRun, RunSnapshot, ThreadStatus } from '../../protocol/status.js'
import { lastRun } from '../../store/threads/runs.js'
import { UNAVAILABLE } from '../../views/capabilities.js'
import type { MissingValue, Unavailable, UnavailableCapability } from '../../views/capabilities.js'
import { controlStateOf } from '../../views/control-states.js'
import type { ControlState } from '../../views/control-states.js'
import type { PendingRequest } from '../answers/pending-request.js'
import type { ClientContext } from '../client-context.js'
import { readThreadPermissions } from '../lists/thread-permissions.js'
import type { PermissionSummary } from '../lists/thread-permissions.js'
import { readThreadRouting } from '../lists/thread-routing.js'
import type { RoutingSummary } from '../lists/thread-routing.js'
import { readThreadTools } from '../lists/thread-tools.js'
import { readSnapshot } from '../read-snapshot.js'
import type { ThreadSnapshot } from '../read-snapshot.js'
import { readNewestFacts } from './newest-facts.js'
import { readArtifacts } from './thread-artifacts.js'
import type { ThreadArtifacts } from './thread-artifacts.js'
import { readDiagnostics } from './thread-diagnostics.js'
import type { ThreadDiagnostics } from './thread-diagnostics.js'
import { readQueue } from './thread-queue.js'
import type { ThreadQueue } from './thread-queue.js'

/** The state of a thread at one moment. What it lacks says why. */
export interface ThreadReadModel {
  readonly threadId: string
  /** The id of its session: of the root thread of its tree. */
  readonly sessionId: string
  readonly agent: string
  readonly status: ThreadStatus
  /** The same in the words of the Agent Runtime draft. */
  readonly controlState: ControlState
  readonly stale: boolean
  readonly at: number
  /** The message that the run works on; `not_applicable`: no run goes on; `unknown`: it began more than 1,000 events ago. */
  readonly activeTurn: { readonly turnId: string } | Extract<MissingValue, 'not_applicable' | 'unknown'>
  readonly run: RunSnapshot | null
  readonly lastOutcome: LastRun | 'not_applicable'
  /** The requests that wait, with all that their answers need. */
  readonly pending: readonly PendingRequest[]
  /** The first 50 items that wait. */
  readonly queue: ThreadQueue
  /** Incidents, findings, waits and the newest cut of the context. */
  readonly diagnostics: ThreadDiagnostics
  /** How many of its tools may be called, would be asked about, and may not. */
  readonly tools: Readonly<Record<'allowed' | 'ask' | 'denied' | 'unavailable', number>> | Unavailable
  /** The 10 files that were changed last. */
  readonly artifacts: ThreadArtifacts
  readonly routing: Omit<RoutingSummary, 'threadId'>
  readonly permissions: Omit<PermissionSummary, 'threadId' | 'agent' | 'pending'>
  /** The first 50. */
  readonly subagents: { readonly count: number; readonly first: ThreadSnapshot['children'] }
  /** The trace of its newest run; `unknown`: no telemetry has recorded one. */
  readonly telemetry: { readonly traceparent: string } | 'unknown'
  readonly tasks: Unavailable
  readonly jobs: Unavailable
  readonly evidence: Unavailable
  readonly environment: Unavailable
  readonly processes: Unavailable
  readonly channels: Unavailable
  /** Every capability that this runtime has not, by its name. */
  readonly unavailable: readonly UnavailableCapability[]
}

const ITEMS = 50
const FILES = 10

/** Reads all of it. @throws ThreadNotFoundError */
export async function readModel(context: ClientContext, threadId: string): Promise<ThreadReadModel> {
  const { snapshot } = await readSnapshot(context, threadId)
  const store = await context.store()
  const { facts, newest } = await store.read(async (db) => ({
    facts: await readNewestFacts(db, threadId),
    newest: await lastRun(db, threadId),
  }))
  const { threadId: _id, ...routing } = await readThreadRouting(context, threadId, facts.events)
  const { root: sessionId, agent, status, stale, at, run, pending, childCount, children } = snapshot
  return {
    ...{ threadId, sessionId, agent, status, stale, at, run, pending },
    controlState: controlStateOf({ ...snapshot, ...facts, queued: snapshot.queue.length }),
    activeTurn: activeTurn(snapshot, facts.turnId),
    lastOutcome: snapshot.lastRun ?? 'not_applicable',
    queue: await readQueue(context, threadId, { limit: ITEMS }, snapshot),
    diagnostics: await readDiagnostics(context, threadId, { snapshot, facts }),
    tools: await countTools(context, threadId),
    artifacts: await readArtifacts(context, threadId, { limit: FILES }),
    routing,
    permissions: await permissionsOf(context, threadId),
    subagents: { count: childCount, first: children },
    telemetry: newest?.traceparent == null ? 'unknown' : { traceparent: newest.traceparent },
    ...ABSENT,
    unavailable: UNAVAILABLE,
  }
}

const ABSENT = {
  tasks: { unavailable: 'there are no tasks beside the messages of a thread' },
  jobs: { unavailable: 'there are no jobs' },
  evidence: { unavailable: 'the runtime keeps no evidence of its own' },
  environment: { unavailable: "there is no execution environment of the runtime's own" },
  processes: { unavailable: 'the runtime starts no processes' },
  channels: { unavailable: 'there are no remote channels' },
} as const

function activeTurn({ run }: ThreadSnapshot, turnId: string | null): ThreadReadModel['activeTurn'] {
  if (run === null) return 'not_applicable'
  return turnId === null ? 'unknown' : { turnId }
}

async function permissionsOf(
  context: ClientContext,
  threadId: string,
): Promise<ThreadReadModel['permissions']> {
  const {
    threadId: _id,
    agent: _agent,
    pending: _pending,
    ...rest
  } = await readThreadPermissions(context, threadId)
  return rest
}

async function countTools(context: ClientContext, threadId: string): Promise<ThreadReadModel['tools']> {
  const { tools, recordedAt } = await readThreadTools(context, threadId)
  if (recordedAt === null) return { unavailable: 'no worker has recorded the agent' }
  const count = { allowed: 0, ask: 0, denied: 0, unavailable: 0 }
  for (const { policy } of tools) count[policy] += 1
  return count
}
