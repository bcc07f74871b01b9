import type { WorkflowHandle } from '@temporalio/client'
import type { Caller } from '../policy/approval.js'
import type { RunContext } from '../policy/run-context.js'
import type { Registry } from '../definitions/known-definitions.js'
import type { RunOutput, ToolInput, ToolName } from '../definitions/registry.js'
import type { ThreadEvent } from '../protocol/events.js'
import type { Message } from '../protocol/message.js'
import { MessageRejectedError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import { SIGNALS } from '../protocol/messages.js'
import type { Continue } from '../protocol/messages.js'
import type { ThreadUsage } from '../protocol/status.js'
import { halfCharacterProblem, withoutUndefined } from '../protocol/values.js'
import type { ViewName } from '../views/views.js'
import { listMessages } from '../store/messages/transcript.js'
import type { Answer } from './answers/check-answer.js'
import { findPendingRequest } from './answers/pending-request.js'
import type { PendingRequest } from './answers/pending-request.js'
import { respond } from './answers/respond.js'
import type { Answered } from './answers/respond.js'
import { setVariables } from './answers/set-variables.js'
import { requireOpenThread } from '../store/threads/open-threads.js'
import { requireThread } from './client-context.js'
import type { ClientContext } from './client-context.js'
import { followEvents } from './events/follow-events.js'
import { streamEvents } from './events/event-stream.js'
import type { FollowWithSnapshot, SnapshotUpdated } from './events/event-stream.js'
import type { FollowEvents } from './events/follow-events.js'
import { followView } from './events/follow-view.js'
import type { ViewedEvent } from './events/follow-view.js'
import { forkThread } from './forks/fork-thread.js'
import { listDecisions } from './lists/decisions.js'
import type { DecisionsOptions, RecordedDecision } from './lists/decisions.js'
import { listRecordedErrors } from './lists/recorded-errors.js'
import type { ErrorsOptions, RecordedError } from './lists/recorded-errors.js'
import type { PageOptions } from './lists/list-threads.js'
import { createThreadFiles } from './lists/thread-files.js'
import type { ThreadFiles } from './lists/thread-files.js'
import { readThreadBudget } from './lists/budgets.js'
import type { BudgetState } from '../store/budgets/budget-state.js'
import { readThreadPermissions } from './lists/thread-permissions.js'
import type { PermissionSummary } from './lists/thread-permissions.js'
import { readThreadRouting } from './lists/thread-routing.js'
import type { RoutingSummary } from './lists/thread-routing.js'
import { readThreadTools } from './lists/thread-tools.js'
import type { ThreadTools } from './lists/thread-tools.js'
import { readTree } from './lists/thread-tree.js'
import type { ThreadTree } from './lists/thread-tree.js'
import { readThreadContext } from './lists/run-context.js'
import { readUsage } from './lists/thread-usage.js'
import type { UsageOptions } from './lists/thread-usage.js'
import { cancelMessage, promoteQueued, removeQueued, stopThread } from './messages/steer.js'
import type { Cancelled, Stopped, StopOptions } from './messages/steer.js'
import { compactContext } from './messages/compact-context.js'
import type { CompactionRequested, CompactOptions } from './messages/compact-context.js'
import { queueTool } from './messages/queue-tool.js'
import { readCall } from './messages/read-call.js'
import type { ToolCallRead } from './messages/read-call.js'
import { readMessage } from './messages/read-message.js'
import type { MessageRead } from './messages/read-message.js'
import { sendMessage } from './messages/send-message.js'
import type { NewMessage, SentMessage } from './messages/send-message.js'
import { carryOut, commandIdFor } from './once.js'
import { readSnapshot } from './read-snapshot.js'
import { readModel } from './reads/read-model.js'
import type { ThreadReadModel } from './reads/read-model.js'
import { readResult } from './reads/run-result.js'
import type { RunResult } from './reads/run-result.js'
import { readArtifacts } from './reads/thread-artifacts.js'
import type { ArtifactsOptions, ThreadArtifacts } from './reads/thread-artifacts.js'
import { readBoundaries } from './reads/thread-boundaries.js'
import type { BoundariesOptions, ContextBoundary } from './reads/thread-boundaries.js'
import { readChildren } from './reads/thread-children.js'
import type { ChildrenPage } from './reads/thread-children.js'
import { readDiagnostics } from './reads/thread-diagnostics.js'
import type { ThreadDiagnostics } from './reads/thread-diagnostics.js'
import { readQueue } from './reads/thread-queue.js'
import type { QueueOptions, ThreadQueue } from './reads/thread-queue.js'
import type { ThreadSnapshot } from './read-snapshot.js'
import { terminateThread } from './terminate-thread.js'
import { signalThread } from './thread-workflow.js'
import { createThreadUIMessages } from './thread-ui-messages.js'
import type { ThreadUIMessages } from './thread-ui-messages.js'
import { waitUntilIdle } from './waiting/wait-until-idle.js'
import type { WaitUntilIdle } from './waiting/wait-until-idle.js'

/** The rows of a transcript that `messages()` returns. */
export interface MessagesOptions {
  /** @default 100 */
  readonly limit?: number
  /** Only positions below this one, the newest of them. */
  readonly before?: number
  /** Only positions above this one, the oldest of them. */
  readonly after?: number
  /** @default false */
  readonly includeSilent?: boolean
  /** @default 0 */
  readonly maxDepth?: number
}

/**
 * One thread. Making a handle makes no call: a thread that does not exist is found out by the first call that needs it. `R`
 * is the type of a registry: it names the tools and their arguments.
 */
export interface ThreadHandle<R extends Registry<string, string, unknown> = Registry>
  extends ThreadFiles, ThreadUIMessages {
  readonly threadId: string
  /** Temporal's own handle, for describe(), fetchHistory() and its other methods. */
  readonly workflow: WorkflowHandle
  /**
   * The same thread, whose next command is carried out once under this key: repeated with the same content, by any process and whatever
   * died in between, it has no further effect and gets the same answer; with other content it is refused. A key belongs to one
   * command of one thread, for as long as the thread is kept. `respond` needs none: a request takes one answer.
   * @throws MessageRejectedError for a key that is no text of 1 to 128 characters; the command, ThreadConflictError
   */
  once(key: string): ThreadHandle<R>
  /**
   * The message is accepted when this returns: it is kept and delivered once, even while no worker runs.
   * @throws MessageRejectedError, ThreadConflictError, ThreadTerminatedError, ThreadNotFoundError, TemporalUnavailableError;
   * ThreadBusyError for one with `deliver: 'reject'`: nothing is stored then
   */
  send(message: string | NewMessage): Promise<SentMessage>
  /**
   * Queues the call of a tool that no model has requested: the arguments are parsed, and the model sees call and result.
   * The same id and arguments again are one call. @throws what `send` throws
   */
  queueTool<Name extends ToolName<R>>(
    name: Name,
    args: ToolInput<R, Name>,
    options?: { readonly id?: string },
  ): Promise<{ toolCallId: string }>
  /**
   * Answers a request of `snapshot().pending` once, from any process. The same answer again is safe.
   * @throws RequestNotFoundError for a request that is unknown, ended or answered otherwise; MessageRejectedError for an answer
   * of another kind; ApprovalForbiddenError where the approval wants somebody else; NoWorkerError when no worker takes it within
   * 10 s: it is kept, and the same answer again is safe
   */
  respond(requestId: string, answer: Answer, options?: RespondOptions): Promise<Answered>
  /**
   * Takes back a message, queued tool or effect of `snapshot().queue`, or a scheduled effect, by its id. Its row stays, as
   * `removed`. @throws NotQueuedError for an item that is unknown or was delivered; NoWorkerError when no worker takes it
   * within 10 s: it is removed all the same, call it again
   */
  removeQueued(id: string): Promise<void>
  /**
   * Moves a message or queued tool of `snapshot().queue` before everything that waits there.
   * @throws NotQueuedError for an item that is unknown, was removed, or is delivered, also by a step that is taking it; NoWorkerError
   * when no worker takes it within 10 s
   */
  promote(id: string): Promise<void>
  /** Reads a request that waits for its answer, from the store. @throws RequestNotFoundError */
  request(requestId: string): Promise<PendingRequest>
  /**
   * Sets variables of this thread, which cannot be read back; a blocked run checks its variables again. A variable that no
   * definition declares as `text` is a secret, and needs EVERTHREAD_SECRET_KEY here.
   */
  setEnv(values: Readonly<Record<string, string>>): Promise<void>
  /**
   * Forks the thread before the last message of a person, or before the one of that id, and sends that message again: the fork gives
   * another answer, and this thread stays as it is. @throws as `ThreadClient.fork`
   */
  regenerate(options?: { readonly messageId?: string; readonly id?: string }): Promise<ThreadHandle<R>>
  /**
   * Ends the run, or only the run of that id, and parks the thread until a user message or `continue`. Subagents that it waits
   * for are stopped too, unless `children` is false: then their results arrive as messages. The answer says what was open: a run
   * may still end by itself before the stop reaches it.
   */
  stop(options?: StopOptions): Promise<Stopped>
  /**
   * Ends what was sent. A queued message is removed; the run of a delivered one is stopped, and the thread goes on with what waits.
   * `reason`: as of `stop`, kept with the run.
   * @throws MessageNotFoundError; NotCancelableError for a message that has ended, which says how
   */
  cancel(messageId: string, options?: { readonly reason?: string }): Promise<Cancelled>
  /**
   * Makes the context shorter, with a summary of what leaves it; the transcript stays whole. An idle thread does it at once, and messages
   * do not wait for it; else the next step begins with it. `no_op`: one is requested already.
   * @throws ConfigError, ThreadTerminatedError, TemporalUnavailableError
   */
  compact(options?: CompactOptions): Promise<CompactionRequested>
  continue(): Promise<void>
  /**
   * Refuses everything from now on, ends what is in flight and closes the thread and its children. Repeating it does no
   * harm.
   */
  terminate(options?: { readonly reason?: string }): Promise<void>
  /** Reads the state from the workflow; if that does not answer within 2 s, the recorded state, marked `stale`. */
  snapshot(): Promise<ThreadSnapshot>
  /**
   * Reads the thread and all threads below it from the store; for `snapshot().root` this is the whole tree. @throws
   * ThreadNotFoundError
   */
  tree(): Promise<ThreadTree>
  /**
   * Reads the newest messages; queued ones come last as `pending`, in the order in which they were written, while
   * `snapshot().queue` has the order of delivery.
   */
  messages(options?: MessagesOptions): Promise<{ messages: readonly Message[]; hasMore: boolean }>
  /**
   * Reads one message and what became of it: each accepted message is delivered, rejected, refused or removed, once. Null: there is
   * none of that id, or it was deleted from the transcript. @throws ThreadNotFoundError
   */
  message(messageId: string): Promise<MessageRead | null>
  /** Reads one tool call, what became of it, and the subagents that it started; null if there is none. @throws ThreadNotFoundError */
  toolCall(toolCallId: string): Promise<ToolCallRead | null>
  /**
   * Delivers all events from a sequence on, without gaps, and the text that streams; ends after `thread.closed`. Only `signal`
   * ends a `next()` that waits: `return()` waits for the next change.
   */
  events(options: FollowWithSnapshot): AsyncIterable<ThreadEvent | SnapshotUpdated>
  events(options?: FollowEvents): AsyncIterable<ThreadEvent>
  /** As `events`, in the words of another runtime: `ar`, `kp`, `pl`, `pl_task` or `otel`. Cursors are those of `events`. */
  view<Name extends ViewName>(name: Name, options?: FollowEvents): AsyncIterable<ViewedEvent<Name>>
  /** For operators: the original errors of providers and of tools' code, with stacks. @throws ThreadNotFoundError */
  errors(options?: ErrorsOptions): Promise<readonly RecordedError[]>
  /**
   * Who a run is, where it comes from and what binds it; by default its newest run. Null: there is no such run. @throws
   * ThreadNotFoundError
   */
  runContext(runId?: string): Promise<RunContext | null>
  /**
   * What came of a run, without waiting; by default its newest one, as far as it has come. Null: there is no such run. @throws
   * ThreadNotFoundError
   */
  result(runId?: string): Promise<RunResult<RunOutput<R>> | null>
  /** What was decided about its calls, and why: each call that was executed, denied or waits has one. @throws ThreadNotFoundError */
  decisions(options?: DecisionsOptions): Promise<readonly RecordedDecision[]>
  /**
   * The tools of its agent, and what would be decided about a call of each now, from what a worker has recorded: no worker has to
   * run. Of an agent that none has recorded there are none, and `unavailable` says why. @throws ThreadNotFoundError, and
   * StoreError for a subagent whose variable no key here opens
   */
  tools(): Promise<ThreadTools>
  /** What decides about its calls now: modes, rules, remembered approvals, and the calls that wait for a person. @throws ThreadNotFoundError */
  permissions(): Promise<PermissionSummary>
  /**
   * The budgets that hold for it and its newest run, with what is used of them. Those that only the code of a worker or an agent gives are
   * known from the first call that was charged to them. @throws ThreadNotFoundError
   */
  budget(): Promise<readonly BudgetState[]>
  /**
   * Sums what it has used so far, from the store: messages, steps, requests, tokens, cost and times, also by model. `formatCost`
   * makes its costs readable. @throws ThreadNotFoundError
   */
  usage(options?: UsageOptions): Promise<ThreadUsage>
  /** Which model it calls and why, and the limits, budgets and costs of that, from the store. @throws ThreadNotFoundError */
  routing(): Promise<RoutingSummary>
  /** What waits, in the order of delivery, with its sources. @throws ThreadNotFoundError */
  queue(options?: QueueOptions): Promise<ThreadQueue>
  /** The subagents that it ever started, a page at a time. @throws ThreadNotFoundError, ConfigError */
  children(options?: PageOptions): Promise<ChildrenPage>
  /** Where its contexts begin, the newest cut first. @throws ThreadNotFoundError */
  boundaries(options?: BoundariesOptions): Promise<readonly ContextBoundary[]>
  /** The files that it has changed last, with their versions. @throws ThreadNotFoundError */
  artifacts(options?: ArtifactsOptions): Promise<ThreadArtifacts>
  /**
   * What is wrong with it: findings of `doctor`, failures, waits; what cannot be known says so. It asks Temporal, for some seconds at
   * most. @throws ThreadNotFoundError
   */
  diagnostics(): Promise<ThreadDiagnostics>
  /** All of it in one bounded answer: state, turn, requests, queue, diagnostics, files, routing, permissions. @throws ThreadNotFoundError */
  readModel(): Promise<ThreadReadModel>
  /** Waits until nothing is queued and nothing runs. @throws WaitTimeoutError */
  waitUntilIdle(options?: WaitUntilIdle): Promise<RunResult<RunOutput<R>>>
}

export interface RespondOptions {
  /** Who answers, as your service has authenticated them. Approvals with roles or four eyes cannot be answered without. */
  readonly caller?: Caller
}

/** Signals the workflow, which takes a repetition for the same command. */
async function continueThread(context: ClientContext, threadId: string): Promise<void> {
  await carryOut(context, {
    ...{ threadId, name: 'continue', content: null },
    store: async (tx): Promise<Continue> => {
      await requireOpenThread(tx, threadId)
      return commandIdFor(context)
    },
    announce: (input) =>
      signalThread(context, threadId, {
        name: SIGNALS.continue,
        ...(input.commandId !== undefined && { input }),
      }),
  })
}

/** The context of a handle whose commands have this key. @throws MessageRejectedError */
function withKey(context: ClientContext, threadId: string, key: unknown): ClientContext {
  const isKey = typeof key === 'string' && key !== '' && key.length <= LIMITS.nameLength
  const problem = isKey
    ? halfCharacterProblem('a key', key)
    : `Expected a key, a text of 1 to ${LIMITS.nameLength} characters, got something else.`
  if (problem !== undefined || !isKey) throw new MessageRejectedError(threadId, problem ?? '')
  return { ...context, key }
}

export function createThreadHandle<R extends Registry<string, string, unknown>>(
  context: ClientContext,
  threadId: string,
): ThreadHandle<R> {
  return {
    threadId,
    once: (key) => createThreadHandle<R>(withKey(context, threadId, key), threadId),
    get workflow() {
      return context.temporal().workflow.getHandle(threadId)
    },
    send: (message) => sendMessage(context, { threadId, message }),
    queueTool: (name, args, { id } = {}) => queueTool(context, { threadId, name, args, id }),
    respond: (requestId, answer, { caller } = {}) =>
      respond(context, { threadId, requestId, answer, caller }),
    request: (requestId) => findPendingRequest(context, { threadId, requestId }),
    removeQueued: (id) => removeQueued(context, threadId, id),
    setEnv: (values) => setVariables(context, threadId, values),
    promote: (id) => promoteQueued(context, threadId, id),
    regenerate: async ({ messageId: before, id } = {}) => {
      const forking = withoutUndefined({ before, id, again: true as const })
      return createThreadHandle<R>(context, (await forkThread(context, threadId, forking)).threadId)
    },
    stop: (options = {}) => stopThread(context, threadId, options),
    cancel: (messageId, { reason } = {}) => cancelMessage(context, threadId, { messageId, reason }),
    compact: (options = {}) => compactContext(context, threadId, options),
    continue: () => continueThread(context, threadId),
    terminate: ({ reason } = {}) => terminateThread(context, { threadId, reason }),
    snapshot: async () => (await readSnapshot(context, threadId)).snapshot,
    tree: () => readTree(context, threadId),
    messages: (options = {}) => readMessages(context, threadId, options),
    message: (messageId) => readMessage(context, threadId, messageId),
    toolCall: (toolCallId) => readCall(context, threadId, toolCallId),
    // Without `snapshot` there is no event of the second kind.
    events: (options?: FollowEvents) =>
      streamEvents(context, threadId, options ?? {}) as AsyncIterable<ThreadEvent>,
    view: (name, options = {}) => {
      const events = (from: FollowEvents) => followEvents(context, threadId, from)
      return followView(context, { ...options, threadId, name, events })
    },
    errors: (options = {}) => listRecordedErrors(context, threadId, options),
    runContext: (runId) => readThreadContext(context, threadId, runId),
    result: (runId) => readResult(context, threadId, runId) as Promise<RunResult<RunOutput<R>> | null>,
    decisions: (options = {}) => listDecisions(context, threadId, options),
    tools: () => readThreadTools(context, threadId),
    permissions: () => readThreadPermissions(context, threadId),
    budget: () => readThreadBudget(context, threadId),
    usage: (options = {}) => readUsage(context, threadId, options),
    routing: () => readThreadRouting(context, threadId),
    queue: (options = {}) => readQueue(context, threadId, options),
    children: (options = {}) => readChildren(context, threadId, options),
    boundaries: (options = {}) => readBoundaries(context, threadId, options),
    artifacts: (options = {}) => readArtifacts(context, threadId, options),
    diagnostics: () => readDiagnostics(context, threadId),
    readModel: () => readModel(context, threadId),
    // A worker has checked the output by the schema of the agent, whose type it has.
    waitUntilIdle: (options = {}) =>
      waitUntilIdle(context, threadId, options) as Promise<RunResult<RunOutput<R>>>,
    ...createThreadFiles(context, threadId),
    ...createThreadUIMessages(context, threadId),
  }
}

async function readMessages(
  context: ClientContext,
  threadId: string,
  options: MessagesOptions,
): ReturnType<ThreadHandle['messages']> {
  const store = await context.store()
  const { messages, hasMore } = await store.read(async (db) => {
    await requireThread(db, threadId)
    return listMessages(db, { ...options, threadId })
  })
  return { messages, hasMore }
}
