/** What was proposed, decided and executed by the calls of a thread: the record that each executed, denied or waiting call has. */
import { approvalDetailOf } from '../../policy/approval-detail.js'
import { recordOf } from '../../policy/action-record.js'
import type { PermissionState, RecordedAction, SandboxProfile } from '../../policy/action-record.js'
import { ConfigError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { runIdOf, stepIdOf } from '../../protocol/ids.js'
import type { CallOutcome } from '../../protocol/status.js'
import type { PermissionDecision } from '../../policy/judge.js'
import { findRequests } from '../../store/calls/requests.js'
import { listDecidedCalls } from '../../store/calls/tool-calls.js'
import type { ToolCallRecord } from '../../store/calls/tool-calls.js'
import { filesOfMessages } from '../../store/messages/transcript.js'
import type { Reader } from '../../store/store.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'

/** The decision about one call of a tool, an agent or a prompt, with what was judged and what came of it. */
export interface RecordedDecision extends PermissionDecision {
  readonly toolCallId: string
  /** The name that was called. */
  readonly toolName: string
  readonly runId: string
  readonly stepId: string
  /** The message that proposed it, with the arguments as the model wrote them; null: the code of another call made it in place. */
  readonly messageId: string | null
  /** The call of a prompt whose model made it, or of a tool whose code did; null: the model of a side made it. */
  readonly parentCallId: string | null
  /** When the call began, in microseconds since 1970; null: it did not begin. */
  readonly startedAt: number | null
  /** How it ended; null: it has not. */
  readonly outcome: CallOutcome | null
  /** The code of a result that is an error. */
  readonly errorCode: string | null
  /** The message with its result; null: there is none, or not yet. */
  readonly resultMessageId: string | null
  /** When it ended, in microseconds since 1970. */
  readonly finishedAt: number | null
  readonly action: RecordedAction
  readonly permission: PermissionState
  readonly sandbox: SandboxProfile
}

/** The decisions of a thread that `decisions()` returns. */
export interface DecisionsOptions {
  /** Only that about the call with this id. */
  readonly toolCallId?: string
  /** At most so many, the newest ones; at most 500. @default 100 */
  readonly limit?: number
}

/** Lists the newest decisions of a thread, the oldest of them first. @throws ThreadNotFoundError */
export async function listDecisions(
  context: ClientContext,
  threadId: string,
  { toolCallId, limit = 100 }: DecisionsOptions,
): Promise<readonly RecordedDecision[]> {
  if (!Number.isInteger(limit) || limit < 1)
    throw new ConfigError([`Expected "limit" to be a whole number from 1, got ${String(limit)}.`])
  const store = await context.store()
  return store.read(async (db) => {
    await requireThread(db, threadId)
    const most = Math.min(limit, LIMITS.longestPage)
    return decisionsOf(
      db,
      threadId,
      await listDecidedCalls(db, { threadId, callId: toolCallId, limit: most }),
    )
  })
}

/** The decisions about these calls of a thread; a call about which nothing is decided yet has none. */
export async function decisionsOf(
  db: Reader,
  threadId: string,
  calls: readonly ToolCallRecord[],
): Promise<readonly RecordedDecision[]> {
  const shown = await readShown(db, threadId, calls)
  return calls.flatMap((call) => toDecision(call, shown))
}

/** What stands in other rows: previews by the id of their request, and files by the message of the result. */
interface Shown {
  readonly previews: ReadonlyMap<string, Parameters<typeof recordOf>[0]['preview']>
  readonly files: ReadonlyMap<string, Parameters<typeof recordOf>[0]['files']>
}

async function readShown(db: Reader, threadId: string, calls: readonly ToolCallRecord[]): Promise<Shown> {
  const asked = calls.flatMap(({ decision }) => decision?.requestId ?? [])
  const requests = await findRequests(db, threadId, asked)
  const results = calls.flatMap(({ result_message_id: id }) => id ?? [])
  return {
    previews: new Map(requests.map((request) => [request.id, approvalDetailOf(request)?.preview ?? []])),
    files: await filesOfMessages(db, threadId, results),
  }
}

function toDecision(call: ToolCallRecord, { previews, files }: Shown): readonly RecordedDecision[] {
  const { id, name, run, step, decision, started_at: startedAt, result_message_id: resultMessageId } = call
  if (decision === null) return []
  const { action: _kept, ...decided } = decision
  const record = recordOf({
    ...{ id, name, arguments: call.arguments, startedAt, decision },
    preview: previews.get(decision.requestId ?? '') ?? [],
    files: files.get(resultMessageId ?? '') ?? [],
  })
  return [
    {
      ...{ toolCallId: id, toolName: name, runId: runIdOf(run), stepId: stepIdOf(run, step) },
      ...{ messageId: call.message_id === '' ? null : call.message_id, parentCallId: call.parent_call_id },
      ...{ startedAt, errorCode: call.error_code, resultMessageId },
      outcome: call.status === 'open' ? null : call.status,
      finishedAt: call.finished_at,
      ...decided,
      ...record,
    },
  ]
}
