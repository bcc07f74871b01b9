/**
 * What is known about a call before the transaction that decides about it: the rules that may apply, and the opinions of code.
 * Owns: the checks of tools and the worker's policy function, and what counts where they give no answer.
 * Does not own: how the sources combine (`policy/judge.ts`), and the transaction that decides (`permission.ts`).
 */
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import { toInputSchema } from '../../definitions/plan/argument-schema.js'
import { parseObject } from '../../definitions/plan/tool-arguments.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import type { ToolDefinition } from '../../definitions/tool.js'
import { traitsOfStart } from '../../policy/action.js'
import type { Action, ActionKind, ActionTraits, PolicyAnswer } from '../../policy/action.js'
import { approvalRuleProblem, combineApprovalRules } from '../../policy/approval.js'
import type { ApprovalRule } from '../../policy/approval.js'
import type { Question } from '../../policy/approval-detail.js'
import { definedRules, judgeForThread, looksAtFailures, TOOL_ASKS } from '../../policy/judge.js'
import type { Opinion, PermissionDecision, Sources, StoredPermissions } from '../../policy/judge.js'
import { isEffect } from '../../policy/permissions.js'
import { readPreview } from '../../policy/preview.js'
import type { ExecuteToolInput } from '../../protocol/activities.js'
import { toMicros } from '../../protocol/time.js'
import type { JsonObject, JsonValue } from '../../protocol/values.js'
import { findGrant } from '../../store/calls/grants.js'
import { findToolCall, hasFailedCall } from '../../store/calls/tool-calls.js'
import type { ToolCallRecord } from '../../store/calls/tool-calls.js'
import { digestOf } from '../../store/digest.js'
import type { OperationRecord } from '../../store/operations.js'
import type { Reader } from '../../store/store.js'
import { findThread, findThreadForCall } from '../../store/threads/threads.js'
import { assertStoppedByUser, currentSignal } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import { openCallState } from '../thread-state/buffered-state.js'
import { readThrown } from '../thrown.js'
import type { Thrown } from '../thrown.js'
import { argumentsOf, argumentsToRun } from './approval-request.js'
import { runBounded } from './bounded.js'

/** As long as a hook may take. If `needsApproval` hangs longer, a person is asked; if the policy does, the call is denied. */
const CHECK_TIMEOUT = 30_000

/** What the sources say about a call. */
export interface Permit extends Sources {
  /** The checks that gave no answer. */
  readonly problems: readonly CheckProblem[]
  /** What a person is shown who is asked. */
  readonly question: () => Question
}

interface CheckProblem {
  readonly source: 'tool' | 'policy' | 'preview'
  readonly thrown: Thrown
}

interface Asking {
  readonly input: Pick<ExecuteToolInput, 'threadId' | 'callId' | 'run' | 'step' | 'side' | 'agent'> &
    Partial<Pick<ExecuteToolInput, 'response'>>
  /** Null: no worker has the agent. */
  readonly content: Pick<PlanContent, 'permissions'> | null
  readonly kind: ActionKind
  readonly name: string
  /** Of a function checked by its schema, of anything else as they were written. */
  readonly args: Record<string, unknown>
  readonly traits: ActionTraits & { readonly approval?: ApprovalRule }
  readonly signal: AbortSignal
}

interface AskingForTool extends Pick<Asking, 'args' | 'signal'> {
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
  const permit = await permitOf(dependencies, { ...asking, kind: 'tool', name: asking.row.name, traits })
  const known: Permit = {
    ...permit,
    opinions: [...(own.opinion === null ? [] : [own.opinion]), ...permit.opinions],
    problems: [...own.problems, ...permit.problems],
    question: () => ({ ...permit.question(), ...describeTool(traits) }),
  }
  return isWaiting || traits.preview === undefined ? known : withPreview(dependencies, asking, known)
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
  const { store } = dependencies
  const { input, row, tool } = asking
  const judged = await store.read(async (db) => {
    const thread = await findThreadForCall(db, input)
    return judgePermit(db, permit, { input, row, permissions: thread?.permissions ?? { rules: [] } })
  })
  if (judged.decision !== 'asked') return permit
  const checked = await runCheck(dependencies, asking, (state) => tool.preview?.(state, asking.args as never))
  const made = checked.kind === 'answered' ? readPreview(checked.value) : null
  if (typeof made === 'object' && made !== null)
    return { ...permit, question: () => ({ ...permit.question(), preview: made }) }
  const thrown = checked.kind === 'answered' ? readThrown(new Error(made ?? '')) : thrownBy(checked)
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

interface CalledName extends Omit<Asking, 'name' | 'args' | 'traits' | 'signal'> {
  /** The authority that the called agent or prompt demands, by the arguments of the call. */
  readonly capabilitiesOf: (args: Record<string, unknown>, name: string) => Promise<Demanded> | Demanded
  /** Whether it may demand any: otherwise nothing is read. */
  readonly isProtected: boolean
}

/**
 * What the sources say about a call of an agent or a prompt. Null: nothing is said, or the call will be refused, because its arguments cannot be read.
 */
export async function permitOfName(
  dependencies: ActivityDependencies,
  { capabilitiesOf, isProtected, ...asking }: CalledName,
): Promise<Permit | null> {
  const { store, policy } = dependencies
  if (!isProtected && policy === undefined) return null
  const { threadId, callId } = asking.input
  const row = await store.read((db) => findToolCall(db, threadId, callId))
  if (row === null) return null
  const parsed = parseObject((await argumentsToRun(store, asking.input, row)).arguments)
  if (!parsed.ok) return null
  const { args } = parsed
  const capabilities = await capabilitiesOf(args, row.name)
  const traits = traitsOfStart(capabilities ?? [])
  const permit = await permitOf(dependencies, {
    ...{ ...asking, name: row.name, args, traits, signal: currentSignal() },
  })
  if (capabilities !== null) return permit
  const missing = { source: 'agent', effect: 'deny', reason: 'Its definition is missing.' } as const
  return { ...permit, opinions: [...permit.opinions, missing] }
}

interface AskingInPlace extends Asking {
  /** As the call around it found them. */
  readonly permissions: StoredPermissions
  /** Of the tool's own check. */
  readonly opinion: Opinion | null
}

/** Decides about a call in place. Rules, mode, policy and grants count for it as for a call of a model. */
export async function judgeInPlace(
  dependencies: ActivityDependencies,
  { permissions, opinion, ...asking }: AskingInPlace,
): Promise<PermissionDecision> {
  const permit = await permitOf(dependencies, asking)
  const opinions = opinion === null ? permit.opinions : [opinion, ...permit.opinions]
  const judged = { ...permit, opinions }
  const quick = judgeForThread(judged, permissions)
  if (quick.decision === 'allowed' && !looksAtFailures(judged, permissions)) return quick
  const { input, name, args } = asking
  const row = { name, arguments: JSON.stringify(args) }
  return dependencies.store.read((db) =>
    judgePermit(db, judged, { input: { ...input, now: Date.now() }, row, permissions }),
  )
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
  const isGrantable = judgeForThread(permit, permissions, { hasFailed, grant: '' }).decision === 'allowed'
  if (decision.decision === 'allowed' || !isGrantable) return decision
  const owner = await findThread(db, threadId)
  if (owner === null) return decision
  const { capabilities = [] } = permit.traits
  const argumentsDigest = digestOf(argumentsOf(row))
  const call = { toolName: row.name, capabilities, argumentsDigest, now: toMicros(now) }
  const grant = await findGrant(db, owner, call)
  return grant === null ? decision : judgeForThread(permit, permissions, { hasFailed, grant: grant.id })
}

/** What rules and the worker's policy function say about a call. */
async function permitOf(dependencies: ActivityDependencies, asking: Asking): Promise<Permit> {
  const { permissions, permissionMode: mode } = dependencies
  const { content, traits } = asking
  const rules = definedRules(permissions, content?.permissions)
  const { opinion, problems, approval } = await opinionOfPolicy(dependencies, asking)
  const { kind, args } = asking
  const rulesOfApproval = [dependencies.approval, traits.approval, approval]
  return {
    ...{ traits, rules, mode, opinions: opinion === null ? [] : [opinion], problems },
    question: () => ({
      kind,
      // As JSON: parsed arguments may contain dates and the like.
      arguments: JSON.parse(JSON.stringify(args)) as JsonValue,
      approval: combineApprovalRules(rulesOfApproval),
    }),
  }
}

interface Checked {
  readonly opinion: Opinion | null
  readonly problems: readonly CheckProblem[]
  /** For the approval that it demands. */
  readonly approval?: ApprovalRule
}

const NO_OPINION: Checked = { opinion: null, problems: [] }

/** A check that gives no answer is replaced by an effect, and its failure is kept for operators. */
function withoutAnswer(source: 'tool' | 'policy', effect: Opinion['effect'], thrown: Thrown): Checked {
  return { opinion: { source, effect }, problems: [{ source, thrown }] }
}

function hungFor(): Thrown {
  return readThrown(new Error(`It did not answer within ${CHECK_TIMEOUT / 1000} s.`))
}

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
  const thrown = thrownBy(checked)
  // Stopped: the call begins and ends at once as interrupted.
  return thrown === null ? NO_OPINION : withoutAnswer('tool', 'require_approval', thrown)
}

type CheckEnd = Awaited<ReturnType<typeof runBounded<unknown>>>

/** Runs a check of a tool with the state of its call. `args` were parsed by the tool's own schema; writes to the thread are dropped. */
async function runCheck(
  dependencies: ActivityDependencies,
  asking: AskingForTool,
  check: (state: ThreadState) => unknown,
): Promise<CheckEnd> {
  const abort = new AbortController()
  const { signal } = asking
  const { state, redactor, close } = await openCallState(dependencies, asking, abort.signal)
  const bounds = { timeout: CHECK_TIMEOUT, signal, abort }
  const ended = await runBounded<unknown>(async () => redactor.redactJson(await check(state)), bounds)
  close()
  return ended.kind === 'threw' ? { ...ended, error: redactor.redactThrown(ended.error) } : ended
}

/** Why a check gave no answer; null: a user has stopped the run. */
function thrownBy(ended: Exclude<CheckEnd, { readonly kind: 'answered' }>): Thrown | null {
  if (ended.kind === 'threw') return readThrown(ended.error)
  if (ended.kind === 'timed_out') return hungFor()
  assertStoppedByUser()
  return null
}

/** The opinion of the worker's policy function, which fails closed: without an answer of it the call is denied. */
async function opinionOfPolicy(
  { store, policy }: Pick<ActivityDependencies, 'store' | 'policy'>,
  { input, kind, name, args, traits, signal }: Asking,
): Promise<Checked> {
  if (policy === undefined) return NO_OPINION
  const { threadId, callId, run, step, agent } = input
  const thread = await store.read((db) => findThread(db, threadId))
  // The transaction that would begin the call finds the same.
  if (thread === null) return NO_OPINION
  const { capabilities = [], readOnly = false, destructive = false } = traits
  // A copy: what the function changes in it does not reach the call.
  const copied = structuredClone(args) as JsonObject
  const action: Action = { id: callId, kind, name, arguments: copied, capabilities, readOnly, destructive }
  const context = {
    ...{ threadId, rootThreadId: thread.root_thread_id, agent, run, step },
    ...{ account: thread.account, userId: thread.user_id, tags: thread.tags },
  }
  const bounds = { timeout: CHECK_TIMEOUT, signal, abort: new AbortController() }
  const checked = await runBounded<PolicyAnswer>(async () => policy(action, context), bounds)
  switch (checked.kind) {
    case 'answered':
      return readPolicyAnswer(checked.value)
    case 'threw':
      return withoutAnswer('policy', 'deny', readThrown(checked.error))
    case 'timed_out':
      return withoutAnswer('policy', 'deny', hungFor())
    case 'stopped':
      assertStoppedByUser()
      // The code of a function does not begin behind a stop. What else was called has no code that could look.
      return kind === 'tool' ? NO_OPINION : { opinion: { source: 'policy', effect: 'deny' }, problems: [] }
  }
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
