/**
 * Runs the create hooks of a step's messages, before the transaction of the drain: no lock is held while user code
 * runs.
 * Owns: the messages that hooks change or refuse, and the hooks of a new thread.
 * Does not own: the delivery of the messages (`drain.ts`).
 * The writes of hooks are committed with the drain. A retry after that commit does not run the hooks again (T9).
 */
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import type { CallModelInput } from '../../protocol/activities.js'
import type { Message } from '../../protocol/message.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import { readUndelivered } from '../../store/messages/delivery.js'
import type { ChangedMessage } from '../../store/messages/delivery.js'
import type { Writer } from '../../store/store.js'
import type { ActivityDependencies } from '../activity.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { isNewThread, markThreadCreated, runThreadCreated } from '../hooks/hook-points.js'
import { afterCreate, beforeCreate, hasCreateHooks } from '../hooks/message-hooks.js'
import { stepBatch } from '../hooks/step-batch.js'
import { promptOf } from '../../definitions/plan/plan-content.js'
import { microseconds } from '../scope.js'
import { openThread } from '../thread-row.js'
import { beginOperationOf } from './model-step.js'
import { stageItems } from './staged-items.js'

interface DrainHooks {
  /** The messages that hooks changed, by id. */
  readonly changed: ReadonlyMap<string, ChangedMessage>
  /** The messages that a hook refused, by their ids, with its id: they never get a place in the transcript. */
  readonly refused: ReadonlyMap<string, string>
  /** Commits the writes of the hooks; called after the delivery, in the same transaction. */
  readonly commit: (tx: Writer) => Promise<readonly ThreadOperation[]>
}

/** The result for a prompt without such hooks. */
export const NO_DRAIN_HOOKS: DrainHooks = { changed: new Map(), refused: new Map(), commit: async () => [] }

/** Runs the hooks. It costs nothing if the prompt has none. */
export async function runDrainHooks(
  dependencies: ActivityDependencies,
  input: CallModelInput,
  content: PlanContent,
): Promise<DrainHooks> {
  const { name: prompt, hooks: ids } = promptOf(content, input.side)
  if (ids.length === 0) return NO_DRAIN_HOOKS
  const name = input.toolFirst ? beginOperationOf(input).id : `drain_${input.run}_${input.step}`
  const batch = stepBatch(dependencies, {
    input,
    content,
    ids,
    promptPath: [prompt],
    name,
    recordsMissing: false,
  })
  const create = hasCreateHooks(batch) && input.drain.length > 0
  const first = batch.has('after_thread_created') && input.trigger !== null
  if (!create && !first) return NO_DRAIN_HOOKS
  const waiting = await readPending(dependencies, input, first)
  if (waiting === null) return NO_DRAIN_HOOKS
  if (waiting.isNew) await runThreadCreated(batch)
  const made = await hookMessages(batch, create ? waiting.messages : [])
  await batch.waitForWork()
  return {
    ...made,
    async commit(tx) {
      if (waiting.isNew) await markThreadCreated(tx, input.threadId, microseconds(input))
      return (await batch.commit(tx)).operations
    },
  }
}

interface PendingMessages {
  readonly messages: readonly Message[]
  readonly isNew: boolean
}

/** Null for a terminated thread. Items without a row get one here, because hooks take rows. */
async function readPending(
  { store }: ActivityDependencies,
  input: CallModelInput,
  first: boolean,
): Promise<PendingMessages | null> {
  return store.write(async (tx) => {
    if ((await openThread(tx, input)) === null) return null
    const messages = await readUndelivered(tx, input.threadId, await stageItems(tx, input))
    return { messages, isNew: first && (await isNewThread(tx, input)) }
  })
}

/** A hook that fails, or returns no value, refuses the message, because it may have had to mask or reject it. */
async function hookMessages(
  batch: HookBatch,
  messages: readonly Message[],
): Promise<Pick<DrainHooks, 'changed' | 'refused'>> {
  const changed = new Map<string, ChangedMessage>()
  const refused = new Map<string, string>()
  for (const message of messages) {
    const { value, failure } = await beforeCreate(batch, message, true)
    if (failure !== null) {
      refused.set(message.id, failure.hook)
      continue
    }
    if (value !== message) changed.set(message.id, value)
    await afterCreate(batch, value)
  }
  return { changed, refused }
}
