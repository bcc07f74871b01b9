import { buildPlan } from '../../definitions/build-plan.js'
import type { PlanContent } from '../../definitions/plan-content.js'
import { requestTermination } from '../../store/threads/threads.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import type { ActivityDependencies } from '../activity.js'
import type { VariableScope } from '../variables/resolve-variables.js'
import type { BufferedWrite } from './journal.js'
import { relativeParts } from './relative-parts.js'
import type { FoundRelative, OpenRelative } from './relatives.js'
import { commitParts, openParts } from './state-parts.js'
import type { StatePlace } from './state-parts.js'
import { createThreadState } from './thread-state-members.js'

/** What a relative shares with the state that it was reached from. */
type Shared = Pick<StatePlace, 'dependencies' | 'gate' | 'redactor' | 'relatives' | 'now'> & {
  /** Of the call: its thread, and what ids are made from there. */
  readonly from: { readonly threadId: string; readonly id: string }
}

const NOT_HERE = 'A tool cannot be invoked in another thread, whose run is not here: use its queueTool.'

/**
 * A parent or child as a call sees it: no run of it is at hand, its hooks are not asked, and what is written joins the
 * outcome of the call.
 */
export function openRelative(shared: Shared, found: FoundRelative): OpenRelative {
  const { dependencies, from, now } = shared
  const { thread, children, isDeferred, sentBy, countTell } = found
  const { id: threadId } = thread
  const opened = openParts({
    ...shared,
    ...{ thread, children, hooks: null, execution: null },
    scope: scopeOf(dependencies, thread),
    // Its own calls have the same ids as those of the thread that looks at it.
    origin: {
      kind: 'relative',
      id: `${from.threadId}:${from.id}`,
      sentBy,
      run: null,
      step: null,
      side: null,
    },
    // It would be shared by nobody.
    context: Object.freeze({}),
    invokeTool: () => Promise.reject(new Error(NOT_HERE)),
    terminate: terminateBy(sentBy, thread, now),
    onNotified: () => undefined,
  })
  let changed = false
  const parts = relativeParts(opened.parts, {
    ...{ threadId, isDeferred, countTell },
    isClosed: thread.closed_at !== null || thread.terminate_requested_at !== null,
    onWrite: () => (changed = true),
  })
  return {
    state: createThreadState(parts),
    notify: parts.messages.notify,
    isChanged: () => changed,
    settled: opened.emitter.settled,
    commit: async (tx) => (await commitParts(tx, opened, { threadId, now })).operations,
  }
}

/** The agent as this worker has it; looked at when a variable is asked for. */
function scopeOf(
  { registry, caps }: ActivityDependencies,
  { id: threadId, agent }: ThreadRecord,
): VariableScope {
  let built: { readonly content: PlanContent | null } | undefined
  return {
    ...{ threadId, agent, prompt: null },
    get content() {
      const plan = built === undefined ? buildPlan(registry, agent, caps) : null
      if (plan !== null) built = { content: 'missing' in plan ? null : plan }
      return built?.content ?? null
    },
  }
}

/** T8: its row is the authority, whether or not its workflow is there to be told. */
function terminateBy(
  sentBy: FoundRelative['sentBy'],
  { id: threadId }: ThreadRecord,
  now: number,
): BufferedWrite {
  const reason = sentBy === 'child' ? 'A subagent of it asked for it.' : 'Its parent thread asked for it.'
  return async (tx) => {
    const requested = await requestTermination(tx, { threadId, reason, now })
    return requested === 'requested' ? { operations: [{ kind: 'terminate' }] } : {}
  }
}
