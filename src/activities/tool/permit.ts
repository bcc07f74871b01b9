/**
 * What the sources say about a call before the transaction that decides about it: the rules that may apply, and the opinions of code.
 * Owns: the checks of tools and the worker's policy function, what counts where they give no answer, and when hooks are asked.
 * Does not own: hooks (`hooks/deciding-hooks.ts`), how the sources combine (`judge-permit.ts`), and the transaction that decides (`permission.ts`).
 * Invariant: hooks that change the arguments come first, so that all other sources judge those with which the call would begin.
 */
import { CALL_POINTS } from '../../definitions/hook.js'
import type { JudgedCall as HookedCall } from '../../definitions/hook.js'
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import { toInputSchema } from '../../definitions/plan/argument-schema.js'
import { parseObject, parseToolArguments } from '../../definitions/plan/tool-arguments.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import type { ToolDefinition } from '../../definitions/tool.js'
import { traitsOfStart } from '../../policy/action.js'
import type { Action, ActionTraits, PolicyAnswer } from '../../policy/action.js'
import { approvalRuleProblem, combineApprovalRules } from '../../policy/approval.js'
import type { ApprovalRule } from '../../policy/approval.js'
import type { Question } from '../../policy/approval-detail.js'
import { definedRules, judgeForThread, looksAtFailures, namedRules, TOOL_ASKS } from '../../policy/judge.js'
import type { Opinion, PermissionDecision, Sources, StoredPermissions } from '../../policy/judge.js'
import { isEffect } from '../../policy/permissions.js'
import { readPreview } from '../../policy/preview.js'
import type { ExecuteToolInput } from '../../protocol/activities.js'
import type { ActionKind } from '../../protocol/event-codes.js'
import { nowMicros } from '../../protocol/time.js'
import type { JsonObject } from '../../protocol/values.js'
import { findToolCall } from '../../store/calls/tool-calls.js'
import type { ToolCallRecord } from '../../store/calls/tool-calls.js'
import { findOperation } from '../../store/operations.js'
import type { OperationRecord } from '../../store/operations.js'
import { appendEvents } from '../../store/events.js'
import { activeTraceId } from '../../telemetry/spans.js'
import { readActionContext } from '../../store/threads/run-context.js'
import { findThreadForCall } from '../../store/threads/threads.js'
import { assertStoppedByUser, currentSignal } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import { askHooks } from '../hooks/deciding-hooks.js'
import type { HookFacts, ParseArguments } from '../hooks/deciding-hooks.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { openCallState } from '../thread-state/buffered-state.js'
import { readThrown } from '../thrown.js'
import type { Thrown } from '../thrown.js'
import { argumentsToRun, isAskedAgain } from './approval-request.js'
import type { describeListed } from './approval-request.js'
import { askCode } from './bounded.js'
import { judgePermit } from './judge-permit.js'
import type { Permit } from './judge-permit.js'

interface Asking {
  readonly input: Pick<ExecuteToolInput, 'threadId' | 'callId' | 'run' | 'step' | 'side' | 'agent'> &
    Partial<Pick<ExecuteToolInput, 'response' | 'now'>>
  /** Null: no worker has the agent. */
  readonly content: Pick<PlanContent, 'permissions' | 'prompts'> | null
  readonly kind: ActionKind
  readonly name: string
  /** The message that holds the call; null: none does. */
  readonly messageId: string | null
  /** Of a function checked by its schema, of anything else as they were written. */
  readonly args: Record<string, unknown>
  /** Of a function: checks other arguments. Those of anything else stay as they are. */
  readonly parse?: ParseArguments
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
  const isRemote = traits.remote !== undefined
  const { name, message_id: messageId } = asking.row
  const parse: ParseArguments = (text) => parseToolArguments(traits, text)
  const called = { ...asking, kind: 'tool', name, messageId, traits, parse, isRemote, isWaiting } as const
  const permit = await permitOf(dependencies, called, async (args) =>
    isWaiting ? NO_OPINION : opinionOfTool(dependencies, { ...asking, args }),
  )
  const known: Permit = {
    ...{ ...permit, isRemote },
    question: () => ({ ...permit.question(), ...describeTool(traits) }),
  }
  const shown = { ...asking, ...withChanges(asking, known) }
  if (traits.preview === undefined || !(await isToBeShown(dependencies, shown, known))) return known
  return withPreview(dependencies, shown, known)
}

/** The call with the arguments that hooks gave. */
function withChanges({ row, args }: Pick<AskingForTool, 'row' | 'args'>, { changed }: Permit) {
  return changed === null ? { row, args } : { row: { ...row, arguments: changed.text }, args: changed.args }
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

interface CalledName extends Pick<Asking, 'input' | 'content' | 'kind' | 'hooks'> {
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
  const { name, message_id: messageId } = row
  const named = { ...asking, name, messageId, args, traits, signal: currentSignal(), isWaiting }
  const permit = await permitOf(dependencies, named, () => (capabilities === null ? MISSING : NO_OPINION))
  return { ...permit, question: () => ({ ...permit.question(), ...describe(row.name) }) }
}

interface AskingInPlace extends Omit<Asking, 'messageId'> {
  /** As the call around it found them. */
  readonly permissions: StoredPermissions
  /** The tool's own check. */
  readonly check: (args: Record<string, unknown>) => Promise<Opinion | null>
}

interface JudgedInPlace extends PermissionDecision {
  /** Those with which it goes on. */
  readonly args: Record<string, unknown>
}

/**
 * Decides about a call in place. Rules, mode, policy, hooks and grants count for it as for a call of a model. It has no transaction of
 * its own to begin in, so the facts of its hooks are stored at once, as facts of the call that makes it.
 */
export async function judgeInPlace(
  dependencies: ActivityDependencies,
  { permissions, check, ...asked }: AskingInPlace,
): Promise<JudgedInPlace> {
  const { store } = dependencies
  const asking = { ...asked, messageId: null }
  const permit = await permitOf(dependencies, asking, async (args) => ({
    opinion: await check(args),
    problems: [],
  }))
  const { hookFacts, changed } = permit
  const args = changed?.args ?? asking.args
  const { threadId } = asking.input
  const now = nowMicros()
  if (hookFacts !== null)
    await store.write(async (tx) => appendEvents(tx, { threadId, events: await hookFacts(tx), now }))
  const judged = await judgeBeforehand(dependencies, { ...asking, args }, { permit, permissions })
  return { ...judged, args }
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

/** What is called itself says about the call. */
type OwnCheck = (args: Record<string, unknown>) => Checked | Promise<Checked>

/**
 * What rules, the worker's policy function and hooks say about a call. The hooks before a call come first: all others judge the arguments
 * that they leave. A call that waits is judged again by them once there is an answer, which may have other arguments.
 */
async function permitOf(dependencies: ActivityDependencies, asking: Asking, own: OwnCheck): Promise<Permit> {
  const { permissions, permissionMode: mode, store } = dependencies
  const { content, traits, hooks, input, kind, isWaiting = false } = asking
  const rules = definedRules(permissions, content?.permissions)
  const decides = hooks.decides(...CALL_POINTS) && !(isWaiting && input.response == null)
  const stored = decides ? await store.read((db) => findThreadForCall(db, input)) : null
  // Without a row the transaction that would begin the call finds the same.
  const hooking = stored === null ? null : { rules, mode, stored: stored.permissions }
  const said = hooking === null ? null : await askBeforeCall(asking, hooking)
  const called = said?.changed == null ? asking : { ...asking, args: said.changed.args }
  const checked = await own(called.args)
  const judged = await opinionOfPolicy(dependencies, called)
  const rulesOfApproval = [dependencies.approval, traits.approval, judged.approval]
  const permit: Permit = {
    ...{ traits, rules, mode, hookFacts: said?.facts ?? null, changed: said?.changed ?? null },
    opinions: [
      ...opinionsIn(checked),
      ...opinionsIn(judged),
      ...(said === null ? [] : opinionsOf(said, asking)),
    ],
    problems: [...checked.problems, ...judged.problems],
    question: () => ({ kind, arguments: called.args, approval: combineApprovalRules(rulesOfApproval) }),
  }
  return hooking === null || said === null || said.isStopped || isWaiting
    ? permit
    : withStandIn(dependencies, called, { ...hooking, permit })
}

interface Hooking extends Pick<Sources, 'rules' | 'mode'> {
  readonly stored: StoredPermissions
}

type HookVerdict = Awaited<ReturnType<typeof askHooks>>

/** Asks the hooks before a call, which may change its arguments unless a person has approved them. */
function askBeforeCall(asking: Asking, hooking: Hooking): Promise<HookVerdict> {
  const { hooks, args, parse = asTheyAre, isWaiting = false } = asking
  return askHooks(hooks, {
    ...{ point: 'before_tool_call', args, parse, mayChange: asking.parse !== undefined && !isWaiting },
    call: (execute, state, now) => execute(state, describeCall(asking, { ...hooking, state, args: now })),
  })
}

const asTheyAre: ParseArguments = (text) => parseObject(text)

interface Described extends Hooking {
  readonly state: ThreadState
  readonly args: Record<string, unknown>
}

/** The call, as hooks that decide about it see it. */
function describeCall(asking: Asking, { state, args, rules, mode: ofWorker, stored }: Described): HookedCall {
  const { input, content, traits, messageId } = asking
  const { threadId, agent, run, step } = input
  const { mode = ofWorker ?? 'default', interactive = true } = stored
  const prompt = state.execution?.promptPath.at(-1) ?? null
  const model = prompt === null ? null : (content?.prompts[prompt]?.model ?? null)
  return {
    ...actionOf({ ...asking, args }),
    ...{ threadId, agent, run, step, messageId, prompt, model, mode, interactive },
    rules: namedRules([...rules, ...stored.rules], traits),
    ...{ sandbox: 'unavailable', workspace: 'unavailable' },
  }
}

/** Adds what hooks answer where a person would be asked. */
async function withStandIn(
  dependencies: ActivityDependencies,
  asking: Asking,
  { permit, ...hooking }: Hooking & { readonly permit: Permit },
): Promise<Permit> {
  const { hooks, args } = asking
  if (!hooks.decides('before_permission_request')) return permit
  const decision = await judgeBeforehand(dependencies, asking, { permit, permissions: hooking.stored })
  if (decision.decision !== 'asked') return permit
  const { source, reason, rules } = decision
  const because = {
    source,
    ...(reason === undefined ? {} : { reason }),
    ...(rules === undefined ? {} : { rules }),
  }
  const answered = await askHooks(hooks, {
    ...{ point: 'before_permission_request', args, parse: asTheyAre, mayChange: false },
    call: (execute, state) => execute(state, describeCall(asking, { ...hooking, state, args }), because),
  })
  const [standIn = null] = opinionsOf(answered, asking)
  const { hookFacts: before } = permit
  const hookFacts: HookFacts = async (tx) => [...((await before?.(tx)) ?? []), ...(await answered.facts(tx))]
  return { ...permit, standIn, hookFacts }
}

function opinionsOf({ opinions, isStopped }: HookVerdict, asking: Asking): readonly Opinion[] {
  return isStopped ? opinionsIn(atStop('hook', asking)) : opinions
}

interface Checked {
  readonly opinion: Opinion | null
  readonly problems: Permit['problems']
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

/** The opinion of the worker's policy function, which fails closed: without an answer of it the call is denied. */
async function opinionOfPolicy({ policy, store }: ActivityDependencies, asking: Asking): Promise<Checked> {
  if (policy === undefined) return NO_OPINION
  const { signal, input } = asking
  const read = await store.read((db) => readActionContext(db, input))
  // Without rows the transaction that would begin the call finds the same.
  if (read === null) return NO_OPINION
  const context = { ...read, traceId: activeTraceId() ?? read.traceId }
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
