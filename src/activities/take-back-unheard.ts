import type { PrepareChildAnswer, PrepareMessageAnswer, PreparedChild } from '../protocol/child-activities.js'
import type { SettleInput } from '../protocol/end-activities.js'
import { findChild, updateChild } from '../store/children.js'
import { closeUnstartedChild } from '../store/close-thread.js'
import { amendOperation, findOperation } from '../store/operations.js'
import { findMessage } from '../store/read-messages.js'
import { removeQueuedItem } from '../store/remove-queued.js'
import { lastRun } from '../store/runs.js'
import { countUndelivered } from '../store/stage-message.js'
import type { Reader, Writer } from '../store/store.js'
import { microseconds } from './call-model/model-step.js'
import type { WrittenMessage } from './prepare-message/write-message.js'

const CUT_SHORT = 'The call that was to start it was cut short.'
/** As an operation that was cut before it had an outcome: nobody owes an answer to its call (`reopen`). */
const CUT = { type: 'end', reason: 'interrupted', outcome: 'failed' } as const

/**
 * Subagents, or a message to one, that were written for a call and never heard of: no workflow starts or tells them, and the
 * call has another result by now. They are closed or removed, so that nothing waits for ever (T7).
 */
export async function takeBackUnheard(tx: Writer, input: SettleInput): Promise<void> {
  const { threadId } = input
  for (const id of input.unheard ?? []) {
    const known = await findOperation(tx, threadId, id)
    // Written by the activities of a call: the store's boundary.
    const answer = known?.answer as PrepareChildAnswer | PrepareMessageAnswer | null | undefined
    if (answer?.type !== 'children' && answer?.type !== 'message') continue
    const isBack =
      answer.type === 'children'
        ? await takeBackChildren(tx, input, answer.children)
        : await takeBackMessage(tx, input, { ...answer, ...(known?.detail as WrittenMessage) })
    const { operations = [] } = answer
    if (isBack) await amendOperation(tx, { threadId, id, answer: { ...CUT, operations } })
  }
}

/** After a reset one of them may be at work: it was heard of before, and its report is taken as any other. */
async function takeBackChildren(
  tx: Writer,
  input: SettleInput,
  children: readonly PreparedChild[],
): Promise<boolean> {
  const { threadId: parentThreadId } = input
  let isBack = true
  for (const { reference, messageId } of children)
    if (await isUntouched(tx, { reference, messageId }))
      await closeUnstartedChild(tx, {
        ...{ parentThreadId, reference, reason: CUT_SHORT, now: microseconds(input) },
      })
    else isBack = false
  return isBack
}

interface Message {
  readonly reference: string
  readonly messageId: string
}

/** Hooks may have written to its transcript already. */
async function isUntouched(db: Reader, { reference, messageId }: Message): Promise<boolean> {
  const first = await findMessage(db, reference, messageId)
  return first?.status === 'pending' && (await lastRun(db, reference)) === null
}

async function takeBackMessage(
  tx: Writer,
  input: SettleInput,
  { reference, messageId, before }: Message & WrittenMessage,
): Promise<boolean> {
  const now = microseconds(input)
  if ((await removeQueuedItem(tx, { threadId: reference, id: messageId, now })) !== 'removed') return false
  const key = { parentThreadId: input.threadId, reference }
  const child = await findChild(tx, key.parentThreadId, reference)
  const isIdle = child?.closed_at === null && child.status === 'running' && !(await isAsked(tx, reference))
  if (isIdle) await updateChild(tx, key, { status: before })
  return true
}

/** It works, or has something else to read. */
async function isAsked(db: Reader, reference: string): Promise<boolean> {
  const run = await lastRun(db, reference)
  return (run !== null && run.ended_at === null) || (await countUndelivered(db, reference)) > 0
}
