import { RequestNotFoundError } from '../../protocol/errors.js'
import type { PermissionDecision } from '../../policy/judge.js'
import type { JsonValue } from '../../protocol/values.js'
import { listRequests } from '../../store/calls/request-lists.js'
import type { ListedRequest } from '../../store/calls/request-lists.js'
import { findRequest, isDropped } from '../../store/calls/requests.js'
import type { Reader } from '../../store/store.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'

/** A request of a thread that somebody has to answer by `respond`. Later versions add kinds. */
export type PendingRequest =
  | {
      readonly id: string
      /** `approval`: the call runs once it is approved; `call`: the answer is its result. */
      readonly kind: 'approval' | 'call'
      readonly toolName: string
      /** The arguments that the model wrote; left out if they are no JSON. */
      readonly args?: JsonValue
      /** Why a person is asked, for an approval. */
      readonly decision?: Pick<
        PermissionDecision,
        'source' | 'reason' | 'hook' | 'rules' | 'mode' | 'capabilities' | 'destructive'
      >
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

/** Turns a row into the request that callers see. */
export function toPendingRequest({ request, arguments: args, decision }: ListedRequest): PendingRequest {
  const { id, kind, requested_at: requestedAt, detail, tool_name: toolName } = request
  if (kind !== 'variables')
    return {
      ...{ id, kind, toolName: toolName ?? '', ...parseArguments(args), requestedAt },
      ...(kind === 'approval' && decision !== null && { decision: whyAsked(decision) }),
    }
  const { agent, required, missing, child } = detail ?? {}
  return {
    id,
    kind,
    agent: typeof agent === 'string' ? agent : '',
    required: readNames(required),
    missing: readNames(missing),
    ...(typeof child === 'string' && { child }),
    requestedAt,
  }
}

/** Without what the request itself says. */
function whyAsked({
  decision: _asked,
  requestId: _request,
  by: _by,
  ...why
}: PermissionDecision): Omit<PermissionDecision, 'decision' | 'requestId' | 'by'> {
  return why
}

function parseArguments(args: string | null): { readonly args?: JsonValue } {
  if (args === null) return {}
  try {
    return { args: JSON.parse(args) as JsonValue }
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

async function findFate(db: Reader, threadId: string, id: string): Promise<keyof typeof GONE> {
  const request = await findRequest(db, threadId, id)
  if (request === null) return 'unknown'
  return (await isDropped(db, request)) ? 'dropped' : request.status
}
