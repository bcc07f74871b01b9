import type { JsonObject } from '../../src/protocol/values.js'
import { insertRequest } from '../../src/store/calls/requests.js'
import type { NewRequest } from '../../src/store/calls/requests.js'
import { insertToolCalls } from '../../src/store/calls/tool-calls.js'
import { appendMessage } from '../../src/store/messages/delivery.js'
import { insertOperation } from '../../src/store/operations.js'
import type { Store } from '../../src/store/store.js'

export interface AskedRequest extends Partial<NewRequest> {
  readonly thread: string
  /** Null: no call asks. @default arguments of a refund */
  readonly args?: string | null
}

/** The rows of a request as the activity that asks writes them; answers its id. */
export async function askRequest(store: Store, { thread, args, ...request }: AskedRequest): Promise<string> {
  const callId = 'call_1_1_0'
  const id = request.id ?? `approval_${callId}`
  const calls = args !== null
  const text = args ?? '{"orderId":"A-17"}'
  const shown = calls && request.kind !== 'call' ? { detail: detailOf(text) } : {}
  await store.write(async (tx) => {
    if (calls) await insertCall(tx, { thread, callId, args: text })
    await insertRequest(tx, {
      thread_id: thread,
      id,
      kind: 'approval',
      requested_at: 5_000,
      ...(calls && { call_id: callId, tool_name: 'refund_order' }),
      ...shown,
      ...request,
    })
  })
  return id
}

/** As `requestApproval` writes it for a tool that says nothing more. */
function detailOf(text: string) {
  const args = JSON.parse(text) as JsonObject
  return { kind: 'tool', arguments: args, approval: {}, requester: null } as const
}

type Writer = Parameters<Parameters<Store['write']>[0]>[0]

async function insertCall(
  tx: Writer,
  { thread, callId, args }: { thread: string; callId: string; args: string },
): Promise<void> {
  const messageId = `message-of-${thread}`
  await appendMessage(tx, {
    id: messageId,
    threadId: thread,
    role: 'assistant',
    content: null,
    createdAt: 1,
    sentBy: 'model',
  })
  const ids = { thread_id: thread, id: callId, message_id: messageId, provider_call_id: 'p' }
  const place = { run: 1, step: 1, call_index: 0, side: 'a' } as const
  await insertToolCalls(tx, [{ ...ids, ...place, name: 'refund_order', arguments: args }])
  await insertOperation(tx, {
    thread_id: thread,
    id: callId,
    kind: 'tool',
    state: 'waiting',
    attempt: 1,
    started_at: 1,
  })
}
