import { definedRules } from '../../policy/judge.js'
import type { PermissionMode, SourceRules } from '../../policy/judge.js'
import { effectsOf } from '../../policy/permissions.js'
import type { Effect } from '../../policy/permissions.js'
import { LIMITS } from '../../protocol/limits.js'
import { withoutUndefined } from '../../protocol/values.js'
import { listRequests } from '../../store/calls/request-lists.js'
import { openRun } from '../../store/threads/stops.js'
import { findThreadForCall } from '../../store/threads/threads.js'
import { toPendingRequest } from '../answers/pending-request.js'
import type { ApprovalRequest } from '../answers/pending-request.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { readGrants } from './grants.js'
import type { Grant } from './grants.js'
import { readInventory } from './recorded-inventory.js'

/** What decides about the calls of a thread now. */
export interface PermissionSummary {
  readonly threadId: string
  readonly agent: string
  /** When a worker recorded its own rules and those of the agent, in microseconds since 1970; null: none has, so they are unknown. */
  readonly recordedAt: number | null
  /** The modes that are set; both count. */
  readonly modes: { readonly worker?: PermissionMode; readonly thread?: PermissionMode }
  /** False: nobody can be asked, so a call that needs an approval is denied at once. */
  readonly interactive: boolean
  /** The rules of each source that has any; of all that apply to a call the strictest counts. */
  readonly rules: readonly SourceEffects[]
  /** Whether a policy function of the worker decides about each call as well; null: no worker has recorded the agent. */
  readonly hasPolicy: boolean | null
  /** The remembered approvals that hold for it, by id; at most 500. */
  readonly grants: readonly Grant[]
  /** The calls that wait for a person. */
  readonly pending: readonly ApprovalRequest[]
  /** Tools run in the worker's process: there is neither a profile nor a violation of a sandbox to name. */
  readonly sandbox: 'unavailable'
}

/** The rules of one source. */
export interface SourceEffects {
  readonly source: SourceRules['source']
  /** By the capability, `namespace.*` or `*` of the rule. */
  readonly effects: Readonly<Record<string, Effect>>
}

/** Reads it from the store: no worker has to run. @throws ThreadNotFoundError */
export async function readThreadPermissions(
  context: ClientContext,
  threadId: string,
): Promise<PermissionSummary> {
  const store = await context.store()
  const read = await store.read(async (db) => {
    const thread = await requireThread(db, threadId)
    const recorded = await readInventory(db, thread.agent)
    const inventory = recorded?.inventory ?? null
    const found = await findThreadForCall(db, { threadId, run: (await openRun(db, threadId)) ?? 0 })
    const { rules, mode, interactive = true } = found?.permissions ?? { rules: [] }
    const { requests } = await listRequests(db, { filter: { threadId }, limit: LIMITS.longestPage })
    return {
      ...{ threadId, agent: thread.agent, recordedAt: recorded?.recordedAt ?? null, interactive },
      modes: withoutUndefined({ worker: inventory?.worker.permissionMode, thread: mode }),
      rules: [...definedRules(inventory?.worker.permissions, inventory?.permissions), ...rules].map(
        ({ source, permissions }) => ({ source, effects: effectsOf(permissions) }),
      ),
      hasPolicy: inventory?.worker.hasPolicy ?? null,
      pending: requests.map(toPendingRequest).filter((request) => request.kind === 'approval'),
      sandbox: 'unavailable' as const,
    }
  })
  // Behind the requests: an approval that is remembered meanwhile is in both, and never in neither.
  return { ...read, grants: await readGrants(context, { threadId, limit: LIMITS.longestPage }) }
}
