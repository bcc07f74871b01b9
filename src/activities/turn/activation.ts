/**
 * Activates a prompt: calls the subagents that it lists as `immediate` before its first step and before the drain.
 * Owns: the choice of the subagents that start, the operation of the activation, and the staged calls.
 * Does not own: the arguments of the calls (`bootstrap.ts`), and their execution: the workflow runs them as queued
 * tools.
 * An activation happens once (T4). An interrupted one runs again, and ends even if a flag has been turned off since.
 */
import { LIFECYCLE_TOOLS } from '../../definitions/plan/lifecycle-tools.js'
import type { PlanContent, SubagentContent } from '../../definitions/plan/plan-content.js'
import type { CallModelAnswer, CallModelInput, Frame, ImmediateCall } from '../../protocol/activities.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { activationId, activationSuffix, immediatesId, nestedCallIdOf } from '../../protocol/ids.js'
import { putPlan } from '../../store/agents.js'
import { digestOf } from '../../store/digest.js'
import { appendEvents } from '../../store/events.js'
import { stageQueuedTool } from '../../store/messages/queued-tools.js'
import type { Store, Writer } from '../../store/store.js'
import { narrowRun, rulesOfWaiting } from '../../store/threads/run-permissions.js'
import type { ActivityDependencies } from '../activity.js'
import { begin, commit, finish, lookUp, unstoredFacts } from '../operation.js'
import type { Beginning, HeldOperation, OperationKey } from '../operation.js'
import { promptOf } from '../../definitions/plan/plan-content.js'
import { microseconds, stepScope } from '../scope.js'
import { instanceCapProblem } from '../subagents/child-plan.js'
import { openThread } from '../thread-row.js'
import { endVariablesRequests, openVariablesRequests } from '../variables/variables-requests.js'
import { missingVariables } from '../variables/variables.js'
import { listEnabledSubagents } from '../variables/resolved-prompt.js'
import { deriveCalls } from './bootstrap.js'
import { runDrainHooks } from './drain-hooks.js'
import {
  modelBeginning,
  newPlan,
  operationOf,
  operationsOf,
  withNewPlan,
  withOperations,
} from './model-step.js'
import { beginRunRow, handOver, runStartFact } from './run-start.js'

/**
 * The input of an activation, which has the shape of a nested step: its operation differs from that of the step that
 * follows (T4), and it emits no phases of that step.
 */
type ActivationInput = CallModelInput & { readonly frame: Frame }

/**
 * The input under which a prompt is activated. Several prompts may become active before one step, and one of them
 * twice: after a handoff, or if a side is forced.
 */
export function activationInput(input: CallModelInput): ActivationInput {
  const key = `${input.side}${digestOf([input.agent]).slice(0, 8)}${activationSuffix(input.activations)}`
  return { ...input, frame: { callId: immediatesId(input, key), prompt: '', depth: 1 } }
}

/** A prompt that becomes active, before its first step. */
interface Activation {
  readonly input: ActivationInput
  readonly content: PlanContent
  readonly prompt: ReturnType<typeof promptOf>
}

/** An activation that this attempt holds. */
type HeldActivation = Activation & { readonly held: HeldOperation }

type Derived = Awaited<ReturnType<typeof deriveCalls>>

/** The call of an immediate subagent. Without arguments the call is not made. */
type DerivedCall = Derived['calls'][number]

/** Calls the immediate subagents. Null: no subagent starts, and the step begins. */
export async function activate(
  dependencies: ActivityDependencies,
  { input: step, content }: Pick<Activation, 'content'> & { readonly input: CallModelInput },
  signal: AbortSignal,
): Promise<CallModelAnswer | null> {
  const { store } = dependencies
  const input = activationInput(step)
  const activation = { input, content, prompt: promptOf(content, input.side) }
  const due = await dueImmediates(dependencies, activation)
  // An activation that an earlier attempt began must end, even if a flag has been turned off since.
  if (due.length === 0 && !(await isBegun(store, operationOf(input)))) return null
  const begun = await beginActivation(dependencies, activation)
  if (begun.kind === 'answered') return begun.answer
  const { held } = begun
  const derived = await deriveCalls(dependencies, { ...activation, held }, { due, signal })
  return commitActivation(store, { ...activation, held }, derived)
}

function isBegun(store: Store, key: OperationKey): Promise<boolean> {
  return store.read(async (db) => {
    const found = await lookUp(db, key)
    return found.operation !== null
  })
}

/**
 * Returns the subagents that start now, in the order of the prompt: those that are enabled and have room for one more
 * instance. None start while the prompt itself lacks variables: it becomes active when it has them.
 */
async function dueImmediates(
  dependencies: ActivityDependencies,
  { input, content, prompt }: Activation,
): Promise<readonly Omit<DerivedCall, 'args'>[]> {
  if (!Object.values(prompt.subagents).some(({ immediate }) => immediate !== null)) return []
  const { threadId, agent, frame } = input
  const scope = { threadId, agent, content }
  const { missing } = await missingVariables(dependencies, { ...scope, prompt: prompt.name })
  if (missing.length > 0) return []
  const enabled = await listEnabledSubagents(dependencies, scope, prompt)
  const immediate = enabled.filter((subagent) => subagent.immediate !== null)
  if (immediate.length === 0) return []
  const due = await dependencies.store.read(async (db) => {
    const startable: SubagentContent[] = []
    for (const subagent of immediate)
      if ((await instanceCapProblem(db, threadId, subagent)) === null) startable.push(subagent)
    return startable
  })
  return due.map((subagent, index) => ({ callId: nestedCallIdOf(frame.callId, index), subagent }))
}

/**
 * The first transaction: it writes the run and its agent before any model is called, and takes the activation for
 * this attempt (T4). It drains nothing.
 */
async function beginActivation(
  dependencies: ActivityDependencies,
  { input, content }: Activation,
): Promise<BegunActivation> {
  // A run that begins with an activation runs the hooks of a new thread, under the name that all runs without a drain
  // at their beginning share.
  const begins = { ...input, toolFirst: true, drain: [] }
  const hooked = await runDrainHooks(dependencies, begins, content)
  const { threadId } = input
  const now = microseconds(input)
  return dependencies.store.write(async (tx): Promise<BegunActivation> => {
    const thread = await openThread(tx, input)
    if (thread === null) return { kind: 'answered', answer: { type: 'terminated' } }
    const found = await lookUp<CallModelAnswer>(tx, operationOf(input))
    if (found.kind === 'answered')
      return { kind: 'answered', answer: withNewPlan(found.answer, input, content) }
    if (found.operation !== null) {
      const { held } = await begin(tx, found, activationBeginning(input, content))
      return { kind: 'held', held }
    }
    const handed = await handOver(tx, input, thread)
    if (input.plan === null) await putPlan(tx, { digest: content.plan.digest, content, now })
    const started = await beginRun(tx, input)
    await appendEvents(tx, {
      threadId,
      events: [...(await unstoredFacts(tx, input)), ...handed, ...started],
      now,
    })
    const { held } = await begin(tx, found, activationBeginning(input, content, await hooked.commit(tx)))
    return { kind: 'held', held }
  })
}

type BegunActivation =
  | { readonly kind: 'answered'; readonly answer: CallModelAnswer }
  | { readonly kind: 'held'; readonly held: HeldOperation }

function activationBeginning(...[input, content, operations]: Parameters<typeof modelBeginning>): Beginning {
  const { place, ...beginning } = modelBeginning(input, content, operations)
  const key = activationId(input, input.activations)
  return { ...beginning, kind: 'activation', place: { ...place, key } }
}

/** Begins the run. Its prompt has all of its variables, so this ends the variable requests of earlier runs. */
async function beginRun(tx: Writer, input: ActivationInput): Promise<readonly Fact[]> {
  const { threadId, trigger, run, drain } = input
  if (trigger === null || !(await beginRunRow(tx, input, trigger))) return []
  const waiting = drain.flatMap((item) => (item.kind === 'message' ? [item.id] : []))
  const [rules, requests] = await Promise.all([
    rulesOfWaiting(tx, threadId, waiting),
    openVariablesRequests(tx, threadId),
  ])
  // Its immediate subagents start before the drain.
  const narrowed = await narrowRun(tx, { threadId, number: run }, rules)
  await endVariablesRequests(tx, { threadId, requests, decision: 'supplied', now: microseconds(input) })
  return [runStartFact(input, trigger), ...narrowed]
}

/** The last transaction: it stages the calls in the same way as queued tools, and returns them as the answer. */
async function commitActivation(
  store: Store,
  activation: HeldActivation,
  { calls, log }: Derived,
): Promise<CallModelAnswer> {
  const { input, content, held } = activation
  const { threadId } = input
  const made = calls.flatMap(({ args, ...call }) => (args === null ? [] : [{ ...call, args }]))
  const usage = log.sumUnreportedUsage()
  const activates: CallModelAnswer = {
    type: 'activates',
    ...newPlan(input, content),
    calls: made.map(immediateCall),
    ...(usage === null ? {} : { usage }),
  }
  const answer = withOperations(activates, operationsOf(held))
  const now = microseconds(input)
  return commit(store, held, async (tx): Promise<CallModelAnswer> => {
    if ((await openThread(tx, input)) === null) return { type: 'terminated' }
    await finish(tx, held, { answer, detail: log.detail() })
    for (const call of made) await stage(tx, activation, call)
    const events = calls.flatMap((call) => (call.args === null ? [warnOfSkippedCall(activation, call)] : []))
    await appendEvents(tx, { threadId, events, now })
    return answer
  })
}

type MadeCall = DerivedCall & { readonly args: NonNullable<DerivedCall['args']> }

function immediateCall({ callId: id, subagent: { agent, resumable } }: MadeCall): ImmediateCall {
  return resumable === null
    ? { id, name: agent, tool: { kind: 'subagent', agent } }
    : { id, name: LIFECYCLE_TOOLS.create, tool: { kind: 'subagent_create' } }
}

async function stage(tx: Writer, { input }: HeldActivation, call: MadeCall): Promise<void> {
  const { threadId, side } = input
  const { id: toolCallId, name } = immediateCall(call)
  const tool = { threadId, toolCallId, name, args: call.args, side, immediate: true } as const
  await stageQueuedTool(tx, { ...tool, sentBy: 'runtime', now: microseconds(input) })
}

function warnOfSkippedCall({ input }: HeldActivation, { subagent, callId }: DerivedCall): Fact {
  const message = `The subagent "${subagent.agent}" was not started automatically: no valid arguments could be derived. Give its schema defaults, or name variables in immediate: { nameEnv, descriptionEnv }.`
  const scope = { ...stepScope(input), toolCallId: callId }
  return fact('runtime.warning', { code: 'immediate_skipped', message }, scope)
}
