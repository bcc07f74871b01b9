import { randomUUID } from 'node:crypto'

import type { EventScope, Fact } from '../../protocol/facts.js'
import { runIdOf, stepIdOf } from '../../protocol/ids.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import type { Side } from '../../protocol/plan.js'
import { appendMessage } from '../../store/deliver-messages.js'
import { digestOf } from '../../store/digest.js'
import type { NewMessage } from '../../store/message-row.js'
import { isMessageIdTaken } from '../../store/read-messages.js'
import { stageMessage } from '../../store/stage-message.js'
import type { Writer } from '../../store/store.js'
import { atNewPath } from './moved-attachment.js'

/** The call that messages are made by. */
export interface CallOrigin {
  readonly threadId: string
  readonly callId: string
  readonly run: number
  readonly step: number
  readonly side: Side
  /** The active prompt. */
  readonly prompt: string | null
  /** Microseconds. */
  readonly now: number
}

export interface MessageEffects {
  /** Staged messages, in order. */
  readonly operations: readonly ThreadOperation[]
  readonly events: readonly Fact[]
}

export interface AddedByCall {
  readonly origin: CallOrigin
  readonly injected: readonly NewMessage[]
  readonly queued: readonly NewMessage[]
  readonly moved: ReadonlyMap<string, string>
}

/** Gives the injected messages their places and stages the queued ones, each in the order of the calls. */
export async function commitMessages(
  tx: Writer,
  { origin, injected, queued, moved }: AddedByCall,
): Promise<MessageEffects> {
  const events: Fact[] = []
  const operations: ThreadOperation[] = []
  for (const message of injected) {
    const id = await freeId(tx, message.id)
    await appendMessage(tx, { ...message, id })
    events.push({ type: 'message.created', scope: scopeOf(origin, id), payload: { role: message.role } })
  }
  for (const message of queued) {
    const attachments = message.attachments?.map((file) => atNewPath(file, moved)) ?? []
    const draft = { ...message, id: await freeId(tx, message.id), attachments }
    const staged = await stageMessage(tx, { ...draft, digest: digestOf([draft.role, draft.content]) })
    if (staged === 'staged')
      operations.push({
        kind: 'queue_message',
        id: draft.id,
        role: draft.role === 'assistant' ? 'assistant' : 'user',
      })
    // Others filled the queue since the tool asked; on a terminated thread nobody waits for it.
    if (staged === 'queue_full') events.push(lost(scopeOf(origin, draft.id)))
  }
  return { operations, events }
}

/** Ids of calls can be guessed, and a message of that id would keep the call's outcome from being stored for ever. */
async function freeId(tx: Writer, id: string): Promise<string> {
  return (await isMessageIdTaken(tx, id)) ? `${id}:${randomUUID()}` : id
}

function scopeOf({ run, step, callId }: CallOrigin, messageId: string): EventScope {
  return { runId: runIdOf(run), stepId: stepIdOf(run, step), toolCallId: callId, messageId }
}

function lost(scope: EventScope): Fact {
  return {
    type: 'runtime.warning',
    scope,
    payload: {
      code: 'queue_full',
      message: 'A message that a tool queued was dropped: the queue of its thread is full.',
    },
  }
}
