/**
 * What is known about a call before the transaction that decides about it: the rules that may apply, and the opinions of code.
 * Owns: the checks of tools and the worker's policy function, what counts where they give no answer, and when hooks are asked.
 * Does not own: hooks (`hooks/deciding-hooks.ts`), how the sources combine (`policy/judge.ts`), and the transaction that decides (`permission.ts`).
 */
import { CALL_POINTS } from '../../definitions/hook.js'
import type { JudgedCall } from '../../definitions/hook.js'
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import { parseObject } from '../../definitions/plan/tool-arguments.js'
import type { ToolDefinition } from '../../definitions/tool.js'
import type { Action, ActionKind, ActionTraits, PolicyAnswer } from '../../policy/action.js'
import { judgeForThread, looksAtFailures } from '../../policy/judge.js'
import type {
  Opinion,
  PermissionDecision,
  SourceRules,
  Sources,
  ThreadPermissions,
} from '../../policy/judge.js'
import { isEffect } from '../../policy/permissions.js'
import type { ExecuteToolInput } from '../../protocol/activities.js'
import { nowMicros } from '../../protocol/time.js'
import type { JsonObject } from '../../protocol/values.js'
import { findToolCall, hasFailedCall } from '../../store/calls/tool-calls.js'
import type { ToolCallRecord } from '../../store/calls/tool-calls.js'
import { findOperation } from '../../store/operations.js'
import type { OperationRecord } from '../../store/operations.js'
import { appendEvents } from '../../store/events.js'
import type { Store } from '../../store/store.js'
import { findThread } from '../../store/threads/threads.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import { assertStoppedByUser, currentSignal } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import { askHooks } from '../hooks/deciding-hooks.js'
import type { HookFacts } from '../hooks/deciding-hooks.js'
import type { HookBatch } from '../hooks/hook-batch.js'
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
  /** The facts of the hooks that were asked; null: none was. */
  readonly hookFacts: HookFacts | null
}

/** Of a call that was asked about: its sources are not consulted again. */
const ASKED_BEFORE: Permit = {
  ...{ traits: {}, rules: [], opinions: [], mode: undefined, problems: [], hookFacts: null },
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
  readonly hooks: HookBatch
  /** Its code runs on another worker. @default false */
  readonly isRemote?: boolean
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
 * What the sources say about a call of a function: rules, the tool's own check, the worker's policy function, and hooks. The sources of a
 * call that was asked about are not consulted again. Null: the call has begun, or its code is not run, because its activity failed.
 */
export async function permitOfTool(
  dependencies: ActivityDependencies,
  asking: AskingForTool,
): Promise<Permit | null> {
  const { input, row, operation, tool: traits, args } = asking
  if (operation?.state === 'waiting') return { ...ASKED_BEFORE, traits }
  // The code of a remote tool is not run here, so that it may be sent all the same.
  if (operation !== null || (input.failed === true && traits.remote === undefined)) return null
  const own = await opinionOfTool(dependencies, asking, args)
  const isRemote = traits.remote !== undefined
  return permitOf(dependencies, { ...asking, kind: 'tool', name: row.name, traits, isRemote }, own)
}

/** Undefined: none is demanded; null: no definition of what is called is there. */
type Demanded = readonly string[] | undefined | null

interface CalledName extends Omit<Asking, 'name' | 'args' | 'traits' | 'signal' | 'isRemote'> {
  /** The authority that the called agent or prompt demands, by the arguments of the call. */
  readonly capabilitiesOf: (args: Record<string, unknown>, name: string) => Promise<Demanded> | Demanded
  /** Whether it may demand any: otherwise nothing is read. */
  readonly isProtected: boolean
}

/**
 * What the sources say about a call of an agent or a prompt. What these do is judged by their own calls, so a mode says nothing
 * about this one. Null: nothing is said, or the call will be refused, because its arguments cannot be read.
 */
export async function permitOfName(
  dependencies: ActivityDependencies,
  { capabilitiesOf, isProtected, ...asking }: CalledName,
): Promise<Permit | null> {
  const { store, policy } = dependencies
  if (!isProtected && policy === undefined && !asking.hooks.decides(...CALL_POINTS)) return null
  const { threadId, callId } = asking.input
  const [row, operation] = await store.read((db) =>
    Promise.all([
      findToolCall(db, threadId, callId),
      // Only hooks must not be asked again: they have facts.
      asking.hooks.decides(...CALL_POINTS) ? findOperation(db, threadId, callId) : null,
    ]),
  )
  if (operation !== null) return operation.state === 'waiting' ? ASKED_BEFORE : null
  const parsed = row === null ? null : parseObject(row.arguments)
  if (row === null || parsed?.ok !== true) return null
  const { args } = parsed
  const capabilities = await capabilitiesOf(args, row.name)
  const traits = { capabilities: capabilities ?? [], readOnly: true }
  const named = { ...asking, name: row.name, args, traits, signal: currentSignal() }
  return permitOf(dependencies, named, capabilities === null ? MISSING : NO_OPINION)
}

interface AskingInPlace extends Asking {
  readonly permissions: ThreadPermissions | null
  /** Of the tool's own check. */
  readonly opinion: Opinion | null
}

/**
 * Decides about a call in place. Rules, mode, policy and hooks count for it as for a call of a model. It has no transaction of its own
 * to begin in, so the facts of its hooks are stored at once, as facts of the call that makes it.
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
  return judgeBeforehand(store, asking, { sources: permit, permissions })
}

interface Beforehand {
  readonly sources: Sources
  /** Of the thread. */
  readonly permissions: ThreadPermissions | null
}

/** Judges outside of the transaction that would begin the call. */
async function judgeBeforehand(
  store: Store,
  { input: { threadId, run }, name }: Pick<Asking, 'input' | 'name'>,
  { sources, permissions }: Beforehand,
): Promise<PermissionDecision> {
  const called = { thread_id: threadId, run, name }
  const hasFailed =
    looksAtFailures(sources, permissions) && (await store.read((db) => hasFailedCall(db, called)))
  return judgeForThread(sources, permissions, hasFailed)
}

/** What rules, the worker's policy function and hooks say about a call; `own`: of what is called itself. */
async function permitOf(dependencies: ActivityDependencies, asking: Asking, own: Checked): Promise<Permit> {
  const { permissions, permissionMode: mode, policy, store } = dependencies
  const { content, traits, hooks, input } = asking
  const rules: readonly SourceRules[] = [
    ...(permissions === undefined ? [] : [{ source: 'worker', permissions } as const]),
    ...(content?.permissions === undefined
      ? []
      : [{ source: 'agent', permissions: content.permissions } as const]),
  ]
  const known = { traits, rules, mode, opinions: opinionsIn(own), problems: own.problems, hookFacts: null }
  if (policy === undefined && !hooks.decides(...CALL_POINTS)) return known
  const thread = await store.read((db) => findThread(db, input.threadId))
  // The transaction that would begin the call finds the same.
  if (thread === null) return known
  const judged = await opinionOfPolicy(policy, asking, thread)
  const opinions = [...known.opinions, ...opinionsIn(judged)]
  const problems = [...known.problems, ...judged.problems]
  return withHooks(dependencies, { asking, thread, permit: { ...known, opinions, problems } })
}

interface Hooked {
  readonly asking: Asking
  readonly thread: ThreadRecord
  readonly permit: Permit
}

/** Adds what hooks say about the call, and what they answer where a person would be asked. */
async function withHooks(
  { store, permissionMode }: ActivityDependencies,
  { asking, thread: { permissions }, permit }: Hooked,
): Promise<Permit> {
  const { hooks, input } = asking
  if (!hooks.decides(...CALL_POINTS)) return permit
  const { mode = permissionMode ?? 'default', interactive = true } = permissions ?? {}
  const about = (): JudgedCall => {
    return { ...actionOf(asking), run: input.run, step: input.step, mode, interactive }
  }
  const said = await askHooks(hooks, 'before_tool_call', (execute, state) => execute(state, about()))
  const opinions = [...permit.opinions, ...opinionsOf(said, asking)]
  const judged = { ...permit, opinions, hookFacts: said.facts }
  if (said.isStopped || !hooks.decides('before_permission_request')) return judged
  const { decision, source, reason, rules } = await judgeBeforehand(store, asking, {
    ...{ sources: judged, permissions },
  })
  if (decision !== 'asked') return judged
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
  const asks: Checked = { opinion: { source: 'tool', effect: 'require_approval' }, problems: [] }
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

/** The call, as code that judges it sees it. */
function actionOf({ input, kind, name, args, traits }: Asking): Action {
  const { capabilities = [], readOnly = false, destructive = false } = traits
  // A copy: what the code changes in it does not reach the call.
  const copied = structuredClone(args) as JsonObject
  return { id: input.callId, kind, name, arguments: copied, capabilities, readOnly, destructive }
}

/** The opinion of the worker's policy function, which fails closed: without an answer of it the call is denied. */
async function opinionOfPolicy(
  policy: ActivityDependencies['policy'],
  asking: Asking,
  thread: ThreadRecord,
): Promise<Checked> {
  if (policy === undefined) return NO_OPINION
  const { signal } = asking
  const { threadId, run, step, agent } = asking.input
  const action = actionOf(asking)
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
      return atStop('policy', asking)
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
