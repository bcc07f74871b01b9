/**
 * The messages of one thread as one call sees and changes them.
 *
 * Owns: what a call may inject, queue, change and delete; the checks of what it passes; the hooks around that; the commit.
 * Does not own: the buffer of the call and how messages are read with it (buffered-messages.ts), attachments
 * (file-members.ts), delivery and positions (store/messages).
 *
 * Invariants:
 * MS1: an injected message has its position from the commit on; a queued one has it when a step delivers it.
 * MS2: rows of the step in flight are not changed, because its outcome refers to them. From outside of a run this holds for
 *      the whole run, because the step in flight is not known there.
 * MS3: a full queue refuses a message while the code runs, and drops it with a warning at the commit.
 */

import { randomUUID } from 'node:crypto'

import type {
  InjectedMessage,
  MessageUpdates,
  QueuedMessage,
  ThreadState,
} from '../../definitions/thread-state.js'
import { fact } from '../../protocol/facts.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Message } from '../../protocol/message.js'
import { digestOf } from '../../store/digest.js'
import { appendMessage } from '../../store/messages/delivery.js'
import { messageOfDraft } from '../../store/messages/message-row.js'
import type { NewMessage } from '../../store/messages/message-row.js'
import {
  changeMessage,
  countUndelivered,
  findLiveMessage,
  stageMessage,
} from '../../store/messages/message-writes.js'
import { deleteMessage, removalFact } from '../../store/messages/queue.js'
import { findMessage, isMessageIdTaken } from '../../store/messages/transcript.js'
import type { Store, Writer } from '../../store/store.js'
import { lastRun } from '../../store/threads/runs.js'
import { findThread } from '../../store/threads/threads.js'
import { createBufferedMessages } from './buffered-messages.js'
import type { FilesOverlay } from './files.js'
import { createTurns, warnQueueFull, scopeOf, senderOf, rulesBroughtBy } from './journal.js'
import type { Journal, StateOrigin, Written } from './journal.js'
import { atNewPath, resolveAttachments } from './file-members.js'
import { jsonObjectCopy, kindOf } from './strict-json.js'
import type { Micros } from '../../protocol/time.js'

/** The members of `ThreadState` that are about messages. */
type MessageMembers = Pick<
  ThreadState,
  'getMessages' | 'getMessage' | 'injectMessage' | 'queueMessage' | 'updateMessage' | 'deleteMessage'
>

/** A thread's messages as one call sees them. */
interface MessagesOverlay extends MessageMembers {
  /** A silent message from a child of this thread. */
  readonly notify: (notice: ChildNotice) => Promise<void>
}

interface ChildNotice {
  readonly content: string
  /** The child's thread id. */
  readonly reference: string
}

interface MessagesOverlayOptions {
  readonly store: Store
  readonly threadId: string
  readonly files: FilesOverlay
  readonly journal: Journal
  readonly origin: StateOrigin
  /** The active prompt. */
  readonly prompt: string | null
  readonly now: Micros
  readonly hooks: BoundMessageHooks
}

export function createMessagesOverlay(options: MessagesOverlayOptions): MessagesOverlay {
  const { store, threadId, files, journal, origin, hooks } = options
  const buffered = createBufferedMessages({ store, threadId, originId: origin.id })
  const inTurn = createTurns()
  const common = { threadId, createdAt: options.now, sentBy: senderOf(origin) } as const

  async function queue(given: QueuedMessage, from: Partial<NewMessage>): Promise<void> {
    const checked = checkQueued(given)
    await assertQueueTakes(store, { threadId, added: buffered.countQueued() })
    const attachments = await resolveAttachments({ files, blobs: store.blobs }, given.attachments ?? [])
    const id = buffered.nextId()
    journal.add(async (tx, moved) => {
      const message = buffered.findAdded(id)
      return message === undefined ? {} : commitQueued(tx, { origin, message, moved })
    })
    const metadata = metadataOf(origin, checked.metadata)
    buffered.add('queued', { ...common, ...checked, ...from, id, attachments, metadata, status: 'pending' })
  }

  return {
    getMessages: (page = {}) => buffered.page(page),
    async getMessage(messageId) {
      const known = buffered.find(messageId)
      return known === undefined ? store.read((db) => findMessage(db, threadId, messageId)) : known
    },
    async injectMessage(given) {
      const checked = checkInjected(given)
      const { side, run, step } = origin
      const place = { side, run, step, prompt: options.prompt }
      const metadata = metadataOf(origin, checked.metadata)
      const made = { ...common, ...checked, ...place, metadata, id: buffered.nextId() }
      const message = hooks === null ? made : await runBeforeCreate(made, hooks)
      journal.add(async (tx) => {
        const kept = buffered.findAdded(message.id)
        return kept === undefined ? {} : commitInjected(tx, origin, kept)
      })
      buffered.add('injected', message)
      if (hooks !== null) await hooks.hooks.afterCreate(hooks.state(), messageOfDraft(message))
      return messageOfDraft(message)
    },
    queueMessage: (given) => inTurn(() => queue(given, {})),
    notify: ({ content, reference: subagentId }) =>
      inTurn(() => {
        const metadata = { subagent_id: subagentId }
        return queue({ role: 'user', content, silent: true, metadata }, { subagentId, sentBy: 'child' })
      }),
    ...createMessageChanges({ ...options, buffered }),
  }
}

/** The hooks of a prompt around messages that a tool injects or changes. A hook that throws rejects the message. */
export interface MessageHooks {
  readonly beforeCreate: (state: ThreadState, message: Message) => Promise<Message>
  readonly afterCreate: (state: ThreadState, message: Message) => Promise<void>
  readonly beforeUpdate: (
    state: ThreadState,
    messageId: string,
    updates: MessageUpdates,
  ) => Promise<MessageUpdates>
  readonly afterUpdate: (state: ThreadState, message: Message) => Promise<void>
}

/** The hooks with the state that they get; null if there are none, so that no promise is awaited for them. */
type BoundMessageHooks = {
  readonly hooks: MessageHooks
  readonly state: () => ThreadState
} | null

/** Runs the hooks before an injected message is created. @throws the error of a hook */
async function runBeforeCreate(
  message: NewMessage,
  { hooks, state }: NonNullable<BoundMessageHooks>,
): Promise<NewMessage> {
  const hooked = await hooks.beforeCreate(state(), messageOfDraft(message))
  return { ...message, ...checkInjected({ ...hooked, role: message.role } as never) }
}

interface MessageChangesOptions {
  readonly store: Store
  readonly threadId: string
  readonly journal: Journal
  readonly origin: StateOrigin
  readonly buffered: ReturnType<typeof createBufferedMessages>
  readonly hooks: BoundMessageHooks
}

/** Creates the members that change a message: one that the call added, or a stored row, with an event. */
function createMessageChanges(
  options: MessageChangesOptions,
): Pick<MessageMembers, 'updateMessage' | 'deleteMessage'> {
  const { threadId, journal, origin, buffered, hooks } = options

  function change(message: Message, updates: MessageUpdates): Message {
    const { id } = message
    const current = mergeUpdates(message, updates)
    journal.add(async (tx) => {
      if (!(await changeMessage(tx, { threadId, id, ...updates }))) return {}
      return { events: [fact('message.updated', {}, { ...scopeOf(origin), messageId: id })] }
    })
    buffered.change({ original: message, current })
    return current
  }

  async function apply(messageId: string, updates: MessageUpdates): Promise<Message> {
    const added = buffered.findAdded(messageId)
    if (added !== undefined) {
      const current = mergeUpdates(messageOfDraft(added), updates)
      const { content, silent, metadata } = current
      buffered.replace({ ...added, content, silent, metadata })
      return current
    }
    const stored = await findChangeable(options, messageId)
    if (stored === null)
      throw new Error(`Expected a message of this thread, got "${messageId}", which is none.`)
    return change(stored, updates)
  }

  return {
    async updateMessage(messageId, given) {
      const checked = checkUpdates(given)
      if (hooks === null) return apply(messageId, checked)
      const updates = checkUpdates(await hooks.hooks.beforeUpdate(hooks.state(), messageId, checked))
      const message = await apply(messageId, updates)
      await hooks.hooks.afterUpdate(hooks.state(), message)
      return message
    },
    async deleteMessage(messageId) {
      if (buffered.findAdded(messageId) !== undefined) {
        buffered.drop(messageId)
        return true
      }
      const stored = await findChangeable(options, messageId)
      if (stored === null) return false
      journal.add(async (tx) => {
        const what = await deleteMessage(tx, threadId, messageId)
        const about = { ...scopeOf(origin), messageId }
        if (what === 'removed')
          return { operations: [{ kind: 'remove_queued', id: messageId }], events: [removalFact(about)] }
        if (what === 'missing') return {}
        return { events: [fact('message.deleted', {}, about)] }
      })
      buffered.change({ original: stored, current: null })
      return true
    },
  }
}

/** Finds a stored message with the call's changes. @throws an error for a row of the step or run in flight (MS2) */
async function findChangeable(
  { store, threadId, origin, buffered }: MessageChangesOptions,
  messageId: string,
): Promise<Message | null> {
  const found = await store.read((db) => findLiveMessage(db, threadId, messageId))
  if (found === null) return null
  if (found.run !== null && found.run === origin.run && found.step === origin.step)
    throw new Error(
      `Expected a message of an earlier step, got "${messageId}", which belongs to the step in flight.`,
    )
  const fromOutside = origin.kind === 'relative' || origin.kind === 'endpoint'
  if (fromOutside && found.run !== null && found.run === (await findOpenRun(store, threadId)))
    throw new Error(
      `Expected a message of an earlier run, got "${messageId}", which belongs to the run in flight.`,
    )
  if (found.message.position === null && found.message.tool_calls !== null)
    throw new Error(`Expected a message, got "${messageId}", which holds a queued tool call.`)
  const changed = buffered.find(messageId)
  return changed === undefined ? found.message : changed
}

/** Finds the number of the run in flight. */
async function findOpenRun(store: Store, threadId: string): Promise<number | null> {
  const run = await store.read((db) => lastRun(db, threadId))
  return run === null || run.ended_at !== null ? null : run.number
}

function mergeUpdates(message: Message, { content, silent, metadata }: MessageUpdates): Message {
  return {
    ...message,
    ...(content === undefined ? {} : { content }),
    ...(silent === undefined ? {} : { silent }),
    ...(metadata === undefined ? {} : { metadata: { ...message.metadata, ...metadata } }),
  }
}

/** Appends an injected message to the transcript. */
async function commitInjected(tx: Writer, origin: StateOrigin, message: NewMessage): Promise<Written> {
  const id = await findFreeId(tx, message)
  await appendMessage(tx, { ...message, id })
  const scope = { ...scopeOf(origin), messageId: id }
  return { events: [fact('message.created', { role: message.role }, scope)] }
}

interface Queued {
  readonly origin: StateOrigin
  readonly message: NewMessage
  readonly moved: ReadonlyMap<string, string>
}

/** Stages a queued message; the outcome carries its id to the workflow (T2). */
async function commitQueued(tx: Writer, { origin, message, moved }: Queued): Promise<Written> {
  const attachments = message.attachments?.map((file) => atNewPath(file, moved)) ?? []
  const draft = { ...message, id: await findFreeId(tx, message), attachments }
  const brings = rulesBroughtBy(origin, message.threadId)
  const staged = await stageMessage(tx, { ...draft, digest: digestOf([draft.role, draft.content]), brings })
  const role = draft.role === 'assistant' ? 'assistant' : 'user'
  if (staged === 'staged') return { operations: [{ kind: 'queue_message', id: draft.id, role }] }
  // The queue has filled since the check (MS3). A terminated thread needs no warning.
  return staged === 'queue_full' ? { events: [warnQueueFull(origin, draft.id)] } : {}
}

/** Finds a free id: a client can guess ids of calls, and a message that it sent under one must not block the outcome. */
async function findFreeId(tx: Writer, { threadId, id }: NewMessage): Promise<string> {
  return (await isMessageIdTaken(tx, threadId, id)) ? randomUUID() : id
}

interface Queueing {
  readonly threadId: string
  /** The number of messages that the call has queued so far. */
  readonly added: number
}

/** Checks the queue while the code runs; the commit checks again (MS3). @throws an error that explains the refusal */
async function assertQueueTakes(store: Store, { threadId, added }: Queueing): Promise<void> {
  const [thread, waiting] = await store.read((db) =>
    Promise.all([findThread(db, threadId), countUndelivered(db, threadId)]),
  )
  if (thread === null || thread.terminate_requested_at !== null || thread.closed_at !== null)
    throw new Error(`Expected a thread that takes messages, got ${threadId}, which was terminated.`)
  if (added >= LIMITS.queuedByCall)
    throw new Error(`Expected at most ${LIMITS.queuedByCall} messages of one call, got another one.`)
  if (waiting + added >= LIMITS.queuedItems)
    throw new Error(
      `Expected at most ${LIMITS.queuedItems} queued messages, got another one: wait for an answer.`,
    )
}

/** A valid message. Its metadata is a copy, which later changes of the tool do not affect. */
interface CheckedMessage<Role extends string> {
  readonly role: Role
  readonly content: string
  readonly silent: boolean
  readonly metadata: Record<string, unknown> | null
}

/** @throws an error that explains what is wrong */
function checkInjected(message: InjectedMessage): CheckedMessage<InjectedMessage['role']> {
  return check(message, { call: 'injectMessage', roles: ['system', 'user', 'assistant'], mayBeEmpty: false })
}

/** Does not check the attachments, which `resolveAttachments` does. @throws an error that explains what is wrong */
function checkQueued(message: QueuedMessage): CheckedMessage<QueuedMessage['role']> {
  const { attachments } = asObject(message, 'queueMessage')
  if (attachments !== undefined && !Array.isArray(attachments))
    throw new Error(`Expected the attachments of queueMessage to be a list, got ${kindOf(attachments)}.`)
  const mayBeEmpty = attachments !== undefined && attachments.length > 0
  return check(message, { call: 'queueMessage', roles: ['user', 'assistant'], mayBeEmpty })
}

/** @throws an error that explains what is wrong */
function checkUpdates(updates: MessageUpdates): MessageUpdates {
  const { content, silent, metadata } = asObject(updates, 'updateMessage')
  if (content !== undefined && (typeof content !== 'string' || content === ''))
    throw new Error(`Expected the content of updateMessage to have text, got ${kindOf(content)}.`)
  if (silent !== undefined && typeof silent !== 'boolean')
    throw new Error(`Expected silent of updateMessage to be true or false, got ${kindOf(silent)}.`)
  return {
    ...(content === undefined ? {} : { content }),
    ...(silent === undefined ? {} : { silent }),
    ...(metadata == null ? {} : { metadata: { ...jsonObjectCopy(metadata, 'metadata') } }),
  }
}

interface Rules<Role> {
  readonly call: string
  readonly roles: readonly Role[]
  /** True only with attachments: providers refuse a message that has neither text nor files. */
  readonly mayBeEmpty: boolean
}

function check<Role extends string>(
  message: unknown,
  { call, roles, mayBeEmpty }: Rules<Role>,
): CheckedMessage<Role> {
  const { role, content, silent = false, metadata } = asObject(message, call)
  const known = roles.find((one) => one === role)
  if (known === undefined) {
    const came = typeof role === 'string' ? `"${role}"` : kindOf(role)
    throw new Error(`Expected the role of ${call} to be one of ${roles.join(', ')}, got ${came}.`)
  }
  if (typeof content !== 'string')
    throw new Error(`Expected the content of ${call} to be a text, got ${kindOf(content)}.`)
  if (content === '' && !mayBeEmpty)
    throw new Error(`Expected the content of ${call} to have text, got none.`)
  if (typeof silent !== 'boolean')
    throw new Error(`Expected silent of ${call} to be true or false, got ${kindOf(silent)}.`)
  const copy = metadata == null ? null : { ...jsonObjectCopy(metadata, 'metadata') }
  return { role: known, content, silent, metadata: copy }
}

function asObject(message: unknown, call: string): { readonly [field: string]: unknown } {
  if (typeof message === 'object' && message !== null) return { ...message }
  throw new Error(`Expected ${call} to get a message, got ${kindOf(message)}.`)
}

/** Returns the metadata of a message, which names the effect that wrote it. */
function metadataOf(
  origin: StateOrigin,
  given: Record<string, unknown> | null,
): Record<string, unknown> | null {
  if (origin.kind !== 'effect') return given
  return { ...given, scheduledEffect: { id: origin.id, name: origin.name } }
}
