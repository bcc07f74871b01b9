import type { Client } from '@temporalio/client'
import type { Registry } from '../definitions/known-definitions.js'
import type { AgentName } from '../definitions/registry.js'
import { exceptionsFor } from '../egress/addresses.js'
import type { OwnerBudgets } from '../policy/budget.js'
import type { Permissions } from '../policy/permissions.js'
import { ConfigError } from '../protocol/errors.js'
import { isPageAddress, SEARCH_ATTRIBUTES } from '../protocol/messages.js'
import { LIMITS } from '../protocol/limits.js'
import { shareStore } from '../store/open-store.js'
import { StoreError } from '../store/store-error.js'
import { taskQueueOf } from '../store/store-location.js'
import type { StoreOptions } from '../store/store-location.js'
import type { Store } from '../store/store.js'
import type { PermissionsOwner } from '../store/threads/owner-permissions.js'
import { COMMANDS, FACTS, FAMILIES, FAMILY_EVENTS, UNAVAILABLE } from '../views/capabilities.js'
import type { Capabilities } from '../views/capabilities.js'
import type { ClientContext, OnNotice } from './client-context.js'
import { connectLazily, listRegisteredSearchAttributes } from './connection.js'
import { createThread } from './create-thread.js'
import type { CreateThread } from './create-thread.js'
import { forkThread } from './forks/fork-thread.js'
import type { ForkThread } from './forks/fork-thread.js'
import { readGrants, revoke } from './lists/grants.js'
import type { Grant, GrantsFilter } from './lists/grants.js'
import { examine } from './doctor/examine.js'
import type { Examine, Finding } from './doctor/finding.js'
import {
  countThreadsByStatus,
  listAgentSummaries,
  findOwner,
  findSummary,
  listPendingPage,
  listThreadsPage,
  listPendingRequests,
  summarizeThreads,
} from './lists/list-threads.js'
import type {
  AgentSummary,
  ListPending,
  ListThreads,
  PageOptions,
  PendingPage,
  ThreadCounts,
  ThreadRequest,
  ThreadsPage,
  ThreadOwner,
  ThreadSummary,
} from './lists/list-threads.js'
import { loginsOf } from './lists/logins.js'
import type { Logins } from './lists/logins.js'
import { readOwnerBudgets, setOwnerBudgets } from './lists/budgets.js'
import { readOwnerPermissions, setOwnerPermissions } from './owner-permissions.js'
import { remoteCalls } from './remote-calls.js'
import type { RemoteCalls } from './remote-calls.js'
import { reopenThread } from './reopen-thread.js'
import type { ReopenThread } from './reopen-thread.js'
import { deleteThread } from './retention/delete-thread.js'
import type { DeletedThread, DeleteThread } from './retention/delete-thread.js'
import { sweepThreads } from './retention/sweep-threads.js'
import type { SweepThreads, SweptThreads } from './retention/sweep-threads.js'
import { createSessions } from './sessions/change-session.js'
import type { Sessions } from './sessions/change-session.js'
import { createThreadHandle } from './thread-handle.js'
import type { ThreadHandle } from './thread-handle.js'
import { warnOfNotice } from './waiting/notices.js'
import { webhooksOf } from './webhooks/webhooks.js'
import type { Webhooks } from './webhooks/webhooks.js'

/** Which Temporal, task queue and store a client uses; a field that is left out comes from the environment. */
export interface ThreadClientOptions {
  /** @default one by Temporal's environment configuration: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_PROFILE, … */
  readonly client?: Client
  /**
   * The task queue of the workers. @default EVERTHREAD_TASK_QUEUE, else `everthread-` with the id of the store, as for
   * the workers of that store
   */
  readonly taskQueue?: string
  /** The store of the workers. */
  readonly store?: StoreOptions
  /**
   * Receives within 3 s the reason why a thread does not go on while a call waits for it: no worker answers, no worker lists the
   * agent, an activity fails. @default a line on stderr
   */
  readonly onNotice?: OnNotice
  /**
   * What the search attribute `ThreadStatus` of the threads that this client creates says. `at_rest`: how the thread rests, or
   * that it waits for a person; while it works it keeps the status of its last rest. `always`: also that it works, for two more
   * Temporal actions a turn. `never`: it is not set. Subagents inherit it. Lists of `everthread` read the store, and need none of
   * this. @default 'at_rest'
   */
  readonly statusAttribute?: 'at_rest' | 'always' | 'never'
  /**
   * The address of the page for people, such as `https://threads.example.com`: the Temporal UI shows, of the threads that this client creates
   * and of their subagents, where the page has them. @default EVERTHREAD_PAGE_URL, else none
   */
  readonly pageUrl?: string
  /** Requests to URLs of others, such as the receivers of webhooks. */
  readonly egress?: EgressOptions
}

/** What requests to URLs of others may reach beside the public internet. */
export interface EgressOptions {
  /**
   * Names of hosts, addresses and networks (`receiver.internal`, `10.1.0.0/16`) of your own that may be reached, also by http.
   * @default EVERTHREAD_EGRESS_ALLOW, separated by commas; else none
   */
  readonly allow?: readonly string[]
}

/** @throws ConfigError */
function pageOf(given = process.env['EVERTHREAD_PAGE_URL'] ?? ''): string | undefined {
  if (given === '') return undefined
  if (isPageAddress(given)) return given
  throw new ConfigError([
    `Expected pageUrl or EVERTHREAD_PAGE_URL to be the http address of a page, without "#", got "${String(given)}".`,
  ])
}

const STATUS_ATTRIBUTE: readonly string[] = ['at_rest', 'always', 'never']

/** The context of a client, for the parts of this package that are no methods of it. */
export let contextOf: (client: ThreadClient) => ClientContext

/**
 * Threads for services: starts, steers and reads them. Connects and opens the store at its first call; `R` is the type of
 * a registry, of which nothing is loaded.
 */
export class ThreadClient<R extends Registry<string, string, unknown> = Registry> {
  readonly #options: ThreadClientOptions
  readonly #context: ClientContext
  #temporal: Client | undefined
  #store: Promise<Store> | undefined
  #searchAttributes: Promise<readonly string[]> | undefined
  readonly #calls = new Set<Promise<unknown>>()
  #closed = false

  static {
    contextOf = (client) => client.#context
  }

  /** @throws ConfigError */
  constructor(options: ThreadClientOptions = {}) {
    this.#options = options
    const { statusAttribute = 'at_rest' } = options
    if (!STATUS_ATTRIBUTE.includes(statusAttribute))
      throw new ConfigError([
        `Expected statusAttribute to be one of ${STATUS_ATTRIBUTE.join(', ')}, got "${String(statusAttribute)}".`,
      ])
    this.#temporal = options.client
    this.#context = {
      taskQueue: () => this.taskQueue(),
      onNotice: options.onNotice ?? warnOfNotice,
      storesStops: true,
      pageUrl: pageOf(options.pageUrl),
      egress: exceptionsFor(options.egress?.allow),
      store: () => this.#openStore(),
      temporal: () => this.temporal,
      call: (patience, work) => this.#call(patience, work),
      searchAttributes: (threadId) => this.#lookForSearchAttributes(threadId),
    }
  }

  /** Temporal's client, for lists, histories and schedules. @throws ConfigError */
  get temporal(): Client {
    return (this.#temporal ??= connectLazily())
  }

  /** The id of the store, which ties threads to it: opens the store. @throws ConfigError, StoreError */
  async storeId(): Promise<string> {
    return (await this.#openStore()).id
  }

  /**
   * The task queue on which threads are started and which workers have to poll: opens the store. @throws ConfigError,
   * StoreError
   */
  async taskQueue(): Promise<string> {
    return taskQueueOf(await this.storeId(), this.#options.taskQueue)
  }

  /**
   * Creates a thread, or finds the one with that id, and sends its first message once.
   * @throws ConfigError for options that are not valid; ThreadConflictError; what `ThreadHandle.send` throws
   */
  async create(options: CreateThread<AgentName<R>>): Promise<ThreadHandle<R>> {
    return this.get(await createThread(this.#context, options))
  }

  /**
   * Makes a new thread with the transcript of another one up to a message, and the files, values and variables that it has now. What
   * runs in the other goes on there; the new one waits for a message. Also of a closed or archived thread.
   * @throws ConfigError; ThreadNotFoundError, MessageNotFoundError; ThreadConflictError for a subagent, for a message that is queued,
   * for one that is no message to answer again, and for another thread of that id; what `ThreadHandle.send` throws
   */
  async fork(threadId: string, options: ForkThread = {}): Promise<ThreadHandle<R>> {
    return this.get((await forkThread(this.#context, threadId, options)).threadId)
  }

  /** Returns the handle of a thread without a call. */
  get(threadId: string): ThreadHandle<R> {
    return createThreadHandle<R>(this.#context, threadId)
  }

  /**
   * Starts a thread that is `lost` again, from its rows: what was in flight has failed, and the run goes on.
   * @throws ThreadConflictError when it is not lost; ThreadTerminatedError, ThreadNotFoundError
   */
  async reopen(threadId: string, options: ReopenThread = {}): Promise<ThreadHandle<R>> {
    await reopenThread(this.#context, threadId, options)
    return this.get(threadId)
  }

  /**
   * Deletes a thread and all threads below it for good: rows, files and histories. A repeated call finishes an interrupted
   * deletion; where no thread is left it does nothing. @throws ThreadConflictError for a tree that is open
   */
  deleteThread(threadId: string, options: DeleteThread = {}): Promise<DeletedThread> {
    return deleteThread(this.#context, threadId, options)
  }

  /**
   * Deletes trees that closed or were archived long ago, ends sessions that nobody uses, and deletes blobs, errors and plans that no
   * thread uses any more. Nothing of that happens by itself: let a scheduler call it each day. @throws ConfigError
   */
  sweep(options: SweepThreads = {}): Promise<SweptThreads> {
    return sweepThreads(this.#context, options)
  }

  /** Compares store and Temporal, thread by thread; with `fix` it repairs what can be repaired without loss. */
  doctor(options: Examine = {}): AsyncIterable<Finding> {
    return examine(this.#context, options)
  }

  /** Lists threads from the store, the newest activity first. */
  list(filter: ListThreads = {}): AsyncIterable<ThreadSummary> {
    return summarizeThreads(this.#context, filter)
  }

  /** As `list`, a page at a time, for callers that return with a cursor. @throws ConfigError for an invalid cursor */
  page(filter: ListThreads = {}, options: PageOptions = {}): Promise<ThreadsPage> {
    return listThreadsPage(this.#context, filter, options)
  }

  /** Counts threads by status, in the store; of more than 10,000 those with the newest activity. */
  counts(filter: ListThreads = {}): Promise<ThreadCounts> {
    return countThreadsByStatus(this.#context, filter)
  }

  /** Reads a thread from the store; null if there is none. */
  find(threadId: string): Promise<ThreadSummary | null> {
    return findSummary(this.#context, threadId)
  }

  /** Reads to whom a thread belongs, in one statement, before a caller gets anything of it; null if there is none. */
  owner(threadId: string): Promise<ThreadOwner | null> {
    return findOwner(this.#context, threadId)
  }

  /** Lists the open requests of all threads from the store, the oldest first. */
  pending(filter: ListPending = {}): AsyncIterable<ThreadRequest> {
    return listPendingRequests(this.#context, filter)
  }

  /** As `pending`, a page at a time. @throws ConfigError for an invalid cursor */
  pendingPage(filter: ListPending = {}, options: PageOptions = {}): Promise<PendingPage> {
    return listPendingPage(this.#context, filter, options)
  }

  /** Lists the approvals that people wanted remembered and that are not revoked, by id. @throws ConfigError, ThreadNotFoundError */
  grants(filter: GrantsFilter = {}): Promise<readonly Grant[]> {
    return readGrants(this.#context, filter)
  }

  /**
   * Revokes a grant, for calls that are judged from now on. Returns false if there is none of that id, or none of `account` if
   * one is given.
   */
  revokeGrant(id: string, { account }: { readonly account?: string } = {}): Promise<boolean> {
    return revoke(this.#context, { id, account })
  }

  /**
   * Sets rules of an account or a user: they hold for all of its threads, also for the next call of those that run, and can make
   * other rules stricter, and never weaker. Null removes them. @throws ConfigError
   */
  setPermissions(owner: PermissionsOwner, permissions: Permissions | null): Promise<void> {
    return setOwnerPermissions(this.#context, owner, permissions)
  }

  /**
   * Replaces the budgets of an account, or of a user of it (without `account`: of threads without one), in all and for each hour, day and
   * month. They hold for the next call, also of threads that run. Null removes them; what was used is kept. @throws ConfigError
   */
  setBudgets(owner: PermissionsOwner, budgets: OwnerBudgets | null): Promise<void> {
    return setOwnerBudgets(this.#context, owner, budgets)
  }

  /** Reads the budgets that `setBudgets` has set for this account or user; null: none. @throws ConfigError */
  budgets(owner: PermissionsOwner): Promise<OwnerBudgets | null> {
    return readOwnerBudgets(this.#context, owner)
  }

  /** Reads the rules that `setPermissions` has set for this account or user; null: none. @throws ConfigError */
  permissions(owner: PermissionsOwner): Promise<Permissions | null> {
    return readOwnerPermissions(this.#context, owner)
  }

  /** The logins of people at sources of tools, without what they hold. */
  get logins(): Logins {
    return loginsOf(this.#context)
  }

  /** Sessions: root threads with all threads below them, their titles, tags and metadata, their states, and what ends or keeps them. */
  get sessions(): Sessions {
    return createSessions(this.#context)
  }

  /** Lists by name the agents that workers run, from the store: workers write them there when they start. */
  agents(): AsyncIterable<AgentSummary> {
    return listAgentSummaries(this.#context)
  }

  /** What this runtime has of the capabilities that others name, and what it has not, with the reasons. */
  capabilities(): Capabilities {
    return {
      families: FAMILIES,
      facts: FACTS,
      commands: COMMANDS,
      events: FAMILY_EVENTS,
      unavailable: UNAVAILABLE,
    }
  }

  /** The calls of workers in other languages, as the HTTP server offers them. */
  get remoteCalls(): RemoteCalls {
    return remoteCalls(this.#context)
  }

  /** Subscriptions to events, which are posted to a URL. */
  get webhooks(): Webhooks {
    return webhooksOf(this.#context)
  }

  /** Closes the store, and the connection unless the caller passed its own client. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    // A store that could not be opened needs no closing.
    const store = await this.#store?.catch(() => undefined)
    await store?.close()
    // A retry that wakes up on a closed connection would end the process.
    await Promise.allSettled(this.#calls)
    if (this.#options.client === undefined) await this.#temporal?.connection.close()
  }

  #openStore(): Promise<Store> {
    if (this.#closed)
      throw new StoreError('closed', 'Expected an open ThreadClient, got one that was closed: make a new one')
    this.#store ??= this.#again(shareStore(this.#options.store), () => (this.#store = undefined))
    return this.#store
  }

  async #lookForSearchAttributes(threadId: string): ReturnType<ClientContext['searchAttributes']> {
    const { statusAttribute } = this.#options
    const look = () => listRegisteredSearchAttributes(this.temporal, threadId)
    this.#searchAttributes ??= this.#again(
      this.#call(LIMITS.temporalCall, look),
      () => (this.#searchAttributes = undefined),
    )
    const names = await this.#searchAttributes
    const searchAttributes =
      statusAttribute === 'never' ? names.filter((name) => name !== SEARCH_ATTRIBUTES.status) : names
    return { searchAttributes, ...(statusAttribute === 'always' && { showsWork: true }) }
  }

  async #call<T>(patience: number, work: () => Promise<T>): Promise<T> {
    const call = this.temporal.withDeadline(Date.now() + patience, work)
    this.#calls.add(call)
    try {
      return await call
    } finally {
      this.#calls.delete(call)
    }
  }

  /** Forgets a failed trial, so that the next call tries again. */
  #again<T>(trial: Promise<T>, forget: () => void): Promise<T> {
    trial.catch(forget)
    return trial
  }
}
