/**
 * A permit: what is known about a call before the transaction that decides about it, and the decision from that and from what the store has.
 * Owns: when failed calls and grants are read, which only some decisions need.
 * Does not own: how the sources combine (`policy/judge.ts`), what they say (`permit.ts`), and what is decided with it (`permission.ts`).
 */
import type { Question } from '../../policy/approval-detail.js'
import { judgeForThread, looksAtFailures } from '../../policy/judge.js'
import type { PermissionDecision, Sources, StoredPermissions } from '../../policy/judge.js'
import type { ExecuteToolInput } from '../../protocol/activities.js'
import { toMicros } from '../../protocol/time.js'
import { findGrant } from '../../store/calls/grants.js'
import { argumentsOf, hasFailedCall } from '../../store/calls/tool-calls.js'
import type { ToolCallRecord } from '../../store/calls/tool-calls.js'
import { digestOf } from '../../store/digest.js'
import type { Reader } from '../../store/store.js'
import { findThread } from '../../store/threads/threads.js'
import type { ChangedArguments, HookFacts } from '../hooks/deciding-hooks.js'
import type { Thrown } from '../thrown.js'

/** What the sources say about a call. */
export interface Permit extends Sources {
  /** The checks that gave no answer. */
  readonly problems: readonly CheckProblem[]
  /** What a person is shown who is asked. */
  readonly question: () => Question
  /** The facts of the hooks that were asked; null: none was. */
  readonly hookFacts: HookFacts | null
  /** The arguments that hooks gave, which all other sources have judged; null: they are those of the call. */
  readonly changed: ChangedArguments | null
  /** Its code runs on another worker. @default false */
  readonly isRemote?: boolean
}

interface CheckProblem {
  readonly source: 'tool' | 'policy' | 'preview'
  readonly thrown: Thrown
}

interface JudgedCall {
  readonly input: Pick<ExecuteToolInput, 'threadId' | 'run' | 'now'>
  readonly row: Pick<ToolCallRecord, 'name' | 'arguments'>
  /** Those that the store has. */
  readonly permissions: StoredPermissions
}

/** Decides about a call. Grants are read only where one could answer. */
export async function judgePermit(
  db: Reader,
  permit: Permit,
  { input: { threadId, run, now }, row, permissions }: JudgedCall,
): Promise<PermissionDecision> {
  // The row of a queued call has no run yet.
  const called = { thread_id: threadId, run, name: row.name }
  const hasFailed = looksAtFailures(permit, permissions) && (await hasFailedCall(db, called))
  const decision = judgeForThread(permit, permissions, { hasFailed })
  if (decision.decision === 'allowed') return decision
  const granted = judgeForThread(permit, permissions, { hasFailed, grant: '' })
  if (granted.decision !== 'allowed') return decision
  const owner = await findThread(db, threadId)
  if (owner === null) return decision
  const { capabilities = [] } = permit.traits
  const argumentsDigest = digestOf(argumentsOf(row))
  const { approval } = permit.question()
  // A call may begin long after its activity was scheduled.
  const at = toMicros(Math.max(now, Date.now()))
  const call = { toolName: row.name, capabilities, argumentsDigest, approval, now: at }
  const grant = await findGrant(db, owner, call)
  return grant === null ? decision : { ...granted, grantId: grant.id }
}
