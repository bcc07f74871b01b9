import { randomUUID } from 'node:crypto'
import type { ExpireChildAnswer, ExpireChildInput } from '../../protocol/end-activities.js'
import { fact } from '../../protocol/facts.js'
import { closeRequests } from '../../store/calls/requests.js'
import type { PendingRecord } from '../../store/calls/requests.js'
import { appendEvents } from '../../store/events.js'
import { stageMessage } from '../../store/messages/message-writes.js'
import type { Writer } from '../../store/store.js'
import { findChild, findChildName, saveReport, updateChild } from '../../store/threads/children.js'
import { closeThread } from '../../store/threads/thread-closing.js'
import { withHeartbeats } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import { lookUp, record, unstoredFacts } from '../operation.js'
import { microseconds } from '../scope.js'
import { openThread } from '../thread-row.js'
import { failureText } from './report-text.js'
import type { Micros } from '../../protocol/time.js'

/**
 * The activity `expireChild`: closes a deferred subagent whose variables did not arrive in time, before it ever ran, and
 * stages a failure for its parent (T7). It does nothing if the request has closed, and takes effect once.
 */
export async function expireChild(
  { store }: ActivityDependencies,
  input: ExpireChildInput,
): Promise<ExpireChildAnswer> {
  return withHeartbeats(() =>
    store.write(async (tx): Promise<ExpireChildAnswer> => {
      const { threadId, requestId } = input
      const found = await lookUp<ExpireChildAnswer>(tx, { threadId, id: `expire_${requestId}` })
      if (found.kind === 'answered') return found.answer
      const now = microseconds(input)
      await appendEvents(tx, { threadId, events: await unstoredFacts(tx, input), now })
      const answer = { type: 'expired', messageId: await expire(tx, input) } as const
      await record(tx, found, { kind: 'expire', place: {}, answer, now })
      return answer
    }),
  )
}

async function expire(tx: Writer, input: ExpireChildInput): Promise<string | null> {
  const { threadId, requestId, reference } = input
  const now = microseconds(input)
  // T8: a terminated thread closes its requests and its children itself.
  if ((await openThread(tx, { threadId, start: null, createdAt: 0 })) === null) return null
  const [request] = await closeRequests(tx, { threadId, ids: [requestId] })
  if (request === undefined) return null
  const text = `It never started: these variables were not supplied in time: ${missingOf(request)}.`
  await closeChild(tx, { threadId, reference, text, now })
  const name = await findChildName(tx, { reference }, await findChild(tx, threadId, reference))
  const messageId = randomUUID()
  const message = { id: messageId, threadId, role: 'user', content: failureText(reference, text) } as const
  const about = { silent: true, subagentId: reference, sentBy: 'runtime', digest: '' } as const
  const brings = { child: { parentThreadId: threadId, reference } }
  await stageMessage(tx, { ...message, ...about, createdAt: now, brings })
  const resolved = { requestId, kind: 'variables', decision: 'expired', by: null } as const
  const scope = { childId: reference, messageId }
  const events = [
    fact('action.resolved', resolved, { childId: reference }),
    fact('subagent.failed', { reference, name, reason: 'env_required' }, scope),
  ]
  await appendEvents(tx, { threadId, events, now })
  return messageId
}

interface Closing {
  readonly threadId: string
  readonly reference: string
  readonly text: string
  readonly now: Micros
}

async function closeChild(tx: Writer, { threadId, reference, text, now }: Closing): Promise<void> {
  const key = { parentThreadId: threadId, reference }
  const status = 'failed'
  await saveReport(tx, { ...key, number: 1, report: { kind: 'failure', text, attachments: [] }, status })
  await updateChild(tx, key, { closed_at: now, status })
  await closeThread(tx, { threadId: reference, outcome: status, reason: 'env_required', now })
}

function missingOf({ detail }: PendingRecord): string {
  const missing = detail?.['missing']
  return Array.isArray(missing) ? missing.join(', ') : ''
}
