/**
 * The activity `deliverOutcome`, of the parent of a tool's workflow: what became of the workflow gets into the store, and to its thread.
 *
 * Owns: the wake of a call that waits, and the message of one that does not. Does not own: the outcome (`outcome.ts`), and how often this is tried (`workflows/tool-workflow.ts`: until it has succeeded).
 * Invariants: the outcome is stored before anything is told of it (T2); all attempts tell the same, and the thread takes it once, because
 * request and message have ids that are made from the call's.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { WorkflowNotFoundError } from '@temporalio/common'
import { ToolError } from '../../definitions/tool-error.js'
import type { ToolWorkflow } from '../../definitions/tool.js'
import { hasFailureType } from '../../protocol/failures.js'
import { workflowOperationId } from '../../protocol/ids.js'
import { SIGNALS, UPDATES } from '../../protocol/messages.js'
import type { QueueMessage, Respond } from '../../protocol/messages.js'
import { adviceFor } from '../../protocol/payloads/tool-failure.js'
import { nowMicros } from '../../protocol/time.js'
import type { DeliverOutcomeAnswer, DeliverOutcomeInput } from '../../protocol/payloads/tool-workflow.js'
import { findToolCall } from '../../store/calls/tool-calls.js'
import { findLiveMessage, stageMessage } from '../../store/messages/message-writes.js'
import { findOperation } from '../../store/operations.js'
import type { Store } from '../../store/store.js'
import { findThread } from '../../store/threads/threads.js'
import { withHeartbeats } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import { continuationOf, lookUp, record } from '../operation.js'
import { Context, log } from '../temporal-activity.js'
import { readThrown } from '../thrown.js'
import { boundText } from '../tool/tool-result.js'
import { resultText } from '../tool/tool-values.js'
import { readOutcome, resultOf, toOutcome } from './outcome.js'

type WorkflowOutcome = Awaited<ReturnType<typeof toOutcome>>

export async function deliverOutcome(
  dependencies: ActivityDependencies,
  input: DeliverOutcomeInput,
): Promise<DeliverOutcomeAnswer> {
  return withHeartbeats(() => deliver(dependencies, input))
}

async function deliver(
  dependencies: ActivityDependencies,
  input: DeliverOutcomeInput,
): Promise<DeliverOutcomeAnswer> {
  const { store } = dependencies
  const known = await store.read((db) => readOutcome(db, input))
  const outcome = known ?? (await toOutcome(input))
  if (known === null && !(await storeOutcome(store, input, outcome))) return nowhere(input)
  if (input.mode === 'execute') return wakeCall(store, input)
  return sendMessage(dependencies, input, outcome)
}

/** Nobody reads it any more: the result is in the history of the workflow, and in the store as long as that has the thread. */
function nowhere({ threadId, callId, workflow }: DeliverOutcomeInput): DeliverOutcomeAnswer {
  const { workflowId } = workflow
  log.warn('A workflow of a tool has ended, and its thread takes no result any more.', {
    ...{ threadId, call: callId, workflowId },
  })
  return { delivered: 'nowhere' }
}

/** False: the thread is gone. */
function storeOutcome(
  store: Store,
  { threadId, callId }: DeliverOutcomeInput,
  outcome: WorkflowOutcome,
): Promise<boolean> {
  return store.write(async (tx) => {
    if ((await findThread(tx, threadId)) === null) return false
    const key = { threadId, id: workflowOperationId(callId) }
    const found = await lookUp(tx, key)
    if (found.kind === 'unfinished')
      await record(tx, key, { kind: 'workflow', place: {}, answer: outcome, now: nowMicros() })
    return true
  })
}

/** How often, and after which pause, a thread is told again that does not know yet that its call waits. */
const TRIES = 20
const PAUSE = 250

/**
 * Wakes the call, unless it has ended. Its row says that it waits a moment before its workflow knows; a thread that refuses longer is told
 * by another attempt.
 */
async function wakeCall(store: Store, input: DeliverOutcomeInput): Promise<DeliverOutcomeAnswer> {
  const { threadId } = input
  const thread = Context.current().client.workflow.getHandle(threadId)
  for (let tried = 1; ; tried += 1) {
    const requestId = await requestOfCall(store, input)
    if (requestId === null) return { delivered: 'call' }
    try {
      await thread.executeUpdate<void, [Respond]>(UPDATES.respond, {
        args: [{ id: requestId, result: true }],
      })
      return { delivered: 'call' }
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return nowhere(input)
      if (!hasFailureType(error, 'Request.NotFound') || tried === TRIES) throw error
    }
    await sleep(PAUSE, undefined, { signal: Context.current().cancellationSignal })
  }
}

/** The request with which the call waits; null: it does not wait (yet), and finds the outcome by itself. */
async function requestOfCall(
  store: Store,
  { threadId, callId }: Pick<DeliverOutcomeInput, 'threadId' | 'callId'>,
): Promise<string | null> {
  return store.read(async (db) => {
    const operation = await findOperation(db, threadId, callId)
    const answer = operation?.state === 'waiting' ? continuationOf(operation)?.answer : undefined
    const call = await findToolCall(db, threadId, callId)
    return answer?.type === 'pending' && call?.status === 'open' ? answer.requestId : null
  })
}

/** Puts the outcome into the queue of the thread, as a message that is in no transcript for people. */
async function sendMessage(
  dependencies: ActivityDependencies,
  input: DeliverOutcomeInput,
  outcome: WorkflowOutcome,
): Promise<DeliverOutcomeAnswer> {
  const { threadId, callId } = input
  const id = workflowOperationId(callId)
  const staged = await stageOutcome(dependencies, input, { id, outcome })
  // It has room again once a step has taken some.
  if (staged === 'queue_full') throw new Error(`The queue of the thread ${threadId} is full.`)
  if (staged === 'refused') return nowhere(input)
  if (staged === 'taken') return { delivered: 'message' }
  const signal: QueueMessage = { messageId: id, role: 'user', from: 'tool' }
  try {
    const thread = Context.current().client.workflow.getHandle(threadId)
    await thread.signal<[QueueMessage]>(SIGNALS.queueMessage, signal)
    return { delivered: 'message' }
  } catch (error) {
    // Its row waits: a thread that is lost and reopened takes it.
    if (error instanceof WorkflowNotFoundError) return nowhere(input)
    throw error
  }
}

interface StagedOutcome {
  /** Of the message. */
  readonly id: string
  readonly outcome: WorkflowOutcome
}

/** `taken`: an earlier attempt has told the thread, which has it or has removed it. */
async function stageOutcome(
  { store, registry }: ActivityDependencies,
  input: DeliverOutcomeInput,
  { id, outcome }: StagedOutcome,
): Promise<'waiting' | 'taken' | 'queue_full' | 'refused'> {
  const { threadId, callId, tool, workflow } = input
  const now = nowMicros()
  const { status, text } = wordsOf(input, outcome, registry.tool(tool)?.workflow?.select)
  const bounded = await boundText(store, { threadId, path: `/results/${id}.txt`, now }, text)
  const about = { toolCallId: callId, workflowId: workflow.workflowId, status }
  return store.write(async (tx) => {
    const staged = await stageMessage(tx, {
      ...{ id, threadId, role: 'user', content: bounded.text, silent: true, sentBy: 'tool', digest: id },
      ...{ metadata: { workflow: about }, createdAt: now },
    })
    if (staged === 'staged') {
      await bounded.put(tx)
      return 'waiting'
    }
    if (staged === 'queue_full') return 'queue_full'
    if (staged !== 'same') return 'refused'
    const message = (await findLiveMessage(tx, threadId, id))?.message
    return message?.position === null ? 'waiting' : 'taken'
  })
}

interface Words {
  readonly status: WorkflowOutcome['status']
  readonly text: string
}

function wordsOf(
  { callId, tool, workflow: { type } }: DeliverOutcomeInput,
  outcome: WorkflowOutcome,
  // A worker that lacks the tool, in a deploy that removes it, tells all of the output.
  select: ToolWorkflow['select'] = (output) => output,
): Words {
  const named = `The workflow "${type}", which the call ${callId} of "${tool}" has started,`
  try {
    const result = resultOf(outcome, select)
    const returned = result.result === undefined ? '.' : `. Its result:\n${resultText(result)}`
    return { status: 'completed', text: `${named} has completed${returned}` }
  } catch (error) {
    const advice = ToolError.isInstance(error) ? `\n${adviceFor(error.category)}` : ''
    return { status: 'failed', text: `${named} has failed: ${readThrown(error).message}${advice}` }
  }
}
