import { randomUUID } from 'node:crypto'
import type { CallModelAnswer, CallModelInput, TerminatedAnswer } from '../../protocol/activities.js'
import { phaseFact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import type { Message } from '../../protocol/message.js'
import { actualSide } from '../../protocol/plan.js'
import type { PlanContent } from '../../definitions/plan-content.js'
import { appendEvents } from '../../store/events.js'
import { deliverMessages } from '../../store/deliver-messages.js'
import { findOperation, insertOperation, takeOperation } from '../../store/operations.js'
import type { OperationRecord } from '../../store/operations.js'
import { putPlan } from '../../store/plans.js'
import { insertRun } from '../../store/runs.js'
import type { Store, Writer } from '../../store/store.js'
import { updateThread } from '../../store/threads.js'
import type { ActivityDependencies } from '../dependencies.js'
import { currentPlan, keptPlan, promptOf } from '../plan-content.js'
import { openThread } from '../thread-row.js'
import { asksForStep } from './asks-for-step.js'
import { stageItems } from './stage-items.js'
import { microseconds, operationOf, stepScope } from './model-step.js'

type Drained =
  | { readonly kind: 'answered'; readonly answer: CallModelAnswer }
  | {
      readonly kind: 'drained'
      /** With the side that acts. */
      readonly input: CallModelInput
      readonly content: PlanContent
      readonly attempt: number
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
  const result = await store.write(async (tx): Promise<CallModelAnswer | number> => {
    const thread = await openThread(tx, input)
    if (thread === null) return TERMINATED
    const operation = await findOperation(tx, input.threadId, operationOf(input).id)
    return operation === null ? drainNow(tx, input, plan) : takeAgain(tx, input, operation)
  })
  if (typeof result !== 'number') return { kind: 'answered', answer: result }
  return { kind: 'drained', input, content: plan, attempt: result }
}

/** A retry keeps the plan of the attempt that drained. */
async function planOfStep(
  dependencies: ActivityDependencies,
  input: CallModelInput,
): Promise<PlanContent | null> {
  if (input.plan !== null) return keptPlan(dependencies, input.plan)
  const operation = await dependencies.store.read((db) =>
    findOperation(db, input.threadId, operationOf(input).id),
  )
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
  operation: OperationRecord,
): Promise<CallModelAnswer | number> {
  // Written by this activity: the store's boundary.
  if (operation.state === 'finished') {
    await deliverLater(tx, input)
    return operation.answer as CallModelAnswer
  }
  const attempt = operation.attempt + 1
  await takeOperation(tx, { ...operationOf(input), attempt, state: operation.state })
  return attempt
}

/** After a reset a recorded call may meet messages that came later: they get their places all the same (T3). */
async function deliverLater(tx: Writer, input: CallModelInput): Promise<void> {
  const { threadId, run, step } = input
  const delivered = await deliverMessages(tx, { threadId, ids: await stageItems(tx, input), run, step })
  await appendEvents(tx, { threadId, events: createdFacts(input, delivered), now: microseconds(input) })
}

async function drainNow(
  tx: Writer,
  input: CallModelInput,
  content: PlanContent,
): Promise<CallModelAnswer | number> {
  const { threadId, run, step } = input
  const now = microseconds(input)
  const ids = await stageItems(tx, input)
  const delivered = await deliverMessages(tx, { threadId, ids, run, step })
  const idle =
    input.trigger !== null &&
    delivered.length === 0 &&
    !(input.asked && (await asksForStep(tx, input, content.plan.type)))
  const answer: CallModelAnswer | null = idle ? { type: 'nothing_to_do', ...newPlan(input, content) } : null
  // Later steps of a run took their plan from there.
  if (input.plan === null) await putPlan(tx, { digest: content.plan.digest, content, now })
  await insertOperation(tx, {
    thread_id: threadId,
    id: operationOf(input).id,
    kind: 'model',
    state: answer === null ? 'drained' : 'finished',
    attempt: 1,
    answer,
    message_id: answer === null ? randomUUID() : null,
    detail: { plan: content.plan.digest },
    started_at: now,
    finished_at: answer === null ? null : now,
  })
  if (answer === null && input.trigger !== null) await beginRun(tx, input, input.trigger)
  const events = answer === null ? stepEvents(input, content, delivered) : []
  await appendEvents(tx, { threadId, events: [...input.facts, ...events], now })
  return answer ?? 1
}

/** No worker has had the agent for a minute: the run ends, with its messages in the transcript all the same (T3). */
async function drainWithoutPlan(store: Store, input: CallModelInput): Promise<CallModelAnswer> {
  const { threadId, run, step } = input
  const now = microseconds(input)
  return store.write(async (tx): Promise<CallModelAnswer> => {
    if ((await openThread(tx, input)) === null) return TERMINATED
    const { id } = operationOf(input)
    const operation = { thread_id: threadId, id, kind: 'model', attempt: 1, started_at: now }
    // Found by a retry whose first attempt got this far.
    if (!(await insertOperation(tx, { ...operation, state: 'finished', answer: MISSING, finished_at: now })))
      return MISSING
    const delivered = await deliverMessages(tx, { threadId, ids: await stageItems(tx, input), run, step })
    const started = input.trigger === null ? [] : [startedFact(input, input.trigger)]
    if (input.trigger !== null) await beginRun(tx, input, input.trigger)
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

async function beginRun(tx: Writer, input: CallModelInput, trigger: string): Promise<void> {
  const { threadId, run } = input
  const now = microseconds(input)
  await insertRun(tx, { thread_id: threadId, number: run, trigger_kind: trigger, started_at: now })
  await updateThread(tx, threadId, { status: 'running' })
}

function stepEvents(
  input: CallModelInput,
  content: PlanContent,
  delivered: readonly Message[],
): readonly Fact[] {
  const scope = stepScope(input)
  const side = content.plan.sides[input.side]
  const prompt = promptOf(content, input.side)
  const started = { step: input.step, prompt: prompt.name, model: prompt.model }
  const events: Fact[] = []
  if (input.trigger !== null) events.push(startedFact(input, input.trigger))
  if (input.sideStarts)
    events.push({ type: 'side.started', scope, payload: { side: input.side, label: side?.label ?? null } })
  events.push({ type: 'step.started', scope, payload: started }, phaseFact(1, scope))
  return [...events, ...createdFacts(input, delivered)]
}

function startedFact(input: CallModelInput, trigger: string): Fact {
  return { type: 'run.started', scope: stepScope(input), payload: { trigger } }
}

function createdFacts(input: CallModelInput, delivered: readonly Message[]): readonly Fact[] {
  return delivered.map(({ id, role }) => ({
    type: 'message.created',
    scope: { ...stepScope(input), messageId: id },
    payload: { role },
  }))
}
