/**
 * Work of a run whose answers never reached the workflow: a settle takes it over, or withdraws it.
 * Owns: which operations that are, also those of an activity that went on by itself, what is returned to the workflow (T9), and
 * what nobody will start or send any more (T7).
 * Does not own: the end of the run (`settle.ts`).
 */
import type { PrepareChildAnswer, PrepareMessageAnswer, Usage } from '../protocol/activities.js'
import type { SettleAnswer, SettleInput } from '../protocol/end-activities.js'
import { fact } from '../protocol/facts.js'
import type { Fact } from '../protocol/facts.js'
import { runIdOf } from '../protocol/ids.js'
import type { ThreadOperation } from '../protocol/operations.js'
import type { Side } from '../protocol/plan.js'
import type { PreparedChild } from '../protocol/status.js'
import { isObject } from '../protocol/values.js'
import { findToolCall } from '../store/calls/tool-calls.js'
import type { StoredEvent } from '../store/event-rows.js'
import { lastSequence, readEvents } from '../store/events.js'
import { countUndelivered } from '../store/messages/message-writes.js'
import { removeQueuedItem } from '../store/messages/queue.js'
import { findMessage } from '../store/messages/transcript.js'
import { amendOperation, findActivation, findOperation, listOperationsFrom } from '../store/operations.js'
import type { OperationRecord } from '../store/operations.js'
import type { Reader, Writer } from '../store/store.js'
import { findChild, updateChild } from '../store/threads/children.js'
import { closeUnstartedChild } from '../store/threads/thread-closing.js'
import { findRun, lastRun } from '../store/threads/runs.js'
import { microseconds } from './scope.js'
import type { WrittenMessage } from './subagents/prepare-message.js'
import { operationsOf } from './turn/model-step.js'
import { addUsage } from './turn/request-log.js'

interface WorkAhead {
  readonly input: SettleInput
  /** The end that the store has of the run. */
  readonly ended?: SettleAnswer['ended']
}

/**
 * Adds what an activity without an answer has done by itself after the call of which the workflow knows: its operations are
 * unacknowledged, too, and its steps count. If it has stored the end of the run, that end stays, and the workflow's own facts
 * about the run are not stored.
 */
export async function withWorkAhead(db: Reader, input: SettleInput): Promise<WorkAhead> {
  const { threadId, run: number, end, unacknowledgedStep: step, unacknowledged = [] } = input
  if (step === undefined || end === null) return { input }
  const operations = await listOperationsFrom(db, { threadId, run: number, step })
  const all = [...new Set([...unacknowledged, ...operations.map(({ id }) => id)])]
  const run = await findRun(db, { threadId, number })
  const isEnded = run?.ended_at != null
  const steps = isEnded ? run.steps : Math.max(end.steps, ...operations.map(stepsOf))
  const reason = (isEnded ? run.reason : null) ?? end.reason
  return {
    input: {
      ...input,
      unacknowledged: all,
      end: isEnded ? null : { ...end, steps, usage: operations.reduce(addUsageOf, end.usage) },
      facts: isEnded ? input.facts.filter(({ scope }) => scope?.runId !== runIdOf(number)) : input.facts,
    },
    ended: { reason, steps },
  }
}

/** The number of the step, if the operation is a model call of a side that was answered. */
function stepsOf({ kind, key, step, answer }: OperationRecord): number {
  return kind === 'model' && key === null && isAnswered(answer) ? (step ?? 0) : 0
}

function isAnswered(answer: unknown): boolean {
  return isObject(answer) && answer['type'] === 'answered'
}

function addUsageOf(sum: Usage, { answer }: OperationRecord): Usage {
  // Written by `callModel` and the activities of a call: the store's boundary.
  const { usage } = (answer ?? {}) as { readonly usage?: Usage }
  return usage === undefined ? sum : addUsage(sum, usage)
}

/** The events among which the phases of the last step are: a step has a few for each of its calls. */
const EVENTS_OF_A_STEP = 1_000

/**
 * The workflow marks the phases of an interrupted step, the end of a judged one, and that of the turn under way; an activity
 * whose answer it never got may have stored some of that before, and begun the next turn. The turn that ends with the run is the
 * one that is open in the store, whichever the workflow knows of.
 */
export async function withoutStoredMarks(
  tx: Reader,
  { threadId, run, end, unacknowledged }: SettleInput,
  facts: readonly Fact[],
): Promise<readonly Fact[]> {
  if (unacknowledged === undefined) return facts
  const after = Math.max(0, (await lastSequence(tx, threadId)) - EVENTS_OF_A_STEP)
  const recent = await readEvents(tx, { threadId, after, limit: EVENTS_OF_A_STEP })
  const stored = new Set(recent.map(markOf))
  const turn = recent.findLast((event) => isOfTurn(event, run))
  const unstored = facts.filter((fact) => markOf(fact) === null || !stored.has(markOf(fact)))
  if (turn === undefined) return unstored
  const ends = unstored.filter((fact) => isOfTurn(fact, run))
  const others = unstored.filter((fact) => !isOfTurn(fact, run))
  if (turn.type === 'side.completed' || (ends.length === 0 && end === null)) return others
  // Written by `callModel`: the store's boundary.
  const { side } = turn.payload as { readonly side: Side }
  const reason = ends.flatMap(({ type, payload }) => (type === 'side.completed' ? payload.reason : []))
  const payload = { side, reason: reason[0] ?? end?.reason ?? null }
  return [...others, fact('side.completed', payload, { runId: runIdOf(run) })]
}

function isOfTurn({ type, scope }: Pick<StoredEvent | Fact, 'type' | 'scope'>, run: number): boolean {
  return (type === 'side.started' || type === 'side.completed') && scope?.runId === runIdOf(run)
}

/** What a step has once: each of its phases, its end, and the end of its turn. Null for all other events. */
function markOf({
  type,
  scope,
  payload,
}: Pick<StoredEvent | Fact, 'type' | 'scope' | 'payload'>): string | null {
  if (scope?.stepId === undefined) return null
  if (type === 'step.phase') return `${scope.stepId} ${JSON.stringify(payload)}`
  return type === 'step.completed' || type === 'side.completed' ? `${scope.stepId} ${type}` : null
}

const NOT_STARTED = 'The call that was to start it was interrupted.'
/** The answer of an interrupted operation. Its call already has a result, so `reopen` expects no other. */
const INTERRUPTED = { type: 'end', reason: 'interrupted', outcome: 'failed' } as const

/**
 * Withdraws subagents, or a message to one, that an unacknowledged call has written. No workflow starts or signals
 * them, and the call has another result by now, so they are closed or removed: no parent waits for them (T7).
 */
export async function withdrawUnacknowledged(tx: Writer, input: SettleInput): Promise<void> {
  const { threadId } = input
  for (const id of input.unacknowledged ?? []) {
    const known = await findOperation(tx, threadId, id)
    // Written by `prepareChild` and `prepareMessage`: the store's boundary.
    const answer = known?.answer as PrepareChildAnswer | PrepareMessageAnswer | null | undefined
    if (answer?.type !== 'children' && answer?.type !== 'message') continue
    const isWithdrawn =
      answer.type === 'children'
        ? await withdrawChildren(tx, input, answer.children)
        : await withdrawMessage(tx, input, { ...answer, ...(known?.detail as WrittenMessage) })
    const { operations = [] } = answer
    if (isWithdrawn) await amendOperation(tx, { threadId, id, answer: { ...INTERRUPTED, operations } })
  }
}

/**
 * After a reset a child may be at work already, because the first answer did reach the workflow. Such a child stays,
 * and its report is accepted as any other.
 */
async function withdrawChildren(
  tx: Writer,
  input: SettleInput,
  children: readonly PreparedChild[],
): Promise<boolean> {
  const { threadId: parentThreadId } = input
  let isWithdrawn = true
  for (const { reference, messageId } of children)
    if (await isUnstarted(tx, { reference, messageId }))
      await closeUnstartedChild(tx, {
        ...{ parentThreadId, reference, reason: NOT_STARTED, now: microseconds(input) },
      })
    else isWithdrawn = false
  return isWithdrawn
}

interface Message {
  readonly reference: string
  readonly messageId: string
}

/**
 * True if the child has not begun a run. Hooks may have written to its transcript already, and a client may have removed its
 * first message.
 */
async function isUnstarted(db: Reader, { reference, messageId }: Message): Promise<boolean> {
  const first = await findMessage(db, reference, messageId)
  return first?.position === null && (await lastRun(db, reference)) === null
}

async function withdrawMessage(
  tx: Writer,
  input: SettleInput,
  { reference, messageId, before }: Message & WrittenMessage,
): Promise<boolean> {
  const now = microseconds(input)
  if ((await removeQueuedItem(tx, { threadId: reference, id: messageId, now })) !== 'removed') return false
  const key = { parentThreadId: input.threadId, reference }
  const child = await findChild(tx, key.parentThreadId, reference)
  const isIdle = child?.closed_at === null && child.status === 'running' && !(await isBusy(tx, reference))
  if (isIdle) await updateChild(tx, key, { status: before })
  return true
}

/** True if the child runs, or has another message to read. */
async function isBusy(db: Reader, reference: string): Promise<boolean> {
  const run = await lastRun(db, reference)
  return (run !== null && run.ended_at === null) || (await countUndelivered(db, reference)) > 0
}

/**
 * Returns the operations that were committed with unacknowledged answers, or by hooks of a drain whose call has no
 * answer (T9). The calls of the run are closed before: a tool that such an operation queues for this step has its
 * result by then, and does not run.
 */
export async function readUnacknowledgedOperations(
  db: Reader,
  {
    threadId,
    unacknowledged = [],
    givenUp = [],
  }: Pick<SettleInput, 'threadId' | 'unacknowledged' | 'givenUp'>,
): Promise<readonly ThreadOperation[]> {
  const found: ThreadOperation[] = []
  for (const id of [...unacknowledged, ...givenUp]) {
    const known = (await findOperation(db, threadId, id)) ?? (await findActivation(db, threadId, id))
    if (known === null) continue
    // Written by `callModel` and the activities of a call: the store's boundary.
    const answer = known.answer as { readonly operations?: readonly ThreadOperation[] } | null
    // The operations of an answer include those of its drain.
    for (const operation of answer?.operations ?? operationsOf(known))
      if (operation.kind !== 'queue_tool' || (await isOpen(db, threadId, operation.id))) found.push(operation)
  }
  return found
}

async function isOpen(db: Reader, threadId: string, callId: string): Promise<boolean> {
  return (await findToolCall(db, threadId, callId))?.status === 'open'
}
