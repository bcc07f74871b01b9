/**
 * What is known about a call before the transaction that decides about it: the rules that may apply, and the opinions of code.
 * Owns: the checks of tools and the worker's policy function, what counts where they give no answer, and when hooks are asked.
 * Does not own: hooks (`hooks/deciding-hooks.ts`), how the sources combine (`policy/judge.ts`), and the transaction that decides (`permission.ts`).
 */
import { CALL_POINTS } from '../../definitions/hook.js'
import type { JudgedCall as HookedCall } from '../../definitions/hook.js'
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import { toInputSchema } from '../../definitions/plan/argument-schema.js'
import { parseObject } from '../../definitions/plan/tool-arguments.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import type { ToolDefinition } from '../../definitions/tool.js'
import { traitsOfStart } from '../../policy/action.js'
import type { Action, ActionContext, ActionParent, ActionTraits, PolicyAnswer } from '../../policy/action.js'
import { approvalRuleProblem, combineApprovalRules } from '../../policy/approval.js'
import type { ApprovalRule } from '../../policy/approval.js'
import type { Question } from '../../policy/approval-detail.js'
import { definedRules, judgeForThread, looksAtFailures, TOOL_ASKS } from '../../policy/judge.js'
import type { Opinion, PermissionDecision, Sources, StoredPermissions } from '../../policy/judge.js'
import { isEffect } from '../../policy/permissions.js'
import { readPreview } from '../../policy/preview.js'
import type { ExecuteToolInput } from '../../protocol/activities.js'
import type { ActionKind } from '../../protocol/event-codes.js'
import { runIdOf } from '../../protocol/ids.js'
import { nowMicros, toMicros } from '../../protocol/time.js'
import type { JsonObject } from '../../protocol/values.js'
import { findGrant } from '../../store/calls/grants.js'
import { argumentsOf, findToolCall, hasFailedCall } from '../../store/calls/tool-calls.js'
import type { ToolCallRecord } from '../../store/calls/tool-calls.js'
import { digestOf } from '../../store/digest.js'
import { findOperation } from '../../store/operations.js'
import type { OperationRecord } from '../../store/operations.js'
import { appendEvents } from '../../store/events.js'
import type { Reader } from '../../store/store.js'
import { agentChainOf, findThread, findThreadForCall } from '../../store/threads/threads.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import { activeTraceId } from '../../telemetry/spans.js'
import { assertStoppedByUser, currentSignal } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import { askHooks } from '../hooks/deciding-hooks.js'
import type { HookFacts } from '../hooks/deciding-hooks.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { openCallState } from '../thread-state/buffered-state.js'
import { readThrown } from '../thrown.js'
import type { Thrown } from '../thrown.js'
import { argumentsToRun, isAskedAgain } from './approval-request.js'
import type { describeListed } from './approval-request.js'
import { askCode } from './bounded.js'

/** What the sources say about a call. */
export interface Permit extends Sources {
  /** The checks that gave no answer. */
  readonly problems: readonly CheckProblem[]
  /** What a person is shown who is asked. */
  readonly question: () => Question
  /** The facts of the hooks that were asked; null: none was. */
  readonly hookFacts: HookFacts | null
  /** Its code runs on another worker. @default false */
  readonly isRemote?: boolean
}

interface CheckProblem {
  readonly source: 'tool' | 'policy' | 'preview'
  readonly thrown: Thrown
}

interface Asking {
  readonly input: Pick<ExecuteToolInput, 'threadId' | 'callId' | 'run' | 'step' | 'side' | 'agent'> &
    Partial<Pick<ExecuteToolInput, 'response' | 'now'>>
  /** Null: no worker has the agent. */
  readonly content: Pick<PlanContent, 'permissions'> | null
  readonly kind: ActionKind
  readonly name: string
  /** Of a function checked by its schema, of anything else as they were written. */
  readonly args: Record<string, unknown>
  readonly traits: ActionTraits & { readonly approval?: ApprovalRule }
  readonly signal: AbortSignal
  readonly hooks: HookBatch
  /** Its code runs on another worker. @default false */
  readonly isRemote?: boolean
  /** It was asked about, and waits. @default false */
  readonly isWaiting?: boolean
}

interface AskingForTool extends Pick<Asking, 'args' | 'signal' | 'hooks'> {
  readonly input: ExecuteToolInput
  readonly content: PlanContent
  readonly row: ToolCallRecord
  /** As the activity found it; null: no attempt has begun the call. */
  readonly operation: OperationRecord | null
  readonly tool: ToolDefinition
}

/**
 * What the sources say about a call of a function: rules, the tool's own check, and the worker's policy function. Of a call that was
 * asked about only what can deny is consulted again. Null: the call has begun, or its code is not run, because its activity failed.
 */
export async function permitOfTool(
  dependencies: ActivityDependencies,
  asking: AskingForTool,
): Promise<Permit | null> {
  const { operation, tool: traits } = asking
  const isWaiting = operation?.state === 'waiting'
  // The code of a remote tool is not run here, so that it may be sent all the same.
  const isEnded = asking.input.failed === true && traits.remote === undefined
  if (!isWaiting && (operation !== null || isEnded)) return null
  const own = isWaiting ? NO_OPINION : await opinionOfTool(dependencies, asking)
  const isRemote = traits.remote !== undefined
  const called = { kind: 'tool', name: asking.row.name, traits, isRemote, isWaiting } as const
  const permit = await permitOf(dependencies, { ...asking, ...called }, own)
  const known: Permit = {
    ...{ ...permit, isRemote },
    question: () => ({ ...permit.question(), ...describeTool(traits) }),
  }
  if (traits.preview === undefined || !(await isToBeShown(dependencies, asking, known))) return known
  return withPreview(dependencies, asking, known)
}

/** Whether a person will be asked about the call, for all that is known before its transaction. */
function isToBeShown(
  { store }: ActivityDependencies,
  { input, row, operation }: AskingForTool,
  permit: Permit,
): Promise<boolean> {
  return store.read(async (db) => {
    const { approval } = permit.question()
    if (operation?.state === 'waiting') return isAskedAgain(db, { input, row, approval })
    const thread = await findThreadForCall(db, input)
    const permissions = thread?.permissions ?? { rules: [] }
    return (await judgePermit(db, permit, { input, row, permissions })).decision === 'asked'
  })
}

function describeTool({ description, args }: ToolDefinition): Pick<Question, 'description' | 'schema'> {
  return { description, ...(args === undefined ? {} : { schema: toInputSchema(args) }) }
}

/** Makes the preview of a call about which a person will be asked. It fails closed: without a preview nobody could know what they approve. */
async function withPreview(
  dependencies: ActivityDependencies,
  asking: AskingForTool,
  permit: Permit,
): Promise<Permit> {
  const { tool } = asking
  const checked = await runCheck(dependencies, asking, (state) => tool.preview?.(state, asking.args as never))
  const made = checked.kind === 'answered' ? readPreview(checked.value) : null
  if (typeof made === 'object' && made !== null)
    return { ...permit, question: () => ({ ...permit.question(), preview: made }) }
  const thrown = checked.kind === 'answered' ? readThrown(new Error(made ?? '')) : checked.thrown
  // A stop ends the run, and closes the request.
  if (thrown === null) return permit
  const denies = { source: 'tool', effect: 'deny', reason: 'Its preview could not be made.' } as const
  return {
    ...permit,
    opinions: [...permit.opinions, denies],
    problems: [...permit.problems, { source: 'preview', thrown }],
  }
}

/** Undefined: none is demanded; null: no definition of what is called is there. */
type Demanded = readonly string[] | undefined | null

interface CalledName extends Omit<Asking, 'name' | 'args' | 'traits' | 'signal' | 'isRemote' | 'isWaiting'> {
  /** The authority that the called agent or prompt demands, by the arguments of the call. */
  readonly capabilitiesOf: (args: Record<string, unknown>, name: string) => Promise<Demanded> | Demanded
  /** Whether it may demand any: otherwise nothing is read. */
  readonly isProtected: boolean
  /** What a person is told of what is called, and the schema of its arguments. */
  readonly describe: ReturnType<typeof describeListed>
}

/**
 * What the sources say about a call of an agent or a prompt. Null: nothing is said, or the call will be refused, because its arguments cannot be read.
 */
export async function permitOfName(
  dependencies: ActivityDependencies,
  { capabilitiesOf, isProtected, describe, ...asking }: CalledName,
): Promise<Permit | null> {
  const { store, policy } = dependencies
  const decides = asking.hooks.decides(...CALL_POINTS)
  if (!isProtected && policy === undefined && !decides) return null
  const { threadId, callId } = asking.input
  const [row, operation] = await store.read((db) =>
    // A call that has begun has no use for hooks, and their facts would be lost.
    Promise.all([findToolCall(db, threadId, callId), decides ? findOperation(db, threadId, callId) : null]),
  )
  const isWaiting = operation?.state === 'waiting'
  if (row === null || (operation !== null && !isWaiting)) return null
  const parsed = parseObject((await argumentsToRun(store, asking.input, row)).arguments)
  if (!parsed.ok) return null
  const { args } = parsed
  const capabilities = await capabilitiesOf(args, row.name)
  const traits = traitsOfStart(capabilities ?? [])
  const named = { ...asking, name: row.name, args, traits, signal: currentSignal(), isWaiting }
  const permit = await permitOf(dependencies, named, capabilities === null ? MISSING : NO_OPINION)
  return { ...permit, question: () => ({ ...permit.question(), ...describe(row.name) }) }
}

interface AskingInPlace extends Asking {
  /** As the call around it found them. */
  readonly permissions: StoredPermissions
  /** Of the tool's own check. */
  readonly opinion: Opinion | null
}

/**
 * Decides about a call in place. Rules, mode, policy, hooks and grants count for it as for a call of a model. It has no transaction of
 * its own to begin in, so the facts of its hooks are stored at once, as facts of the call that makes it.
 */
export async function judgeInPlace(
  dependencies: ActivityDependencies,
  { permissions, opinion, ...asking }: AskingInPlace,
): Promise<PermissionDecision> {
  const { store } = dependencies
  const permit = await permitOf(dependencies, asking, { opinion, problems: [] })
  const { hookFacts } = permit
  const { threadId } = asking.input
  const now = nowMicros()
  if (hookFacts !== null)
    await store.write(async (tx) => appendEvents(tx, { threadId, events: await hookFacts(tx), now }))
  return judgeBeforehand(dependencies, asking, { permit, permissions })
}

interface Beforehand {
  readonly permit: Permit
  /** Those that the store has. */
  readonly permissions: StoredPermissions
}

/** Judges outside of the transaction that would begin the call. */
async function judgeBeforehand(
  { store }: Pick<ActivityDependencies, 'store'>,
  { input, name, args }: Asking,
  { permit, permissions }: Beforehand,
): Promise<PermissionDecision> {
  const quick = judgeForThread(permit, permissions)
  if (quick.decision === 'allowed' && !looksAtFailures(permit, permissions)) return quick
  const row = { name, arguments: textOf(args) }
  const { now = Date.now() } = input
  return store.read((db) => judgePermit(db, permit, { input: { ...input, now }, row, permissions }))
}

/** The nesting of a model's arguments is unbounded (T10): no grant holds for those that cannot be written. */
function textOf(args: Record<string, unknown>): string {
  try {
    return JSON.stringify(args)
  } catch (error) {
    if (error instanceof RangeError) return 'null'
    throw error
  }
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

/** What rules, the worker's policy function and hooks say about a call; `own`: of what is called itself. */
async function permitOf(dependencies: ActivityDependencies, asking: Asking, own: Checked): Promise<Permit> {
  const { permissions, permissionMode: mode, policy, store } = dependencies
  const { content, traits, hooks, input, kind, args } = asking
  const rules = definedRules(permissions, content?.permissions)
  const asksCode = policy !== undefined || hooks.decides(...CALL_POINTS)
  const thread = asksCode ? await store.read((db) => findThread(db, input.threadId)) : null
  // Without a row the transaction that would begin the call finds the same.
  const judged = thread === null ? NO_OPINION : await opinionOfPolicy(policy, asking, thread)
  const rulesOfApproval = [dependencies.approval, traits.approval, judged.approval]
  const permit: Permit = {
    ...{ traits, rules, mode, hookFacts: null },
    opinions: [...opinionsIn(own), ...opinionsIn(judged)],
    problems: [...own.problems, ...judged.problems],
    question: () => ({
      kind,
      arguments: args,
      approval: combineApprovalRules(rulesOfApproval),
    }),
  }
  return thread === null ? permit : withHooks(dependencies, { asking, thread, permit })
}

interface Hooked {
  readonly asking: Asking
  readonly thread: ThreadRecord
  readonly permit: Permit
}

/**
 * Adds what hooks say about the call, and what they answer where a person would be asked. A call that waits is judged again by the
 * first ones once there is an answer, which may have other arguments.
 */
async function withHooks(
  dependencies: ActivityDependencies,
  { asking, thread: { permissions }, permit }: Hooked,
): Promise<Permit> {
  const { hooks, input, isWaiting = false } = asking
  if (!hooks.decides(...CALL_POINTS) || (isWaiting && input.response == null)) return permit
  const { mode = dependencies.permissionMode ?? 'default', interactive = true } = permissions ?? {}
  const about = (): HookedCall => {
    return { ...actionOf(asking), run: input.run, step: input.step, mode, interactive }
  }
  const said = await askHooks(hooks, 'before_tool_call', (execute, state) => execute(state, about()))
  const opinions = [...permit.opinions, ...opinionsOf(said, asking)]
  const judged = { ...permit, opinions, hookFacts: said.facts }
  if (said.isStopped || isWaiting || !hooks.decides('before_permission_request')) return judged
  const stored = await dependencies.store.read((db) => findThreadForCall(db, input))
  if (stored === null) return judged
  const { permissions: found } = stored
  const decision = await judgeBeforehand(dependencies, asking, { permit: judged, permissions: found })
  if (decision.decision !== 'asked') return judged
  const { source, reason, rules } = decision
  const because = {
    source,
    ...(reason === undefined ? {} : { reason }),
    ...(rules === undefined ? {} : { rules }),
  }
  const answered = await askHooks(hooks, 'before_permission_request', (execute, state) =>
    execute(state, about(), because),
  )
  const [standIn = null] = opinionsOf(answered, asking)
  const hookFacts: HookFacts = async (tx) => [...(await said.facts(tx)), ...(await answered.facts(tx))]
  return { ...judged, standIn, hookFacts }
}

function opinionsOf(
  { opinions, isStopped }: Awaited<ReturnType<typeof askHooks>>,
  asking: Asking,
): readonly Opinion[] {
  return isStopped ? opinionsIn(atStop('hook', asking)) : opinions
}

interface Checked {
  readonly opinion: Opinion | null
  readonly problems: readonly CheckProblem[]
  /** For the approval that it demands. */
  readonly approval?: ApprovalRule
}

const NO_OPINION: Checked = { opinion: null, problems: [] }

/** Of a called agent or prompt that no worker has. */
const MISSING: Checked = {
  opinion: { source: 'agent', effect: 'deny', reason: 'Its definition is missing.' },
  problems: [],
}

function opinionsIn({ opinion }: Checked): readonly Opinion[] {
  return opinion === null ? [] : [opinion]
}

/** The code of a function here does not begin behind a stop. What else was called has no code that could look. */
function atStop(source: 'policy' | 'hook', { kind, isRemote = false }: Asking): Checked {
  const looks = kind === 'tool' && !isRemote
  return looks ? NO_OPINION : { opinion: { source, effect: 'deny' }, problems: [] }
}

/** A check that gives no answer is replaced by an effect, and its failure is kept for operators. */
function withoutAnswer(source: 'tool' | 'policy', effect: Opinion['effect'], thrown: Thrown): Checked {
  return { opinion: { source, effect, reason: WITHOUT_ANSWER[source] }, problems: [{ source, thrown }] }
}

const WITHOUT_ANSWER = {
  tool: 'The check whether it needs approval failed.',
  policy: 'The policy function of the worker failed.',
} as const

/**
 * The opinion of the tool's own check. It fails closed: a check that throws, hangs, or answers anything but false needs a
 * person.
 */
async function opinionOfTool(dependencies: ActivityDependencies, asking: AskingForTool): Promise<Checked> {
  const { needsApproval: check = false } = asking.tool
  const asks: Checked = { opinion: TOOL_ASKS, problems: [] }
  if (check === false) return NO_OPINION
  if (typeof check !== 'function') return asks
  const checked = await runCheck(dependencies, asking, (state) => check(state, asking.args as never))
  if (checked.kind === 'answered') return checked.value === false ? NO_OPINION : asks
  const { thrown } = checked
  // Stopped: the call begins and ends at once as interrupted.
  return thrown === null ? NO_OPINION : withoutAnswer('tool', 'require_approval', thrown)
}

/** Runs a check of a tool with the state of its call. `args` were parsed by the tool's own schema; writes to the thread are dropped. */
async function runCheck(
  dependencies: ActivityDependencies,
  asking: AskingForTool,
  check: (state: ThreadState) => unknown,
): Promise<Awaited<ReturnType<typeof askCode<unknown>>>> {
  const abort = new AbortController()
  const { state, redactor, close } = await openCallState(dependencies, asking, abort.signal)
  const redact = (error: unknown): unknown => redactor.redactThrown(error)
  const work = async (): Promise<unknown> => redactor.redactJson(await check(state))
  const ended = await askCode(work, asking.signal, { abort, redact })
  close()
  if (ended.kind === 'silent' && ended.thrown === null) assertStoppedByUser()
  return ended
}

/** The call, as code that judges it sees it. */
function actionOf({ input, kind, name, args, traits }: Asking): Action {
  const { capabilities = [], readOnly = false, destructive = false } = traits
  // A copy: what the code changes in it does not reach the call.
  const copied = structuredClone(args) as JsonObject
  return { id: input.callId, kind, name, arguments: copied, capabilities, readOnly, destructive }
}

function contextOf({ input: { threadId, run, step, agent } }: Asking, thread: ThreadRecord): ActionContext {
  return {
    ...{ threadId, rootThreadId: thread.root_thread_id, agent, run, step },
    ...{ account: thread.account, userId: thread.user_id, tags: thread.tags },
    ...{ parent: parentOf(thread), agentChain: agentChainOf(thread), traceId: activeTraceId() },
    permissions: thread.permissions?.permissions ?? {},
  }
}

function parentOf({
  parent_thread_id: threadId,
  parent_call_id: callId,
  origin,
}: ThreadRecord): ActionParent | null {
  if (threadId === null || origin === null) return null
  return { threadId, runId: runIdOf(origin.run), toolCallId: callId ?? '' }
}

/** The opinion of the worker's policy function, which fails closed: without an answer of it the call is denied. */
async function opinionOfPolicy(
  policy: ActivityDependencies['policy'],
  asking: Asking,
  thread: ThreadRecord,
): Promise<Checked> {
  if (policy === undefined) return NO_OPINION
  const { signal } = asking
  const context = contextOf(asking, thread)
  const checked = await askCode<PolicyAnswer>(async () => policy(actionOf(asking), context), signal)
  if (checked.kind === 'answered') return readPolicyAnswer(checked.value)
  if (checked.thrown !== null) return withoutAnswer('policy', 'deny', checked.thrown)
  assertStoppedByUser()
  return atStop('policy', asking)
}

/** Checked at run time, because JavaScript and casts return anything. */
function readPolicyAnswer(answer: unknown): Checked {
  if (typeof answer === 'boolean')
    return { opinion: { source: 'policy', effect: answer ? 'allow' : 'deny' }, problems: [] }
  if (isEffect(answer)) return { opinion: { source: 'policy', effect: answer }, problems: [] }
  if (typeof answer === 'object' && answer !== null && 'effect' in answer && isEffect(answer.effect)) {
    const { effect } = answer
    const reason = 'reason' in answer && typeof answer.reason === 'string' ? answer.reason : undefined
    const opinion = { source: 'policy', effect, ...(reason === undefined ? {} : { reason }) } as const
    const approval = 'approval' in answer ? answer.approval : undefined
    const problem = approvalRuleProblem(approval)
    if (problem !== undefined)
      return withoutAnswer('policy', 'deny', readThrown(new Error(`The rule of its approval: ${problem}.`)))
    // Checked in the line above.
    return {
      opinion,
      problems: [],
      ...(approval === undefined ? {} : { approval: approval as ApprovalRule }),
    }
  }
  const wrong =
    'Expected "allow", "require_approval", "deny", true, false or { effect, reason }, got something else.'
  return withoutAnswer('policy', 'deny', readThrown(new Error(wrong)))
}
