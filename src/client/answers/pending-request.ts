import type { JSONSchema7 } from '@ai-sdk/provider'

import type { ActionKind, BudgetFact } from '../../protocol/event-codes.js'
import { isRestricted } from '../../policy/approval.js'
import {
  approvalDetailOf,
  connectOfRequest,
  failureOfRequest,
  formOfRequest,
  takesArguments,
} from '../../policy/approval-detail.js'
import type { Question } from '../../policy/approval-detail.js'
import type { CombinedApproval } from '../../policy/approval.js'
import type { PreviewPart } from '../../policy/preview.js'
import { budgetDetailOf } from '../../policy/budget-request.js'
import type { BudgetDetail } from '../../policy/budget-request.js'
import { redactFields } from '../../policy/redact-fields.js'
import { RequestNotFoundError } from '../../protocol/errors.js'
import type { PermissionDecision } from '../../policy/judge.js'
import type { Connect } from '../../protocol/payloads/governance.js'
import type { ToolFailure } from '../../protocol/payloads/tool-failure.js'
import { withoutUndefined } from '../../protocol/values.js'
import type { JsonValue } from '../../protocol/values.js'
import { listRequests } from '../../store/calls/request-lists.js'
import type { ListedRequest } from '../../store/calls/request-lists.js'
import { findRequest, isDropped } from '../../store/calls/requests.js'
import type { Reader } from '../../store/store.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'

/** A request of a thread that somebody has to answer by `respond`. Later versions add kinds. */
export type PendingRequest =
  | ApprovalRequest
  | BudgetRequest
  | {
      readonly id: string
      /** The answer is the result of the call. */
      readonly kind: 'call'
      readonly toolName: string
      /** The arguments of the call, secret fields hidden; left out if they are no JSON. */
      readonly args?: JsonValue
      /** The JSON schema of the `result` that the tool asks for. @default any */
      readonly form?: JSONSchema7
      /** The login that the call waits for: the user of the thread opens the address, and answers with what it gives back. */
      readonly connect?: Connect
      /** The failure for which a person is asked, if the tool has failed. */
      readonly failure?: ToolFailure
      /** Microseconds since 1970. */
      readonly requestedAt: number
    }
  | {
      readonly id: string
      /** The run, or a subagent that is to start, lacks variables. */
      readonly kind: 'variables'
      /** The agent that needs the variables. */
      readonly agent: string
      readonly required: readonly string[]
      readonly missing: readonly string[]
      /** The thread id of the subagent that starts once they are supplied. */
      readonly child?: string
      /** Microseconds since 1970. */
      readonly requestedAt: number
    }

/** The call runs once it is approved. Of fields whose names tell that they are secret, the values are `[redacted]`. */
export interface ApprovalRequest {
  readonly id: string
  readonly kind: 'approval'
  /** The call that is asked about: the id of the action, which is stable. */
  readonly toolCallId: string
  readonly action: ActionKind
  readonly toolName: string
  /** What is called, as the model was told. */
  readonly description?: string
  /** Those of a tool are checked, with defaults applied; those of an agent or a prompt are as the model wrote them. */
  readonly args?: JsonValue
  /** The JSON schema of the arguments, for a form. */
  readonly schema?: JSONSchema7
  /** What the tool shows of the call. */
  readonly preview?: readonly PreviewPart[]
  /** Why a person is asked. */
  readonly decision?: Pick<
    PermissionDecision,
    'source' | 'reason' | 'hook' | 'rules' | 'mode' | 'capabilities' | 'destructive'
  >
  /** What an answer may do: `approve`, `deny`, approve with other `arguments`, give a `result` in the tool's place, `remember`. */
  readonly answers: readonly ApprovalAnswerKind[]
  /** Who may answer: somebody with a role of each list; with four eyes, another user than the one for whom the thread works. */
  readonly approvers?: Pick<CombinedApproval, 'roles' | 'fourEyes'>
  /** Microseconds since 1970. */
  readonly requestedAt: number
  /** When it is denied if nobody has answered, in microseconds since 1970. */
  readonly expiresAt?: number
}

type ApprovalAnswerKind = 'approve' | 'deny' | 'arguments' | 'result' | 'remember'

/**
 * A call does not fit into a budget: `approved` raises the limit, to `raise` or by as much again, and the run goes on; without approval
 * it ends.
 */
export interface BudgetRequest extends BudgetFact {
  readonly id: string
  readonly kind: 'budget'
  /** Who may answer. */
  readonly approvers?: Pick<CombinedApproval, 'roles' | 'fourEyes'>
  /** Microseconds since 1970. */
  readonly requestedAt: number
}

/** Turns a row into the request that callers see. */
export function toPendingRequest(listed: ListedRequest): PendingRequest {
  const { request, arguments: args } = listed
  const { id, kind, requested_at: requestedAt, detail, tool_name } = request
  const toolName = tool_name ?? ''
  if (kind === 'approval') return toApprovalRequest(listed)
  const budget = budgetDetailOf(request)
  if (budget !== null) return toBudgetRequest(request, budget)
  const form = formOfRequest(request)
  const failure = failureOfRequest(request)
  const connect = connectOfRequest(request)
  if (kind === 'call')
    return {
      ...{ id, kind, toolName, ...parseArguments(args) },
      ...(form !== undefined && { form }),
      ...(connect !== null && { connect }),
      ...(failure !== null && { failure }),
      requestedAt,
    }
  const { agent, required, missing, child } = detail ?? {}
  return {
    id,
    kind: 'variables',
    agent: typeof agent === 'string' ? agent : '',
    required: readNames(required),
    missing: readNames(missing),
    ...(typeof child === 'string' && { child }),
    requestedAt,
  }
}

function toBudgetRequest(
  { id, requested_at: requestedAt }: ListedRequest['request'],
  { scope, period, limit, most, used, approval }: BudgetDetail,
): BudgetRequest {
  const approvers = isRestricted(approval) ? { approvers: approval } : {}
  return { id, kind: 'budget', scope, period, limit, most, used, ...approvers, requestedAt }
}

const ANSWERS: readonly ApprovalAnswerKind[] = ['approve', 'deny', 'remember']

function toApprovalRequest({ request, decision }: ListedRequest): ApprovalRequest {
  const { id, call_id: callId, tool_name: toolName, requested_at: requestedAt, expires_at: until } = request
  const detail = approvalDetailOf(request)
  const { approval, kind = 'tool', requester: _user, arguments: args, ...shown } = detail ?? {}
  const isRuled = approval !== undefined && isRestricted(approval)
  const { expiresIn: _time, ...approvers } = approval ?? {}
  return {
    ...{ id, kind: 'approval', toolCallId: callId ?? '', action: kind, toolName: toolName ?? '', ...shown },
    ...(args !== undefined && { args }),
    ...(decision !== null && { decision: whyAsked(decision) }),
    answers: answersTo({ kind, ...shown }),
    ...(isRuled && { approvers }),
    requestedAt,
    ...(until !== null && { expiresAt: until }),
  }
}

function answersTo(asked: Pick<Question, 'kind' | 'schema'>): readonly ApprovalAnswerKind[] {
  const changed = takesArguments(asked) ? (['arguments'] as const) : []
  return [...ANSWERS, ...changed, ...(asked.kind === 'tool' ? (['result'] as const) : [])]
}

/** Without what the request itself says, and what an answer says. */
function whyAsked(decision: PermissionDecision): NonNullable<ApprovalRequest['decision']> {
  const { source, reason, hook, rules, mode, capabilities, destructive } = decision
  return { source, ...withoutUndefined({ reason, hook, rules, mode, capabilities, destructive }) }
}

function parseArguments(args: string | null): { readonly args?: JsonValue } {
  if (args === null) return {}
  try {
    return { args: redactFields(JSON.parse(args) as JsonValue) }
  } catch {
    return {}
  }
}

function readNames(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []
}

/** Why a request does not wait for an answer. */
const GONE = {
  unknown: 'no request of this id',
  open: 'one whose thread has ended',
  answered: 'one that was answered',
  closed: 'one that was ended',
  expired: 'one that nobody answered in time',
  early: 'one that was answered before its call asked',
  dropped: 'one that was answered early, and whose call ended without asking',
} as const

/** Finds a request that waits for its answer. @throws ThreadNotFoundError, RequestNotFoundError */
export async function findPendingRequest(
  context: ClientContext,
  { threadId, requestId }: { readonly threadId: string; readonly requestId: string },
): Promise<PendingRequest> {
  const store = await context.store()
  return store.read(async (db) => {
    await requireThread(db, threadId)
    const page = await listRequests(db, { filter: { threadId, id: requestId }, limit: 1 })
    const [listed] = page.requests
    if (listed === undefined)
      throw new RequestNotFoundError(threadId, {
        id: requestId,
        reason: GONE[await findFate(db, threadId, requestId)],
      })
    return toPendingRequest(listed)
  })
}

/** The kind of a request, whatever has become of it; null: there is none of that id. */
export async function findRequestKind(
  context: ClientContext,
  { threadId, requestId }: { readonly threadId: string; readonly requestId: string },
): Promise<PendingRequest['kind'] | null> {
  const store = await context.store()
  const request = await store.read((db) => findRequest(db, threadId, requestId))
  return request?.kind ?? null
}

async function findFate(db: Reader, threadId: string, id: string): Promise<keyof typeof GONE> {
  const request = await findRequest(db, threadId, id)
  if (request === null) return 'unknown'
  return (await isDropped(db, request)) ? 'dropped' : request.status
}
