/** Subscriptions to events that are posted to a URL: makes, lists, changes and removes them (`threads.webhooks`). */
import { randomUUID } from 'node:crypto'
import { urlProblem } from '../../egress/guarded-request.js'
import { ConfigError } from '../../protocol/errors.js'
import { placeOfEvent } from '../../protocol/ids.js'
import { LIMITS } from '../../protocol/limits.js'
import { nowMicros } from '../../protocol/time.js'
import { isName, isObject } from '../../protocol/values.js'
import {
  countWebhooks,
  deleteWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks,
  updateWebhook,
} from '../../store/webhooks/webhooks.js'
import type { WebhookRecord, WebhookState } from '../../store/webhooks/webhooks.js'
import { findThread } from '../../store/threads/threads.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { deliverWebhooks } from './deliver-webhooks.js'
import type { DeliverWebhooks } from './deliver-webhooks.js'
import { makeSecret } from './signature.js'

/** A subscription. Times are microseconds since 1970. */
export interface Webhook {
  readonly id: string
  readonly url: string
  /** Whose events it gets; null: those of all accounts, and of none. */
  readonly account: string | null
  /** The root of the tree whose events it gets; null: those of all threads. */
  readonly threadId: string | null
  /** The types of events that it gets; null: all. */
  readonly types: readonly string[] | null
  /** `failing`: it is tried again at `nextAttemptAt`. `paused`: nothing is posted until it is made active again. */
  readonly state: WebhookState
  /** Why the last attempt failed; null if it did not. */
  readonly error: string | null
  /** Failed attempts since the last success. */
  readonly attempts: number
  readonly failingSince: number | null
  readonly nextAttemptAt: number | null
  readonly createdAt: number
}

/** A new subscription. It gets the events that are written from now on. */
export interface NewWebhook {
  /** https, on the public internet; `egress.allow` of the client has the exceptions. */
  readonly url: string
  /** Only events of threads of this account. @default events of all threads, for an operator */
  readonly account?: string
  /** Only events of the tree of this root thread; it ends with the tree. */
  readonly threadId?: string
  /** Only events of these types, such as `run.completed`; `run.*` stands for all that begin so. @default all */
  readonly types?: readonly string[]
}

/** What of a webhook can be changed. */
export interface WebhookChange {
  readonly url?: string
  /** Null: all. */
  readonly types?: readonly string[] | null
  /** `active` goes on behind the last event that was delivered, at once. */
  readonly state?: 'active' | 'paused'
}

/** One page of webhooks, by id. */
export interface ListWebhooks {
  /** @default all */
  readonly account?: string
  /** At most so many; at most 500. @default 100 */
  readonly limit?: number
  /** Only those with a later id, for the next page. */
  readonly after?: string
}

/** Subscriptions to events. With `account` a call sees only webhooks of that account. */
export interface Webhooks {
  /**
   * Makes a subscription. Its secret, by which a receiver checks the signature, is returned this once.
   * @throws ConfigError; ThreadNotFoundError; StoreError `no_key` without EVERTHREAD_SECRET_KEY
   */
  create(webhook: NewWebhook): Promise<Webhook & { readonly secret: string }>
  /** @throws ConfigError */
  list(filter?: ListWebhooks): Promise<readonly Webhook[]>
  /** Null: there is none of that id. */
  get(id: string, owner?: WebhookOwner): Promise<Webhook | null>
  /** Changes it; null: there is none of that id. @throws ConfigError */
  update(id: string, change: WebhookChange, owner?: WebhookOwner): Promise<Webhook | null>
  /**
   * Posts the events from this one on again, in their order and under their ids, and goes on with those behind them; also for one that was
   * paused. `eventId`: as it was posted, of any thread whose events the webhook gets. Null: there is no webhook of that id.
   * @throws ConfigError for an event that it does not get, or that is deleted
   */
  redeliver(id: string, eventId: string, owner?: WebhookOwner): Promise<Webhook | null>
  /** Returns whether there was one of that id. */
  delete(id: string, owner?: WebhookOwner): Promise<boolean>
  /**
   * Posts the events of all webhooks of the store until `signal` aborts. Each `serveThreads` does so; call it in a process of your own
   * if you have no server. Any number of processes may: one at a time has a webhook.
   */
  deliver(options: DeliverWebhooks): Promise<void>
}

interface WebhookOwner {
  readonly account?: string
}

/** Webhooks of an account: each of them may get every event of its threads. */
const WEBHOOKS_OF_ACCOUNT = 100
const MOST_TYPES = 50
const TYPE = /^[a-z][a-z_]*(\.[a-z_]+)*(\.\*)?$/

export function webhooksOf(context: ClientContext): Webhooks {
  return {
    create: (webhook) => createWebhook(context, webhook),
    async list({ account, limit = 100, after = '' } = {}) {
      if (!Number.isInteger(limit) || limit < 1)
        throw new ConfigError([`Expected "limit" to be a whole number from 1, got ${String(limit)}.`])
      const page = { account: account ?? null, after, limit: Math.min(limit, LIMITS.longestPage) }
      const store = await context.store()
      return (await store.read((db) => listWebhooks(db, page))).map(toWebhook)
    },
    async get(id, owner) {
      const store = await context.store()
      return owned(await store.read((db) => findWebhook(db, id)), owner)
    },
    update: (id, change, owner) => changeWebhook(context, { id, change, owner }),
    redeliver: (id, eventId, owner) => redeliver(context, { id, eventId, owner }),
    async delete(id, owner) {
      const store = await context.store()
      return store.write(
        async (tx) => owned(await findWebhook(tx, id), owner) !== null && deleteWebhook(tx, id),
      )
    },
    deliver: (options) => deliverWebhooks(context, options),
  }
}

async function createWebhook(
  context: ClientContext,
  given: NewWebhook,
): Promise<Webhook & { secret: string }> {
  const problems = isObject(given)
    ? [
        ...[urlProblem(given.url, context.egress) ?? []].flat(),
        ...typesProblems(given.types),
        ...nameProblems('account', given.account),
        ...nameProblems('threadId', given.threadId),
      ]
    : [`Expected a webhook, got ${typeof given}.`]
  if (problems.length > 0) throw new ConfigError(problems)
  const { url, types = null, threadId = null } = given
  const store = await context.store()
  const secret = makeSecret()
  const { settled: cursor } = await store.readEventEnds()
  const record = await store.write(async (tx) => {
    const account = given.account ?? null
    if (threadId !== null) {
      const thread = await requireThread(tx, threadId)
      const problem = treeProblem(thread, account)
      if (problem !== undefined) throw new ConfigError([problem])
    }
    if ((await countWebhooks(tx, account)) >= WEBHOOKS_OF_ACCOUNT)
      throw new ConfigError([
        `Expected at most ${WEBHOOKS_OF_ACCOUNT} webhooks, got another one: delete one.`,
      ])
    const webhook = { id: `wh_${randomUUID()}`, account, thread_id: threadId, url, types, cursor }
    return insertWebhook(tx, store.secrets, { ...webhook, secret, now: nowMicros() })
  })
  return { ...toWebhook(record), secret }
}

function treeProblem(
  {
    id,
    root_thread_id: root,
    account,
  }: { readonly id: string; readonly root_thread_id: string; readonly account: string | null },
  owner: string | null,
): string | undefined {
  if (owner !== null && account !== owner)
    return `Expected "threadId" to be a thread of "${owner}", got another.`
  return root === id
    ? undefined
    : `Expected "threadId" to be the root of a tree, got a subagent: give "${root}".`
}

async function changeWebhook(
  context: ClientContext,
  {
    id,
    change,
    owner,
  }: { readonly id: string; readonly change: WebhookChange; readonly owner: WebhookOwner | undefined },
): Promise<Webhook | null> {
  const { url, types, state } = change
  const problems = [
    ...[url === undefined ? [] : (urlProblem(url, context.egress) ?? [])].flat(),
    ...(types === null ? [] : typesProblems(types)),
    ...(state === undefined || state === 'active' || state === 'paused'
      ? []
      : ['Expected "state" to be "active" or "paused", got another.']),
  ]
  if (problems.length > 0) throw new ConfigError(problems)
  const store = await context.store()
  return store.write(async (tx) => {
    if (owned(await findWebhook(tx, id), owner) === null) return null
    const patch = {
      ...(url !== undefined && { url }),
      ...(types !== undefined && { types }),
      ...(state !== undefined && { state }),
    }
    if (Object.keys(patch).length > 0) await updateWebhook(tx, id, patch)
    return owned(await findWebhook(tx, id), owner)
  })
}

/** Moves the position back to before the event. A delivery that holds the webhook holds it no more. */
async function redeliver(
  context: ClientContext,
  {
    id,
    eventId,
    owner,
  }: { readonly id: string; readonly eventId: string; readonly owner: WebhookOwner | undefined },
): Promise<Webhook | null> {
  const store = await context.store()
  const webhook = await store.read((db) => findWebhook(db, id))
  if (webhook === null || owned(webhook, owner) === null) return null
  const place = placeOfEvent(eventId)
  const thread = place === null ? null : await store.read((db) => findThread(db, place.threadId))
  const { account, thread_id: root } = webhook
  const isOthers =
    place === null ||
    thread === null ||
    (account !== null && thread.account !== account) ||
    (root !== null && thread.root_thread_id !== root)
  const cursor = isOthers ? null : await store.readCursorBefore(place)
  if (cursor === null)
    throw new ConfigError([
      `Expected the id of an event of a thread whose events the webhook gets, got ${JSON.stringify(eventId)}: take "eventId" of what was posted.`,
    ])
  return store.write(async (tx) => {
    await updateWebhook(tx, id, { cursor, state: 'active' })
    return owned(await findWebhook(tx, id), owner)
  })
}

/** A webhook of another account does not exist for an account. */
function owned(record: WebhookRecord | null, { account }: WebhookOwner = {}): Webhook | null {
  return record === null || (account !== undefined && record.account !== account) ? null : toWebhook(record)
}

function typesProblems(types: unknown): readonly string[] {
  if (types === undefined) return []
  const isList = Array.isArray(types) && types.length > 0 && types.length <= MOST_TYPES
  if (isList && types.every((type) => typeof type === 'string' && type.length <= 100 && TYPE.test(type)))
    return []
  return [
    `Expected "types" to be 1 to ${MOST_TYPES} types of events, such as "run.completed" or "run.*", got another.`,
  ]
}

function nameProblems(field: string, name: unknown): readonly string[] {
  if (name === undefined || isName(name)) return []
  return [`Expected "${field}" to be a text of 1 to ${LIMITS.threadIdLength} characters, got another.`]
}

function toWebhook(record: WebhookRecord): Webhook {
  return {
    id: record.id,
    url: record.url,
    account: record.account,
    threadId: record.thread_id,
    types: record.types,
    state: record.state,
    error: record.error,
    attempts: record.attempts,
    failingSince: record.failing_since,
    nextAttemptAt: record.next_attempt_at,
    createdAt: record.created_at,
  }
}
