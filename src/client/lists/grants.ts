/** The approvals that people wanted remembered: lists them, and revokes them. */
import { ConfigError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { nowMicros } from '../../protocol/time.js'
import { listGrants, revokeGrant, scopeOf } from '../../store/calls/grants.js'
import type { GrantRecord, GrantScope } from '../../store/calls/grants.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'

/** An approval that is remembered. Times are microseconds since 1970. */
export interface Grant {
  readonly id: string
  /** For which threads it holds. */
  readonly for: GrantScope
  /** The thread, or the root of the tree; null for a user. */
  readonly threadId: string | null
  readonly account: string | null
  readonly userId: string | null
  /** The tool that was approved. */
  readonly toolName: string
  /** It holds for calls that need no other capabilities. Null: it holds for this tool with the same arguments. */
  readonly capabilities: readonly string[] | null
  /** The thread and the request that it was given in. */
  readonly givenIn: { readonly threadId: string; readonly requestId: string }
  /** Who gave it. */
  readonly by: string | null
  readonly createdAt: number
  /** Null: it holds until it is revoked. */
  readonly expiresAt: number | null
}

/** The grants that `grants()` lists: those that hold for a thread, or those of an account or a user. */
export interface GrantsFilter {
  readonly threadId?: string
  readonly account?: string
  readonly userId?: string
  /** At most so many; at most 500. @default 100 */
  readonly limit?: number
  /** Only those with a later id, for the next page. */
  readonly after?: string
}

/** @throws ConfigError, ThreadNotFoundError */
export async function readGrants(
  context: ClientContext,
  { threadId, limit = 100, ...filter }: GrantsFilter,
): Promise<readonly Grant[]> {
  if (!Number.isInteger(limit) || limit < 1)
    throw new ConfigError([`Expected "limit" to be a whole number from 1, got ${String(limit)}.`])
  const store = await context.store()
  return store.read(async (db) => {
    const owner = threadId === undefined ? {} : { owner: await requireThread(db, threadId) }
    const found = await listGrants(db, { ...filter, ...owner, limit: Math.min(limit, LIMITS.longestPage) })
    return found.map(toGrant)
  })
}

/** Revokes a grant. Returns whether there is one of that id, of this account if one is given; again it changes nothing. */
export async function revoke(
  context: ClientContext,
  { id, account }: { readonly id: string; readonly account?: string | undefined },
): Promise<boolean> {
  const store = await context.store()
  return store.write((tx) => revokeGrant(tx, { id, account, now: nowMicros() }))
}

function toGrant(grant: GrantRecord): Grant {
  return {
    id: grant.id,
    for: scopeOf(grant),
    threadId: grant.thread_id,
    account: grant.account,
    userId: grant.user_id,
    toolName: grant.tool_name,
    capabilities: grant.capabilities,
    givenIn: { threadId: grant.given_in, requestId: grant.request_id },
    by: grant.granted_by,
    createdAt: grant.created_at,
    expiresAt: grant.expires_at,
  }
}
