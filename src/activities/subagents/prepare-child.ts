import { randomUUID } from 'node:crypto'

import { LIFECYCLE_TOOLS } from '../../definitions/plan/lifecycle-tools.js'
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import { microseconds } from '../scope.js'
import type { PrepareChildAnswer, PrepareChildInput, ResultAnswer } from '../../protocol/activities.js'
import { fact } from '../../protocol/facts.js'
import { LIMITS } from '../../protocol/limits.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import type { PreparedChild } from '../../protocol/status.js'
import { insertRequest } from '../../store/calls/requests.js'
import { appendEvents } from '../../store/events.js'
import { stageMessage } from '../../store/messages/message-writes.js'
import { amendOperation } from '../../store/operations.js'
import type { SecretBox } from '../../store/secret-box.js'
import type { Store, Writer } from '../../store/store.js'
import { insertChild } from '../../store/threads/children.js'
import { agentChainOf, findThread, insertThread } from '../../store/threads/threads.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import { putVariable } from '../../store/threads/variables.js'
import { withHeartbeats } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import { copyAttachments } from '../attachments.js'
import { guardState } from '../hooks/guarded-state.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { stepBatch } from '../hooks/step-batch.js'
import { commit, finish } from '../operation.js'
import { loadPlan } from '../plan-content.js'
import { activePrompt } from '../../definitions/plan/plan-content.js'
import { openBufferedState } from '../thread-state/buffered-state.js'
import type { BufferedState } from '../thread-state/buffered-state.js'
import { describeListed } from '../tool/approval-request.js'
import { callHooks } from '../tool/call-hooks.js'
import { failureResult } from '../tool/call-result.js'
import type { CallResult } from '../tool/call-result.js'
import { commitDenial, commitResult } from '../tool/commit-result.js'
import { beginCall } from '../tool/held-call.js'
import type { HeldCall } from '../tool/held-call.js'
import { permitOfName } from '../tool/permit.js'
import type { Permit } from '../tool/judge-permit.js'
import type { Redactor } from '../variables/redactor.js'
import { capabilitiesOfAgent, isAnyAgentProtected, planChildren, instanceCapProblem } from './child-plan.js'

/**
 * The activity `prepareChild`: writes the rows, files, first messages and registry entries of a call's children. The
 * parent's workflow starts theirs.
 * Owns: these rows, the ids of the children, and the requests of children that lack variables.
 * Does not own: the inputs of the children (`child-plan.ts`), and their start by the parent's workflow.
 * The ids are kept as the operation's answer, so that a retry or a reset finds the same children (T4). All children are
 * stored with their inputs, or none is (T2). A call that is refused gets an error result; so does a call whose children
 * lack variables, and these children start once they have them.
 */
export async function prepareChild(
  dependencies: ActivityDependencies,
  input: PrepareChildInput,
): Promise<PrepareChildAnswer> {
  return withHeartbeats(async () => {
    const { store } = dependencies
    const content = await loadPlan(dependencies, input.plan)
    const hooks = callHooks(dependencies, { input, content })
    // This activity has no effect outside of the store, so it can rerun.
    const asking = { input, content, prompt: activePrompt(content, input) }
    const { callId: id, response = null } = input
    const permit = await permitOfAgent(dependencies, { ...asking, hooks })
    const begun = await beginCall(store, input, {
      ...{ id, onInterrupted: 'rerun', response, permit },
      called: { kind: 'subagent', mode: dependencies.permissionMode },
      charged: { dependencies, content },
    })
    if (begun.kind === 'answered') return begun.answer
    const { call } = begun
    if (begun.kind === 'denied') return commitDenial(store, call, { denied: begun.denied, response, hooks })
    const plan = await planChildren(dependencies, call, asking)
    if (plan.kind === 'refused') return commitResult(store, call, plan.result, { hooks })
    const made = await createChildren(dependencies, asking, plan)
    try {
      if (plan.variables.missing.length === 0) return await startChildren(store, call, { plan, made })
      return await deferChildren(store, call, { plan, made, hooks })
    } catch (error) {
      if (!(error instanceof InstanceCapReached)) throw error
      // The hooks of the rolled-back transaction have already run.
      const again = callHooks(dependencies, { input, content })
      return commitResult(store, call, failureResult(error.message, 'max_instances'), { hooks: again })
    }
  })
}

/** What the policy says about a call of this agent, by its own name or by `subagent_create`. */
function permitOfAgent(
  dependencies: ActivityDependencies,
  { input, content, prompt, hooks }: Parameters<typeof planChildren>[2] & { readonly hooks: HookBatch },
): Promise<Permit | null> {
  return permitOfName(dependencies, {
    ...{ input, content, hooks, kind: 'subagent' },
    isProtected: isAnyAgentProtected(dependencies, prompt),
    describe: describeListed(content, input),
    // The workflow does not know the name of a call that code has queued.
    capabilitiesOf: ({ agent }, name) =>
      capabilitiesOfAgent(dependencies, prompt, name === LIFECYCLE_TOOLS.create ? agent : name),
  })
}

interface Starting {
  readonly plan: PlannedChildren
  readonly made: NewChildren
}

/** Writes the children in one transaction (T2). */
async function startChildren(
  store: Store,
  call: HeldCall,
  { plan, made: { children, commitParent } }: Starting,
): Promise<PrepareChildAnswer> {
  const { threadId } = call.input
  const { operation } = call
  const { binding } = plan.subject
  const group = binding.fanOut
  return commit(store, operation, async (tx): Promise<PrepareChildAnswer> => {
    const parent = await findThread(tx, threadId)
    if (parent === null || parent.terminate_requested_at !== null) return { type: 'terminated' }
    const cap = await instanceCapProblem(tx, threadId, binding)
    if (cap !== null) throw new InstanceCapReached(cap)
    const { blocking, timeout } = binding
    const answer: PrepareChildAnswer = {
      type: 'children',
      children: children.map(({ prepared }) => prepared),
      group,
      blocking,
      ...(blocking && timeout !== null && { timeout }),
    }
    await finish(tx, operation, { answer })
    for (const child of children)
      await writeChild(tx, store.secrets, { call, parent, plan, child, group, status: 'running' })
    const operations = await commitParent(tx)
    if (operations.length === 0) return answer
    const amended: PrepareChildAnswer = { ...answer, operations }
    await amendOperation(tx, { threadId, id: operation.id, answer: amended })
    return amended
  })
}

interface Deferring {
  readonly plan: PlannedChildren
  readonly made: NewChildren
  readonly hooks: HookBatch
}

interface Deferred extends NewChild {
  /** Whoever has this id may supply the values, so it must not be guessable. */
  readonly requestId: string
}

/**
 * Writes children that lack variables, and a request for each. The call gets an error result that names the endpoint for
 * the values. Each child starts once it has its values, and reports as a child without a pending call.
 */
async function deferChildren(
  store: Store,
  call: HeldCall,
  { plan, made: { children, commitParent }, hooks }: Deferring,
): Promise<ResultAnswer> {
  const deferred = children.map((child): Deferred => ({ ...child, requestId: randomUUID() }))
  const operations: ThreadOperation[] = []
  return commitResult(store, call, deferralResult(call, plan, deferred), {
    hooks,
    operations,
    opening: async (tx) => {
      // The list may hold operations of an earlier try of the commit.
      operations.length = 0
      operations.push(
        ...(await writeDeferred(tx, store, { call, plan, deferred })),
        ...(await commitParent(tx)),
      )
      return []
    },
  })
}

async function writeDeferred(
  tx: Writer,
  store: Store,
  {
    call,
    plan,
    deferred,
  }: { readonly call: HeldCall; readonly plan: PlannedChildren; readonly deferred: readonly Deferred[] },
): Promise<readonly ThreadOperation[]> {
  const { threadId, now: at } = call.input
  const parent = await findThread(tx, threadId)
  if (parent === null) throw new Error(`Expected a row of the thread ${threadId}, found none.`)
  const cap = await instanceCapProblem(tx, threadId, plan.subject.binding)
  if (cap !== null) throw new InstanceCapReached(cap)
  const operations: ThreadOperation[] = []
  for (const child of deferred) {
    // Each child reports separately, so they form no group.
    await writeChild(tx, store.secrets, { call, parent, plan, child, group: false, status: 'deferred' })
    await requestVariables(tx, call, { plan, child })
    const { requestId, prepared } = child
    const expiresAt = at + LIMITS.deferredChild
    operations.push({ kind: 'defer_child', requestId, child: prepared, expiresAt })
  }
  return operations
}

async function requestVariables(
  tx: Writer,
  { input: { threadId }, scope, now }: HeldCall,
  { plan, child }: { readonly plan: PlannedChildren; readonly child: Deferred },
): Promise<void> {
  const { requestId: id, prepared } = child
  const { agent, reference } = prepared
  const { required, missing } = plan.variables
  const detail = { agent, required, missing, child: reference }
  await insertRequest(tx, { thread_id: threadId, id, kind: 'variables', detail, requested_at: now })
  const event = fact(
    'action.required',
    { requestId: id, kind: 'variables', toolName: null, missing } as const,
    { ...scope, childId: reference },
  )
  await appendEvents(tx, { threadId, events: [event], now })
}

const CODE = 'subagent_env_required'

/** The text is JSON, so that the code that supplies the values can read it. */
function deferralResult(
  { input: { threadId } }: HeldCall,
  { subject, variables: { required, missing } }: PlannedChildren,
  deferred: readonly Deferred[],
): CallResult {
  const requests = deferred.map(({ requestId }) => ({
    request_id: requestId,
    endpoint: `/threads/${threadId}/variables/${requestId}`,
  }))
  const [only, ...others] = requests
  const where = others.length === 0 ? only : { requests }
  const about = { required, missing, agent: subject.agent.name }
  const [child] = deferred
  const subagentId = others.length === 0 ? (child?.prepared.reference ?? null) : null
  const content = JSON.stringify({ code: CODE, ...where, ...about })
  return { ...failureResult('', CODE, { subagentId }), content }
}

type PlannedChildren = Extract<Awaited<ReturnType<typeof planChildren>>, { readonly kind: 'children' }>

/** A child that is being written. */
type NewChild = PlannedChildren['children'][number] & {
  readonly prepared: PreparedChild
  /** Its index among the children of its call. */
  readonly place: number
  /** Commits the hooks' writes to it: after its row, before its first message. */
  readonly commitHooked: (tx: Writer) => Promise<void>
}

interface NewChildren {
  readonly children: readonly NewChild[]
  /** Commits the hooks' writes to the parent, after the children. */
  readonly commitParent: ChildHooks['commitParent']
}

/** Assigns ids to the children and runs the parent's hooks for each. */
async function createChildren(
  dependencies: ActivityDependencies,
  hooking: Hooking,
  { subject: { binding }, children: requested }: PlannedChildren,
): Promise<NewChildren> {
  const hooks = openChildHooks(dependencies, hooking)
  const children: NewChild[] = []
  for (const [place, child] of requested.entries()) {
    const reference = randomUUID()
    const { agent, resumable } = binding
    const prepared = { reference, agent, messageId: randomUUID(), resumable: resumable !== null }
    const commitHooked = await hooks.runFor({ reference, agent })
    children.push({ ...child, prepared, commitHooked, place })
  }
  return { children, commitParent: hooks.commitParent }
}

/**
 * The context of the hooks of a parent's prompt that get its new children. They run before the rows of a child are
 * written, outside of any transaction; their writes to both threads are committed with those rows (T9).
 */
interface Hooking {
  readonly input: PrepareChildInput
  readonly content: PlanContent
}

/** The hooks around all children of one call. They share one state of the parent, and therefore its bounds for one call. */
interface ChildHooks {
  /**
   * Runs the hooks. The returned function commits their writes to the child, after its row and before its first message.
   */
  readonly runFor: (child: HookedChild) => Promise<(tx: Writer) => Promise<void>>
  readonly commitParent: (tx: Writer) => Promise<readonly ThreadOperation[]>
}

interface HookedChild {
  readonly reference: string
  /** The agent of the child. */
  readonly agent: string
}

/** Opens the hooks, at no cost if the prompt has none. */
function openChildHooks(dependencies: ActivityDependencies, hooking: Hooking): ChildHooks {
  const { input, content } = hooking
  const { name: prompt, hooks: ids } = activePrompt(content, input)
  const promptPath = input.promptPath.length === 0 ? [prompt] : input.promptPath
  // Ids of the hooks' writes are derived from this name.
  const name = `child_${input.callId}`
  const batch = stepBatch(dependencies, { input, content, ids, promptPath, name, recordsMissing: true })
  return {
    async runFor(child) {
      if (!batch.has('after_subagent_created')) return async () => undefined
      const { redactor } = await batch.state()
      const opened = await openChild(dependencies, { ...child, input, redactor })
      await batch.run('after_subagent_created', null, {
        call: (execute, state) => {
          const label = `state of the subagent ${child.reference}`
          const abortSignal = new AbortController().signal
          return execute(state, guardState(opened.state, { label, abortSignal, isUnstarted: true }).state)
        },
      })
      await batch.waitForWork()
      await opened.waitForWork()
      return async (tx) => void (await opened.commit(tx))
    },
    commitParent: async (tx) => (await batch.commit(tx)).operations,
  }
}

/** Opens the state of a child that has had no run. */
async function openChild(
  dependencies: ActivityDependencies,
  {
    input,
    reference,
    agent,
    redactor,
  }: HookedChild & { readonly input: PrepareChildInput; readonly redactor: Redactor },
): Promise<BufferedState> {
  const parent = await dependencies.store.read((db) => findThread(db, input.threadId))
  const thread = {
    user_id: parent?.user_id ?? null,
    created_at: microseconds(input),
    terminated_at: null,
    terminate_requested_at: null,
    parent_thread_id: input.threadId,
  }
  return openBufferedState({
    dependencies,
    threadId: reference,
    thread,
    agent,
    now: input.now,
    origin: { kind: 'hook', id: 'hooks_created', run: null, step: null, side: null },
    content: null,
    execution: null,
    // A hook gets both states: the batch records its failures and redacts the secrets of both.
    redactor,
  })
}

interface Written {
  readonly call: HeldCall
  readonly parent: ThreadRecord
  readonly plan: PlannedChildren
  readonly child: NewChild
  /** The child belongs to a group, which has one result. */
  readonly group: boolean
  readonly status: 'running' | 'deferred'
}

/** Writes all rows of one child in the current transaction. */
async function writeChild(tx: Writer, secrets: SecretBox, written: Written): Promise<void> {
  const { call, plan, child } = written
  const { now } = call
  const { reference, messageId } = child.prepared
  await writeThread(tx, written)
  for (const variable of plan.given)
    await putVariable(tx, secrets, { threadId: reference, ...variable, forGraph: true, now })
  const names = plan.given.map(({ name }) => name)
  const set = names.length === 0 ? [] : [fact('variables.changed', { names })]
  await appendEvents(tx, { threadId: reference, events: set, now })
  await child.commitHooked(tx)
  const { threadId: from, run: number } = call.input
  const attachments = await copyAttachments(tx, { from, to: reference, paths: child.paths, now })
  await stageMessage(tx, {
    id: messageId,
    threadId: reference,
    role: 'user',
    content: child.message,
    attachments,
    createdAt: now,
    sentBy: 'parent',
    digest: '',
    brings: { run: { threadId: from, number } },
  })
  await registerChild(tx, written)
}

/** Lists of children are ordered by this time, so the children of one call differ by one microsecond. */
function creationTime({ call, child }: Written): number {
  return call.now + child.place
}

async function writeThread(tx: Writer, written: Written): Promise<void> {
  const { call, parent, plan, child } = written
  const { reference, agent, resumable } = child.prepared
  await insertThread(tx, {
    id: reference,
    agent,
    account: parent.account,
    user_id: parent.user_id,
    root_thread_id: parent.root_thread_id,
    parent_thread_id: parent.id,
    parent_call_id: call.input.callId,
    depth: plan.depth,
    permissions: parent.permissions,
    origin: { agents: agentChainOf(parent), run: call.input.run },
    title: nameOf(child),
    resumable,
    created_at: creationTime(written),
  })
  const events = [fact('thread.started', { agent, parent: parent.id })]
  await appendEvents(tx, { threadId: reference, events, now: call.now })
}

async function registerChild(tx: Writer, written: Written): Promise<void> {
  const { call, plan, child, group, status } = written
  const { input, now } = call
  const { agent, binding } = plan.subject
  const { reference, messageId } = child.prepared
  const { resumable } = binding
  await insertChild(tx, {
    parent_thread_id: input.threadId,
    reference,
    call_id: input.callId,
    message_id: messageId,
    agent: agent.name,
    name: agent.name,
    title: binding.title,
    description: agent.description ?? binding.description,
    resumable: resumable !== null,
    blocking: binding.blocking,
    thread_name: nameOf(child),
    spawn_group_id: group ? input.callId : null,
    parent_communication: resumable?.parentCommunication ?? 'implicit',
    receives: resumable?.receives ?? null,
    created_at: creationTime(written),
    status,
  })
  const scope = { ...call.scope, childId: reference }
  const payload = { reference, name: agent.name }
  const spawned = fact('subagent.spawned', payload, scope)
  const given = fact('subagent.input', payload, { ...scope, messageId })
  await appendEvents(tx, { threadId: input.threadId, events: [spawned, given], now })
}

function nameOf({ name }: NewChild): string {
  return name.trim().slice(0, LIMITS.nameLength)
}

/** Thrown inside a transaction to roll it back when another call has taken the last place. */
class InstanceCapReached extends Error {}
