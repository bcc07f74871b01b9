/**
 * What is known about a call before the transaction that decides about it: the rules that may apply, and the opinions of code.
 * Owns: the checks of tools and the worker's policy function, and what counts where they give no answer.
 * Does not own: how the sources combine (`policy/judge.ts`), and the transaction that decides (`permission.ts`).
 */
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import { parseObject } from '../../definitions/plan/tool-arguments.js'
import type { ToolDefinition } from '../../definitions/tool.js'
import { traitsOfStart } from '../../policy/action.js'
import type { Action, ActionKind, ActionTraits, PolicyAnswer } from '../../policy/action.js'
import { definedRules, judgeForThread, looksAtFailures, TOOL_ASKS } from '../../policy/judge.js'
import type { Opinion, PermissionDecision, Sources, ThreadPermissions } from '../../policy/judge.js'
import { isEffect } from '../../policy/permissions.js'
import type { ExecuteToolInput } from '../../protocol/activities.js'
import type { JsonObject } from '../../protocol/values.js'
import { findToolCall, hasFailedCall } from '../../store/calls/tool-calls.js'
import type { ToolCallRecord } from '../../store/calls/tool-calls.js'
import type { OperationRecord } from '../../store/operations.js'
import { findThread } from '../../store/threads/threads.js'
import { assertStoppedByUser, currentSignal } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import { openCallState } from '../thread-state/buffered-state.js'
import { readThrown } from '../thrown.js'
import type { Thrown } from '../thrown.js'
import { runBounded } from './bounded.js'

/** As long as a hook may take. If `needsApproval` hangs longer, a person is asked; if the policy does, the call is denied. */
const CHECK_TIMEOUT = 30_000

/** What the sources say about a call. */
export interface Permit extends Sources {
  /** The checks that gave no answer. */
  readonly problems: readonly CheckProblem[]
}

interface CheckProblem {
  readonly source: 'tool' | 'policy'
  readonly thrown: Thrown
}

interface Asking {
  readonly input: Pick<ExecuteToolInput, 'threadId' | 'callId' | 'run' | 'step' | 'side' | 'agent'>
  /** Null: no worker has the agent. */
  readonly content: Pick<PlanContent, 'permissions'> | null
  readonly kind: ActionKind
  readonly name: string
  /** Of a function checked by its schema, of anything else as they were written. */
  readonly args: Record<string, unknown>
  readonly traits: ActionTraits
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
 * What the sources say about a call of a function: rules, the tool's own check, and the worker's policy function. The sources of a
 * call that was asked about are not consulted again. Null: the call has begun, or its code is not run, because its activity failed.
 */
export async function permitOfTool(
  dependencies: ActivityDependencies,
  asking: AskingForTool,
): Promise<Permit | null> {
  const { input, row, operation, tool: traits, args } = asking
  if (operation?.state === 'waiting')
    return { traits, rules: [], opinions: [], mode: undefined, problems: [] }
  // The code of a remote tool is not run here, so that it may be sent all the same.
  if (operation !== null || (input.failed === true && traits.remote === undefined)) return null
  const own = await opinionOfTool(dependencies, asking, args)
  const permit = await permitOf(dependencies, { ...asking, kind: 'tool', name: row.name, traits })
  return {
    ...permit,
    opinions: [...(own.opinion === null ? [] : [own.opinion]), ...permit.opinions],
    problems: [...own.problems, ...permit.problems],
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
  const parsed = row === null ? null : parseObject(row.arguments)
  if (row === null || parsed?.ok !== true) return null
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
  readonly permissions: ThreadPermissions | null
  /** Of the tool's own check. */
  readonly opinion: Opinion | null
}

/** Decides about a call in place. Rules, mode and policy count for it as for a call of a model. */
export async function judgeInPlace(
  dependencies: ActivityDependencies,
  { permissions, opinion, ...asking }: AskingInPlace,
): Promise<PermissionDecision> {
  const permit = await permitOf(dependencies, asking)
  const opinions = opinion === null ? permit.opinions : [opinion, ...permit.opinions]
  const { threadId, run } = asking.input
  const called = { thread_id: threadId, run, name: asking.name }
  const hasFailed =
    looksAtFailures(permit, permissions) && (await dependencies.store.read((db) => hasFailedCall(db, called)))
  return judgeForThread({ ...permit, opinions }, permissions, hasFailed)
}

/** What rules and the worker's policy function say about a call. */
async function permitOf(dependencies: ActivityDependencies, asking: Asking): Promise<Permit> {
  const { permissions, permissionMode: mode } = dependencies
  const { content, traits } = asking
  const rules = definedRules(permissions, content?.permissions)
  const { opinion, problems } = await opinionOfPolicy(dependencies, asking)
  return { traits, rules, mode, opinions: opinion === null ? [] : [opinion], problems }
}

interface Checked {
  readonly opinion: Opinion | null
  readonly problems: readonly CheckProblem[]
}

const NO_OPINION: Checked = { opinion: null, problems: [] }

/** A check that gives no answer is replaced by an effect, and its failure is kept for operators. */
function withoutAnswer(source: CheckProblem['source'], effect: Opinion['effect'], thrown: Thrown): Checked {
  return { opinion: { source, effect }, problems: [{ source, thrown }] }
}

function hungFor(): Thrown {
  return readThrown(new Error(`It did not answer within ${CHECK_TIMEOUT / 1000} s.`))
}

/**
 * The opinion of the tool's own check. It fails closed: a check that throws, hangs, or answers anything but false needs a
 * person. Writes of the check to the thread are dropped.
 */
async function opinionOfTool(
  dependencies: ActivityDependencies,
  asking: AskingForTool,
  args: Record<string, unknown>,
): Promise<Checked> {
  const { needsApproval: check = false } = asking.tool
  const asks: Checked = { opinion: TOOL_ASKS, problems: [] }
  if (check === false) return NO_OPINION
  if (typeof check !== 'function') return asks
  const abort = new AbortController()
  const { signal } = asking
  const { state, redactor, close } = await openCallState(dependencies, asking, abort.signal)
  // `args` were parsed by the tool's own schema.
  const bounds = { timeout: CHECK_TIMEOUT, signal, abort }
  const checked = await runBounded(() => check(state, args as never), bounds)
  close()
  switch (checked.kind) {
    case 'answered':
      return checked.value === false ? NO_OPINION : asks
    case 'threw':
      return withoutAnswer('tool', 'require_approval', readThrown(redactor.redactThrown(checked.error)))
    case 'timed_out':
      return withoutAnswer('tool', 'require_approval', hungFor())
    case 'stopped':
      assertStoppedByUser()
      // The call begins and ends at once as interrupted.
      return NO_OPINION
  }
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
    return { opinion, problems: [] }
  }
  const wrong =
    'Expected "allow", "require_approval", "deny", true, false or { effect, reason }, got something else.'
  return withoutAnswer('policy', 'deny', readThrown(new Error(wrong)))
}
