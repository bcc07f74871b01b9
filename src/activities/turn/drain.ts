/**
 * Phase 1: the drain, which moves the messages of a step from the queue into the transcript.
 * Owns: transaction 1, or its part of transaction 2, the messages that arrive for a repeated call, and the decision that a run
 * has nothing to do.
 * Does not own: the rows of the items (`staged-items.ts`), the create hooks (`drain-hooks.ts`), and the row of a run
 * (`run-start.ts`).
 * A message gets one position, in the order of the queue (T3).
 */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'

import type { ExpressionBuilder } from 'kysely'

import type { PlanContent } from '../../definitions/plan/plan-content.js'
import type { CallModelAnswer, CallModelInput, TerminatedAnswer } from '../../protocol/activities.js'
import { fact, phaseFact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { CUT_OFF } from '../../protocol/message.js'
import type { Message } from '../../protocol/message.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import type { Plan } from '../../protocol/plan.js'
import { putPlan } from '../../store/agents.js'
import { appendEvents } from '../../store/events.js'
import {
  appendMessage,
  deliverMessages,
  refuseMessages,
  listUnanswered,
} from '../../store/messages/delivery.js'
import { amendOperation, findOperation, highestNumbers } from '../../store/operations.js'
import type { Schema } from '../../store/schema.js'
import type { Store, Writer } from '../../store/store.js'
import { startDeferred } from '../../store/threads/children.js'
import { narrowRun } from '../../store/threads/run-permissions.js'
import { lastRun } from '../../store/threads/runs.js'
import { isArchived } from '../../store/threads/open-threads.js'
import type { ActivityDependencies } from '../activity.js'
import { begin, lookUp, record, unstoredFacts } from '../operation.js'
import type { HeldOperation, Unfinished } from '../operation.js'
import { promptOf } from '../../definitions/plan/plan-content.js'
import { microseconds, stepScope } from '../scope.js'
import { deferTransaction, Unforeseen } from '../sequence.js'
import { movesActivity, openThread } from '../thread-row.js'
import type { OpenThread } from '../thread-row.js'
import { NO_DRAIN_HOOKS, runDrainHooks } from './drain-hooks.js'
import {
  beginOperationOf,
  MISSING,
  modelBeginning,
  newPlan,
  operationOf,
  operationsOf,
  withNewPlan,
  withOperations,
} from './model-step.js'
import { beginRunRow, handOver, runStartFact } from './run-start.js'
import { stageItems } from './staged-items.js'

type Drained =
  | { readonly kind: 'answered'; readonly answer: CallModelAnswer }
  | { readonly kind: 'held'; readonly held: HeldOperation }

/** The decisions of the create hooks about the messages of the step. */
type DrainHooks = Awaited<ReturnType<typeof runDrainHooks>>

const TERMINATED: TerminatedAnswer = { type: 'terminated' }

interface Step {
  /** Its side is the side that acts. */
  readonly input: CallModelInput
  readonly content: PlanContent
}

/**
 * Drains the step and makes its model call. Where nothing is drained, the first transaction of the call is also that of the drain.
 */
export async function drainAndCall(
  dependencies: ActivityDependencies,
  step: Step,
  call: (dependencies: ActivityDependencies, held: HeldOperation) => Promise<CallModelAnswer>,
): Promise<CallModelAnswer> {
  const drained = await callWithDrain(dependencies, step, call)
  return drained.kind === 'answered' ? drained.answer : call(dependencies, drained.held)
}

/** The answer of the call where it could be made with the drain; else the drain alone. */
async function callWithDrain(
  dependencies: ActivityDependencies,
  step: Step,
  call: Parameters<typeof drainAndCall>[2],
): Promise<Drained> {
  const deferred = deferDrain(dependencies, step)
  if (deferred === null) return drainStep(dependencies, step)
  const { held, store } = deferred
  try {
    return { kind: 'answered', answer: await call({ ...dependencies, store }, held) }
  } catch (error) {
    if (!(error instanceof Unforeseen)) throw error
    return error.result as Drained
  }
}

/**
 * Transaction 1: assigns positions to the messages of this step, in the order of the queue (T3), and begins the
 * operation of its model call. A step is drained once, whatever the outcome of the call.
 */
async function drainStep(dependencies: ActivityDependencies, step: Step): Promise<Drained> {
  const hooked = await runDrainHooks(dependencies, step.input, step.content)
  return dependencies.store.write((tx) => drain(tx, step, { hooked, messageId: randomUUID() }))
}

/** A drain that is part of the next transaction of its step. */
interface DeferredDrain {
  /** The operation as that transaction will hold it. */
  readonly held: HeldOperation
  /** @throws `Unforeseen<Drained>` from its first write where an earlier attempt was at work, or the thread is terminated */
  readonly store: Store
}

/**
 * The drain of a step without any item, later than the first one of its run, which changes nothing that the step reads: it is part
 * of the transaction that notes the request to the model, or the end of the step. Null: there is something to drain.
 */
function deferDrain({ store }: ActivityDependencies, step: Step): DeferredDrain | null {
  const { input, content } = step
  if (input.drain.length > 0 || input.trigger !== null || input.plan === null || input.wordless) return null
  const messageId = randomUUID()
  const { now, detail } = modelBeginning(input, content)
  const held = {
    ...operationOf(input),
    attempt: 1,
    state: 'drained',
    asked: 0,
    messageId,
    detail,
    now,
  } as const
  return {
    held,
    store: deferTransaction<Drained>(store, {
      work: (tx) => drain(tx, step, { hooked: NO_DRAIN_HOOKS, messageId }),
      isForeseen: (drained) => drained.kind === 'held' && isDeepStrictEqual(drained.held, held),
    }),
  }
}

interface Draining {
  readonly hooked: DrainHooks
  /** For the answer of a call that begins. */
  readonly messageId: string
}

async function drain(tx: Writer, step: Step, { hooked, messageId }: Draining): Promise<Drained> {
  const { input, content } = step
  const [thread, found] = await Promise.all([
    openThread(tx, input),
    lookUp<CallModelAnswer>(tx, operationOf(input)),
  ])
  if (thread === null) return { kind: 'answered', answer: TERMINATED }
  if (found.kind === 'answered') {
    const answer = withNewPlan(found.answer, input, content)
    return { kind: 'answered', answer: withOperations(answer, await deliverAfterAnswer(tx, input, hooked)) }
  }
  if (found.operation !== null) {
    const { held } = await begin(tx, found, modelBeginning(input, content))
    return { kind: 'held', held: await deliverAdded(tx, input, { held, hooked }) }
  }
  if (input.run === 1) await startDeferred(tx, { ...thread, reference: input.threadId })
  const handed = await handOver(tx, input, thread)
  return drainQueue(tx, step, { thread, found, handed, hooked, messageId })
}

/**
 * After a reset the workflow may repeat a call that has no answer, with more messages in its drain. They belong to
 * the step too, and the model reads them (T3). A plain retry has nothing more to deliver, and has run no hook.
 */
async function deliverAdded(
  tx: Writer,
  input: CallModelInput,
  { held, hooked }: { readonly held: HeldOperation; readonly hooked: DrainHooks },
): Promise<HeldOperation> {
  const { threadId, run } = input
  const { messages, brought, refusals } = await deliverItems(tx, input, hooked)
  const narrowed = await narrowRun(tx, { threadId, number: run }, brought)
  const events = [...addedFacts(input, messages), ...refusals, ...creationFacts(input, messages), ...narrowed]
  await appendEvents(tx, { threadId, events, now: microseconds(input) })
  const operations = await hooked.commit(tx)
  if (operations.length === 0) return held
  // Made by `modelBeginning`: the store's boundary.
  const detail = { ...(held.detail as object), operations: [...operationsOf(held), ...operations] }
  await amendOperation(tx, { threadId, id: held.id, detail })
  return { ...held, detail }
}

/**
 * After a reset the workflow may repeat a finished call with messages that arrived later. They get their positions
 * nevertheless (T3), and the answer names those that no run has answered.
 */
async function deliverAfterAnswer(
  tx: Writer,
  input: CallModelInput,
  hooked: DrainHooks,
): Promise<readonly ThreadOperation[]> {
  const numbers = await highestNumbers(tx, input.threadId)
  // The run that will answer them.
  const later = { ...input, run: Math.max(input.run, numbers.runs) + 1, step: 1 }
  const { messages, brought, refusals } = await deliverItems(tx, later, hooked)
  // That run continues the last one, and has its rules.
  const last = brought.length === 0 ? null : await lastRun(tx, input.threadId)
  const run = last === null ? null : { threadId: input.threadId, number: last.number }
  const narrowed = run === null ? [] : await narrowRun(tx, run, brought)
  const events = [...addedFacts(later, messages), ...refusals, ...creationFacts(later, messages), ...narrowed]
  await appendEvents(tx, { threadId: input.threadId, events, now: microseconds(input) })
  const operations = await hooked.commit(tx)
  const ids = await listUnanswered(tx, input, await stageItems(tx, input))
  return ids.length === 0 ? operations : [...operations, { kind: 'postpone_messages', ids, ...numbers }]
}

async function deliverItems(
  tx: Writer,
  input: CallModelInput,
  { refused, changed }: DrainHooks,
): Promise<DeliveredItems> {
  const { threadId, run, step } = input
  const ids = await stageItems(tx, input)
  const refusals = (await refuseMessages(tx, threadId, refused)).map((messageId) =>
    fact('message.ended', { end: 'refused', hook: refused.get(messageId) ?? '' }, { messageId }),
  )
  return { ...(await deliverMessages(tx, { threadId, ids, run, step, changed })), refusals }
}

type DeliveredItems = Awaited<ReturnType<typeof deliverMessages>> & {
  /** The ends of those that a hook has refused. */
  readonly refusals: readonly Fact[]
}

interface DrainInput extends Draining {
  readonly thread: OpenThread
  readonly found: Unfinished
  readonly handed: readonly Fact[]
}

async function drainQueue(
  tx: Writer,
  { input, content }: Step,
  { thread, found, handed, hooked, messageId }: DrainInput,
): Promise<Drained> {
  const { threadId, run } = input
  const now = microseconds(input)
  if (input.wordless) await appendWordlessLine(tx, input)
  const { messages: delivered, brought, refusals } = await deliverItems(tx, input, hooked)
  // A later step has read its plan from the store.
  if (input.plan === null) await putPlan(tx, { digest: content.plan.digest, content, now })
  const idle = await isIdle(tx, input, { content, delivered })
  const begins = !idle && input.trigger !== null && (await beginRunRow(tx, input, input.trigger))
  const narrowed = idle ? [] : await narrowRun(tx, { threadId, number: run }, brought)
  const step = idle ? [] : stepEvents(input, content, { delivered, begins })
  const events = [
    ...(await unstoredFacts(tx, input)),
    ...takenFacts(input),
    ...handed,
    ...refusals,
    ...step,
    ...narrowed,
  ]
  await appendEvents(tx, { threadId, events, now, movesActivity: movesActivity(thread, now) })
  const operations = await hooked.commit(tx)
  if (idle) {
    const nothing: CallModelAnswer = { type: 'nothing_to_do', ...newPlan(input, content) }
    const answer = withOperations(nothing, operations)
    const { place, detail } = modelBeginning(input, content)
    await record(tx, found, { kind: 'model', place, answer, detail, now })
    return { kind: 'answered', answer }
  }
  const beginning = { ...modelBeginning(input, content, operations), messageId }
  const { held } = await begin(tx, found, beginning)
  return { kind: 'held', held }
}

/**
 * Appends a line for a turn of the other side without text, because a request must end with a message of the other
 * side.
 */
async function appendWordlessLine(tx: Writer, input: CallModelInput): Promise<void> {
  const side = input.side === 'a' ? 'b' : 'a'
  await appendMessage(tx, {
    id: randomUUID(),
    threadId: input.threadId,
    role: side === 'a' ? 'assistant' : 'user',
    content: 'The other side ended its turn without words.',
    createdAt: microseconds(input),
    sentBy: 'runtime',
    silent: true,
    side,
    run: input.run,
    step: input.step,
  })
}

/** True if a run has nothing to do. A run that a queued tool has begun continues in any case. */
async function isIdle(
  tx: Writer,
  input: CallModelInput,
  { content, delivered }: { readonly content: PlanContent; readonly delivered: readonly Message[] },
): Promise<boolean> {
  if (input.trigger === null || delivered.length > 0) return false
  if (input.asked && (await goesOn(tx, input, content.plan.type))) return false
  return (await findOperation(tx, input.threadId, beginOperationOf(input).id)) === null
}

/** Whether a `continue` has something to do: nothing in a session that was archived after its sender had looked. */
async function goesOn(tx: Writer, input: CallModelInput, type: Plan['type']): Promise<boolean> {
  return !(await isArchived(tx, input.threadId)) && needsModel(tx, input, type)
}

/**
 * Drains a run whose agent no worker has had for a minute. The run ends, and its messages enter the transcript
 * nevertheless (T3).
 */
export async function drainWithoutPlan(store: Store, input: CallModelInput): Promise<CallModelAnswer> {
  const { threadId, run, step, side } = input
  const now = microseconds(input)
  return store.write(async (tx): Promise<CallModelAnswer> => {
    if ((await openThread(tx, input)) === null) return TERMINATED
    // An earlier attempt may have recorded it; after a reset there may be more messages to deliver.
    const ended = { kind: 'model', place: { run, step, side, key: null }, answer: MISSING, now } as const
    if (!(await record(tx, operationOf(input), ended))) {
      const operations = await deliverAfterAnswer(tx, input, NO_DRAIN_HOOKS)
      return withOperations<CallModelAnswer>(MISSING, operations)
    }
    if (input.wordless) await appendWordlessLine(tx, input)
    const ids = await stageItems(tx, input)
    const { messages, brought } = await deliverMessages(tx, { threadId, ids, run, step })
    const started = input.trigger === null ? [] : [runStartFact(input, input.trigger)]
    if (input.trigger !== null) await beginRunRow(tx, input, input.trigger)
    const narrowed = await narrowRun(tx, { threadId, number: run }, brought)
    const made = [...takenFacts(input), ...started, ...creationFacts(input, messages), ...narrowed]
    await appendEvents(tx, { threadId, events: [...(await unstoredFacts(tx, input)), ...made], now })
    return MISSING
  })
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
  if (begins && input.trigger !== null) events.push(runStartFact(input, input.trigger))
  if (input.sideStarts)
    events.push(fact('side.started', { side: input.side, label: side?.label ?? null }, scope))
  events.push(fact('step.started', started, scope), phaseFact(1, scope))
  return [...events, ...creationFacts(input, delivered)]
}

/** The event of a drain: what it took has left the queue, also a message that a hook refuses. */
function takenFacts({ drain: items, asking = [], waiting = 0 }: CallModelInput): readonly Fact[] {
  const taken = [...items.map(({ id }) => id), ...asking]
  return taken.length === 0 ? [] : [fact('queue.changed', { waiting, taken })]
}

/** What a repeated call takes besides, of which the first one has told nothing. */
function addedFacts({ waiting = 0 }: CallModelInput, delivered: readonly Message[]): readonly Fact[] {
  const taken = delivered.map(({ id }) => id)
  return taken.length === 0 ? [] : [fact('queue.changed', { waiting, taken })]
}

function creationFacts(input: CallModelInput, delivered: readonly Message[]): readonly Fact[] {
  return delivered.map(({ id, role }) =>
    fact('message.created', { role }, { ...stepScope(input), messageId: id }),
  )
}

/**
 * True if a thread that is to continue needs a model: its last row was interrupted, has failed, was truncated by a
 * limit, or has no answer. Calls of immediate subagents, which the runtime makes, do not count.
 */
async function needsModel(tx: Writer, input: CallModelInput, type: Plan['type']): Promise<boolean> {
  const last = await tx
    .selectFrom('messages')
    .select(['role', 'status', 'finish_reason'])
    .where('thread_id', '=', input.threadId)
    .where('position', 'is not', null)
    .where('depth', '=', 0)
    .where((rows) => rows.not(rows.or([isStatusLine(rows), isOwnCall(rows)])))
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (last === undefined) return false
  const isWhole = last.status === 'completed' && last.finish_reason !== CUT_OFF
  return type === 'dual_ai' || last.role !== 'assistant' || !isWhole
}

type Rows = ExpressionBuilder<Schema, 'messages'>

/** True for a status line of the runtime, which no request contains. */
function isStatusLine(rows: Rows) {
  return rows.and([rows('role', '=', 'system'), rows('sent_by', '=', 'runtime')])
}

/** True if the row holds a call that the runtime made, or the result of such a call. */
function isOwnCall(rows: Rows) {
  return rows.exists(
    rows
      .selectFrom('tool_calls as call')
      .innerJoin('messages as holder', (join) =>
        join.onRef('holder.thread_id', '=', 'call.thread_id').onRef('holder.id', '=', 'call.message_id'),
      )
      .select('call.id')
      .whereRef('call.thread_id', '=', 'messages.thread_id')
      .where('holder.sent_by', '=', 'runtime')
      .where((call) =>
        call.or([
          call('call.message_id', '=', call.ref('messages.id')),
          call('call.id', '=', call.ref('messages.tool_call_id')),
        ]),
      ),
  )
}
