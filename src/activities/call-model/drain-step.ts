import { randomUUID } from 'node:crypto'
import type { CallModelAnswer, CallModelInput, TerminatedAnswer } from '../../protocol/activities.js'
import { phaseFact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import type { Message } from '../../protocol/message.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import { actualSide } from '../../protocol/plan.js'
import type { PlanContent } from '../../definitions/plan-content.js'
import { startDeferred } from '../../store/children.js'
import { appendEvents } from '../../store/events.js'
import { deliverMessages, refuseMessages } from '../../store/deliver-messages.js'
import { meanwhile } from '../../store/meanwhile.js'
import { amendOperation, findOperation, insertOperation } from '../../store/operations.js'
import type { NewOperation, OperationRecord } from '../../store/operations.js'
import { putPlan } from '../../store/plans.js'
import type { Store, Writer } from '../../store/store.js'
import type { ActivityDependencies } from '../dependencies.js'
import { currentPlan, keptPlan, promptOf } from '../plan-content.js'
import { scheduledAt, takeOver } from '../take-over.js'
import { movesActivity, openThread } from '../thread-row.js'
import type { OpenThread } from '../thread-row.js'
import { asksForStep } from './asks-for-step.js'
import { highestNumbers, unanswered } from '../../store/late-messages.js'
import { appendWordlessLine, stageItems } from './stage-items.js'
import { handOver } from './hand-over.js'
import { UNHOOKED, hookDrain } from './hook-drain.js'
import type { HookedDrain } from './hook-drain.js'
import { beginRunRow, startedFact } from './run-row.js'
import { beginOperationOf, microseconds, operationOf, operationsOf, stepScope } from './model-step.js'
import type { HeldOperation } from './model-step.js'
import { withOperations } from './with-operations.js'

export type Drained =
  | { readonly kind: 'answered'; readonly answer: CallModelAnswer }
  | {
      readonly kind: 'held'
      /** With the side that acts. */
      readonly input: CallModelInput
      readonly content: PlanContent
      readonly held: HeldOperation
    }

const TERMINATED: TerminatedAnswer = { type: 'terminated' }
/** The end of a run that needs what this worker has lacked for a minute. */
export const MISSING = { type: 'end', reason: 'definition_missing', outcome: 'failed' } as const

/** Transaction 1: positions for this step's messages, in queue order (T3). Done once, whatever happens to the call. */
export async function drainStep(dependencies: ActivityDependencies, asked: CallModelInput): Promise<Drained> {
  const { store } = dependencies
  const plan = await planOfStep(dependencies, asked)
  if (plan === null) return { kind: 'answered', answer: await drainWithoutPlan(store, asked) }
  const input = { ...asked, side: actualSide(plan.plan, asked.side) }
  const hooked = await hookDrain(dependencies, input, plan)
  const result = await store.write(async (tx): Promise<CallModelAnswer | HeldOperation> => {
    const [thread, operation] = await Promise.all([
      openThread(tx, input),
      findOperation(tx, input.threadId, operationOf(input).id),
    ])
    if (thread === null) return TERMINATED
    if (operation !== null) return takeAgain(tx, input, { operation, hooked })
    if (input.run === 1) await startDeferred(tx, { ...thread, reference: input.threadId })
    return drainNow(tx, input, {
      ...{ thread, content: plan, hooked },
      handed: await handOver(tx, input, thread),
    })
  })
  if ('type' in result) return { kind: 'answered', answer: result }
  return { kind: 'held', input, content: plan, held: result }
}

/** A retry keeps the plan of the attempt that drained. */
export async function planOfStep(
  dependencies: ActivityDependencies,
  input: CallModelInput,
): Promise<PlanContent | null> {
  if (input.plan !== null) return keptPlan(dependencies, input.plan)
  const { id } = input.toolFirst ? beginOperationOf(input) : operationOf(input)
  const operation = await dependencies.store.read((db) => findOperation(db, input.threadId, id))
  const kept = planDigestOf(operation)
  return kept === null ? currentPlan(dependencies, input.agent) : keptPlan(dependencies, kept)
}

function planDigestOf(operation: OperationRecord | null): string | null {
  const detail = operation?.detail
  return typeof detail === 'object' && detail !== null && 'plan' in detail ? String(detail.plan) : null
}

async function takeAgain(
  tx: Writer,
  input: CallModelInput,
  { operation, hooked }: { readonly operation: OperationRecord; readonly hooked: HookedDrain },
): Promise<CallModelAnswer | HeldOperation> {
  const found = await heldAgain(tx, operation)
  return 'type' in found
    ? withOperations(found, await deliverLate(tx, input, hooked))
    : deliverMore(tx, input, { held: found, hooked })
}

/**
 * After a reset a call without an answer may be asked again with more in its drain: these are of its step too, and the
 * model reads them (T3). A retry has nothing more, and no hook has run for it.
 */
async function deliverMore(
  tx: Writer,
  input: CallModelInput,
  { held, hooked }: { readonly held: HeldOperation; readonly hooked: HookedDrain },
): Promise<HeldOperation> {
  const { threadId } = input
  const delivered = await deliverItems(tx, input, hooked)
  if (delivered.length > 0)
    await appendEvents(tx, { threadId, events: createdFacts(input, delivered), now: microseconds(input) })
  const operations = await hooked.commit(tx)
  if (operations.length === 0) return held
  // Written by `newOperation`: the store's boundary.
  const detail = { ...(held.detail as object), operations: [...operationsOf(held), ...operations] }
  await amendOperation(tx, { ...operationOf(input), detail })
  return { ...held, detail }
}

/**
 * T4: a finished call is answered from its row; any other is held by this attempt from now on.
 * @throws `Operation.Late` if a later attempt holds it
 */
export async function heldAgain(
  tx: Writer,
  operation: OperationRecord,
): Promise<CallModelAnswer | HeldOperation> {
  // Written by this activity: the store's boundary.
  if (operation.state === 'finished') return operation.answer as CallModelAnswer
  return { ...operation, attempt: await takeOver(tx, operation, operation.state) }
}

/**
 * After a reset a recorded call may meet messages that came later: they get their places all the same (T3), and the
 * workflow is told of those that no run has answered.
 */
async function deliverLate(
  tx: Writer,
  input: CallModelInput,
  hooked: HookedDrain,
): Promise<readonly ThreadOperation[]> {
  const numbers = await highestNumbers(tx, input.threadId)
  // The run that will answer them.
  const later = { ...input, run: Math.max(input.run, numbers.runs) + 1, step: 1 }
  const delivered = await deliverItems(tx, later, hooked)
  const events = createdFacts(later, delivered)
  await appendEvents(tx, { threadId: input.threadId, events, now: microseconds(input) })
  const operations = await hooked.commit(tx)
  const ids = await unanswered(tx, input, await stageItems(tx, input))
  return ids.length === 0 ? operations : [...operations, { kind: 'came_late', ids, ...numbers }]
}

async function deliverItems(
  tx: Writer,
  input: CallModelInput,
  { refused, changed }: HookedDrain,
): Promise<readonly Message[]> {
  const { threadId, run, step } = input
  const ids = await stageItems(tx, input)
  await refuseMessages(tx, threadId, refused)
  return deliverMessages(tx, { threadId, ids, run, step, changed })
}

interface Draining {
  readonly thread: OpenThread
  readonly content: PlanContent
  readonly handed: readonly Fact[]
  readonly hooked: HookedDrain
}

async function drainNow(
  tx: Writer,
  input: CallModelInput,
  { thread, content, handed, hooked }: Draining,
): Promise<CallModelAnswer | HeldOperation> {
  const { threadId } = input
  const now = microseconds(input)
  if (input.wordless) await appendWordlessLine(tx, input)
  const delivered = await deliverItems(tx, input, hooked)
  // Later steps of a run took their plan from there.
  if (input.plan === null) await putPlan(tx, { digest: content.plan.digest, content, now })
  const idle = await isIdle(tx, input, { content, delivered })
  const begins = !idle && input.trigger !== null && (await beginRunRow(tx, input, input.trigger))
  const step = idle ? [] : stepEvents(input, content, { delivered, begins })
  const events = [...input.facts, ...handed, ...step]
  await appendEvents(tx, { threadId, events, now, movesActivity: movesActivity(thread, now) })
  const operations = await hooked.commit(tx)
  if (idle) {
    const nothing: CallModelAnswer = { type: 'nothing_to_do', ...newPlan(input, content) }
    const answer = withOperations(nothing, operations)
    const finished = { state: 'finished', answer, finished_at: now } as const
    await insertOperation(tx, { ...newOperation(input, content), ...finished })
    return answer
  }
  const operation = { ...newOperation(input, content, operations), message_id: randomUUID() }
  meanwhile(tx, insertOperation(tx, operation))
  return operation
}

/** A run that a tool began goes on whatever there is. */
async function isIdle(
  tx: Writer,
  input: CallModelInput,
  { content, delivered }: { readonly content: PlanContent; readonly delivered: readonly Message[] },
): Promise<boolean> {
  if (input.trigger === null || delivered.length > 0) return false
  if (input.asked && (await asksForStep(tx, input, content.plan.type))) return false
  return (await findOperation(tx, input.threadId, beginOperationOf(input).id)) === null
}

/** The row of a model call that nothing was asked for yet. `operations`: of hooks, kept for the answer. */
export function newOperation(
  input: CallModelInput,
  { plan }: PlanContent,
  operations: readonly ThreadOperation[] = [],
): NewOperation & { readonly detail: unknown; readonly message_id: null } {
  const { threadId, id } = operationOf(input)
  const detail = { plan: plan.digest, ...(operations.length === 0 ? {} : { operations }) }
  const common = { thread_id: threadId, id, kind: 'model', state: 'drained', attempt: 1 } as const
  return { ...common, message_id: null, detail, started_at: microseconds(input), scheduled_at: scheduledAt() }
}

/** No worker has had the agent for a minute: the run ends, with its messages in the transcript all the same (T3). */
async function drainWithoutPlan(store: Store, input: CallModelInput): Promise<CallModelAnswer> {
  const { threadId, run, step } = input
  const now = microseconds(input)
  return store.write(async (tx): Promise<CallModelAnswer> => {
    if ((await openThread(tx, input)) === null) return TERMINATED
    const { id } = operationOf(input)
    const operation = { thread_id: threadId, id, kind: 'model', attempt: 1, started_at: now }
    const ended = { ...operation, state: 'finished', answer: MISSING, finished_at: now } as const
    // A retry whose first attempt got this far; after a reset there may be more to deliver.
    if (!(await insertOperation(tx, ended))) {
      const operations = await deliverLate(tx, input, UNHOOKED)
      return withOperations<CallModelAnswer>(MISSING, operations)
    }
    if (input.wordless) await appendWordlessLine(tx, input)
    const ids = await stageItems(tx, input)
    const delivered = await deliverMessages(tx, { threadId, ids, run, step })
    const started = input.trigger === null ? [] : [startedFact(input, input.trigger)]
    if (input.trigger !== null) await beginRunRow(tx, input, input.trigger)
    const events = [...input.facts, ...started, ...createdFacts(input, delivered)]
    await appendEvents(tx, { threadId, events, now })
    return MISSING
  })
}

/** The plan rides back only when the workflow does not have it. */
export function newPlan(
  input: CallModelInput,
  { plan }: PlanContent,
): { readonly plan?: PlanContent['plan'] } {
  return plan.digest === input.knownPlan ? {} : { plan }
}

function stepEvents(
  input: CallModelInput,
  content: PlanContent,
  { delivered, begins }: { readonly delivered: readonly Message[]; readonly begins: boolean },
): readonly Fact[] {
  const scope = stepScope(input)
  const side = content.plan.sides[input.side]
  const prompt = promptOf(content, input.side)
  const started = { step: input.step, prompt: prompt.name, model: prompt.model }
  const events: Fact[] = []
  if (begins && input.trigger !== null) events.push(startedFact(input, input.trigger))
  if (input.sideStarts)
    events.push({ type: 'side.started', scope, payload: { side: input.side, label: side?.label ?? null } })
  events.push({ type: 'step.started', scope, payload: started }, phaseFact(1, scope))
  return [...events, ...createdFacts(input, delivered)]
}

function createdFacts(input: CallModelInput, delivered: readonly Message[]): readonly Fact[] {
  return delivered.map(({ id, role }) => ({
    type: 'message.created',
    scope: { ...stepScope(input), messageId: id },
    payload: { role },
  }))
}
