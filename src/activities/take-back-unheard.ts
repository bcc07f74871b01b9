import type { PrepareChildAnswer, PrepareMessageAnswer } from '../protocol/child-activities.js'
import type { SettleInput } from '../protocol/end-activities.js'
import { findChild, updateChild } from '../store/children.js'
import { findOperation } from '../store/operations.js'
import { removeQueuedItem } from '../store/remove-queued.js'
import type { Writer } from '../store/store.js'
import { findThread } from '../store/threads.js'
import { microseconds } from './call-model/model-step.js'
import { closeUnstartedChild } from './close-unstarted-child.js'

const CUT_SHORT = 'The call that was to start it was cut short.'

/**
 * Subagents, or a message to one, that were written for a call and never heard of: no workflow starts or tells them, and the
 * call has another result by now. They are closed or removed, so that nothing waits for ever (T7).
 */
export async function takeBackUnheard(tx: Writer, input: SettleInput): Promise<void> {
  const { threadId } = input
  for (const id of input.unheard ?? []) {
    // Written by the activities of a call: the store's boundary.
    const answer = (await findOperation(tx, threadId, id))?.answer as
      | PrepareChildAnswer
      | PrepareMessageAnswer
      | null
      | undefined
    if (answer?.type === 'children')
      for (const { reference } of answer.children) await takeBackChild(tx, input, reference)
    if (answer?.type === 'message') await takeBackMessage(tx, input, answer)
  }
}

/** After a reset one of them may be at work: it was heard of before, and its report is taken as any other. */
async function takeBackChild(tx: Writer, input: SettleInput, reference: string): Promise<void> {
  const child = await findThread(tx, reference)
  if (child === null || child.last_position > 0) return
  const { threadId: parentThreadId } = input
  await closeUnstartedChild(tx, { parentThreadId, reference, reason: CUT_SHORT, now: microseconds(input) })
}

interface Message {
  readonly reference: string
  readonly messageId: string
}

async function takeBackMessage(
  tx: Writer,
  input: SettleInput,
  { reference, messageId }: Message,
): Promise<void> {
  const now = microseconds(input)
  if ((await removeQueuedItem(tx, { threadId: reference, id: messageId, now })) !== 'removed') return
  const key = { parentThreadId: input.threadId, reference }
  const report = (await findChild(tx, key.parentThreadId, reference))?.report
  // Its registry entry says again what it said before that message.
  if (report != null)
    await updateChild(tx, key, { status: report.kind === 'result' ? 'completed' : 'failed' })
}
