import type { ActivityDependencies } from '../../src/activities/activity.js'
import { deliverReport } from '../../src/activities/subagents/deliver-report.js'
import type { DeliverReportAnswer, DeliverReportInput } from '../../src/protocol/end-activities.js'
import type { Message } from '../../src/protocol/message.js'
import { finishToolCall, insertToolCalls } from '../../src/store/calls/tool-calls.js'
import type { SessionCall } from '../../src/store/calls/tool-calls.js'
import type { StoredEvent } from '../../src/store/event-rows.js'
import { readEvents } from '../../src/store/events.js'
import { putFile } from '../../src/store/files/files.js'
import { appendMessage } from '../../src/store/messages/delivery.js'
import type { NewMessage } from '../../src/store/messages/message-row.js'
import { listMessages } from '../../src/store/messages/transcript.js'
import type { Store } from '../../src/store/store.js'
import { findChild, insertChild } from '../../src/store/threads/children.js'
import type { ChildRecord, NewChild } from '../../src/store/threads/children.js'
import { insertThread, updateThread } from '../../src/store/threads/threads.js'
import { attempt, NOW } from './activity-desk.js'

/** A thread `c` below `t`, as its parent's registry knows it. */
export async function addChild(
  store: Store,
  { reference = 'c', parent_thread_id: parent = 't', agent = 'pair', ...row }: Partial<NewChild> = {},
): Promise<void> {
  await store.write(async (tx) => {
    const depth = parent === 't' ? 1 : 2
    const above = { parent_thread_id: parent, parent_call_id: 'call', root_thread_id: 't', depth }
    await insertThread(tx, { id: reference, agent, created_at: NOW * 1000, ...above })
    await insertChild(tx, {
      ...{ parent_thread_id: parent, reference, call_id: 'call', agent, name: agent, status: 'running' },
      ...{ description: 'Looks', resumable: true, blocking: true, created_at: NOW * 1000 },
      ...row,
    })
  })
}

/** The desk's own thread `t` as the child of `p`, which it tells nothing by itself. */
export async function becomeChild(store: Store): Promise<void> {
  await store.write(async (tx) => {
    await insertThread(tx, { id: 'p', agent: 'clerk', created_at: NOW })
    await updateThread(tx, 't', { parent_thread_id: 'p' })
    await insertChild(tx, {
      ...{ parent_thread_id: 'p', reference: 't', call_id: 'call', agent: 'clerk', name: 'Clerk' },
      ...{ description: '', resumable: true, blocking: false, created_at: NOW, status: 'running' },
      parent_communication: 'explicit',
    })
  })
}

/** As the child's workflow asks for it: a session that its session tool `call_1` has ended, for the parent's call. */
function reportInput(patch: Partial<DeliverReportInput> = {}): DeliverReportInput {
  return {
    ...{ level: 1, threadId: 'c', now: NOW, run: 1, facts: [], report: 1 },
    parent: { threadId: 't', callId: 'call' },
    invocations: ['call'],
    closes: false,
    kind: 'result',
    reason: 'session_stop',
    sessionCall: 'call_1',
    ...patch,
  }
}

export function deliver(
  dependencies: ActivityDependencies,
  patch: Partial<DeliverReportInput> = {},
): Promise<DeliverReportAnswer> {
  return attempt().run((given: DeliverReportInput) => deliverReport(dependencies, given), reportInput(patch))
}

/** The call `call_1` of a session tool of `c`, with what it gave. */
export async function endSession(
  store: Store,
  {
    kind = 'stop',
    message = 'Found it.',
    paths = [],
  }: { kind?: SessionCall['kind']; message?: string; paths?: string[] } = {},
): Promise<void> {
  const attachments = paths.map((path) => {
    const name = path.slice(path.lastIndexOf('/') + 1)
    return { id: path, type: 'file', path, name, mimeType: 'text/plain', size: 5 } as const
  })
  await store.write(async (tx) => {
    const call = { thread_id: 'c', id: 'call_1', message_id: 'none', run: 1, step: 1, call_index: 0 } as const
    await insertToolCalls(tx, [
      { ...call, side: 'a', name: 'close_case', provider_call_id: '', arguments: '{}' },
    ])
    const session = { kind, message, attachments }
    await finishToolCall(tx, { threadId: 'c', callId: 'call_1', status: 'succeeded', session, now: NOW })
  })
}

export async function writeText(store: Store, path: string, threadId = 't', text = 'bytes'): Promise<void> {
  const { digest: blob, size } = await store.blobs.write(Buffer.from(text))
  await store.write((tx) => putFile(tx, { threadId, path, mimeType: 'text/plain', size, blob, now: NOW }))
}

/** What a side of `c` said in run 1, unless something else is given. */
export async function say(store: Store, content: string, patch: Partial<NewMessage> = {}): Promise<void> {
  const id = `said ${content}`
  const place = { threadId: 'c', createdAt: NOW, sentBy: 'model', side: 'a', run: 1, step: 1 } as const
  await store.write((tx) => appendMessage(tx, { id, role: 'assistant', content, ...place, ...patch }))
}

export async function messagesOf(store: Store, threadId: string): Promise<readonly Message[]> {
  return (await store.read((db) => listMessages(db, { threadId, limit: 100, includeSilent: true }))).messages
}

export function eventsOf(store: Store, threadId: string): Promise<readonly StoredEvent[]> {
  return store.read((db) => readEvents(db, { threadId, after: 0, limit: 100 }))
}

export function registered(store: Store, reference = 'c', parent = 't'): Promise<ChildRecord | null> {
  return store.read((db) => findChild(db, parent, reference))
}
