/** Open: later versions add members. */
type ThreadErrorCode =
  | 'thread_not_found'
  | 'thread_conflict'
  | 'unknown_agent'
  | 'thread_terminated'
  | 'message_rejected'
  | 'thread_busy'
  | 'message_not_found'
  | 'not_cancelable'
  | 'request_not_found'
  | 'not_queued'
  | 'no_worker'
  | 'timeout'
  | 'temporal_unavailable'
  | (string & {})

const MARKER = Symbol.for('everthread.ThreadError')

/** An error about a thread, as callers get it; `cause` holds the underlying error, if there is one. */
export class ThreadError extends Error {
  readonly code: ThreadErrorCode
  readonly threadId: string
  readonly [MARKER] = true

  constructor(code: ThreadErrorCode, threadId: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.threadId = threadId
    this.name = new.target.name
  }

  /** True for a ThreadError of any copy of this package. */
  static isInstance(error: unknown): error is ThreadError {
    return error instanceof Error && MARKER in error
  }
}

/** The store has no thread of this id. */
export class ThreadNotFoundError extends ThreadError {
  constructor(threadId: string, cause?: unknown) {
    super(
      'thread_not_found',
      threadId,
      `Expected a thread "${threadId}", got none in this store: create it first, or check that client and worker name the same store.`,
      cause,
    )
  }

  static override isInstance(error: unknown): error is ThreadNotFoundError {
    return hasCode(error, 'thread_not_found')
  }
}

/** The id of a thread or message has already been used for something else. */
export class ThreadConflictError extends ThreadError {
  /** The message's id; null when it is the thread's. */
  readonly messageId: string | null

  constructor(threadId: string, conflict: { readonly problem: string; readonly messageId?: string }) {
    super('thread_conflict', threadId, conflict.problem)
    this.messageId = conflict.messageId ?? null
  }

  static override isInstance(error: unknown): error is ThreadConflictError {
    return hasCode(error, 'thread_conflict')
  }
}

/** No worker of the store has listed the agent of a new thread, and others are listed: a wrong name, most often. Nothing was created. */
export class UnknownAgentError extends ThreadError {
  readonly agent: string

  constructor(threadId: string, { agent, known }: { readonly agent: string; readonly known: string }) {
    super(
      'unknown_agent',
      threadId,
      `Expected an agent that a worker of this store has listed, got "${agent}"${known} Nothing was created: correct the name, ` +
        'start a worker that has it first, or create the thread with "allowUnknownAgent".',
    )
    this.agent = agent
  }

  static override isInstance(error: unknown): error is UnknownAgentError {
    return hasCode(error, 'unknown_agent')
  }
}

/**
 * The thread is closed, or about to close, and accepts no more input. Its snapshot, messages and files stay readable
 * (T8).
 */
export class ThreadTerminatedError extends ThreadError {
  /** How it ended: terminated, completed, failed. */
  readonly status: string

  constructor(threadId: string, status: string, cause?: unknown) {
    super(
      'thread_terminated',
      threadId,
      `Expected an open thread, got "${threadId}", which is ${status} and accepts nothing more: create another thread.`,
      cause,
    )
    this.status = status
  }

  static override isInstance(error: unknown): error is ThreadTerminatedError {
    return hasCode(error, 'thread_terminated')
  }
}

/**
 * The message was not stored. The exception is a message that was sent before, under the same id, to a thread that has
 * since been lost: it waits for `reopen`. `problem` explains the rejection.
 */
export class MessageRejectedError extends ThreadError {
  readonly problem: string

  constructor(threadId: string, problem: string, cause?: unknown) {
    super('message_rejected', threadId, problem, cause)
    this.problem = problem
  }

  static override isInstance(error: unknown): error is MessageRejectedError {
    return hasCode(error, 'message_rejected')
  }
}

/** The thread works or has something waiting, and the message was to be delivered only to one that has not. Nothing was stored. */
export class ThreadBusyError extends ThreadError {
  constructor(threadId: string) {
    super(
      'thread_busy',
      threadId,
      `Expected thread "${threadId}" to be idle for a message with deliver "reject", got one with a run or items that wait: send it later, or with another "deliver".`,
    )
  }

  static override isInstance(error: unknown): error is ThreadBusyError {
    return hasCode(error, 'thread_busy')
  }
}

interface MissingRequest {
  readonly id: string
  /** The actual state, as the end of a sentence. */
  readonly reason: string
  readonly answered?: boolean
}

/** Nothing waits for this answer: the request is unknown, has another answer, or its call or thread has ended. */
export class RequestNotFoundError extends ThreadError {
  readonly requestId: string
  /** The request already has another answer. */
  readonly answered: boolean

  constructor(threadId: string, request: MissingRequest, cause?: unknown) {
    super(
      'request_not_found',
      threadId,
      `Expected a request "${request.id}" of thread "${threadId}" that waits for this answer, got ${request.reason}.`,
      cause,
    )
    this.requestId = request.id
    this.answered = request.answered === true
  }

  static override isInstance(error: unknown): error is RequestNotFoundError {
    return hasCode(error, 'request_not_found')
  }
}

interface WrongAnswerer {
  /** Who may answer, and who did; parts of a sentence. */
  readonly expected: string
  readonly got: string
}

/** Who answers may not: the rule of the request wants another role, or another person. The request stays open. */
export class ApprovalForbiddenError extends ThreadError {
  readonly requestId: string

  constructor(threadId: string, requestId: string, { expected, got }: WrongAnswerer) {
    super(
      'approval_forbidden',
      threadId,
      `Expected request "${requestId}" to be answered by ${expected}, got ${got}: it stays open.`,
    )
    this.requestId = requestId
  }

  static override isInstance(error: unknown): error is ApprovalForbiddenError {
    return hasCode(error, 'approval_forbidden')
  }
}

interface NotQueued {
  readonly id: string
  /** The actual state, as the end of a sentence. */
  readonly reason: string
  readonly delivered: boolean
}

/** The thread's queue has no removable item of this id: it is unknown, already delivered, or not removable. */
export class NotQueuedError extends ThreadError {
  readonly itemId: string
  /** The item was already delivered. */
  readonly delivered: boolean

  constructor(threadId: string, { id, reason, delivered }: NotQueued, cause?: unknown) {
    super(
      'not_queued',
      threadId,
      `Expected a message, tool or effect "${id}" that waits in the queue of thread "${threadId}", got ${reason}: look at its snapshot.`,
      cause,
    )
    this.itemId = id
    this.delivered = delivered
  }

  static override isInstance(error: unknown): error is NotQueuedError {
    return hasCode(error, 'not_queued')
  }
}

/** The thread has no message of this id: it was never sent, or was deleted from the transcript. */
export class MessageNotFoundError extends ThreadError {
  readonly messageId: string

  constructor(threadId: string, messageId: string) {
    super(
      'message_not_found',
      threadId,
      `Expected a message "${messageId}" of thread "${threadId}", got none: check the id that \`send\` returned.`,
    )
    this.messageId = messageId
  }

  static override isInstance(error: unknown): error is MessageNotFoundError {
    return hasCode(error, 'message_not_found')
  }
}

interface NotCancelable {
  readonly messageId: string
  /** How it ended, as the end of a sentence. */
  readonly end: string
}

/** What was sent has ended already, so that there is nothing to cancel. */
export class NotCancelableError extends ThreadError {
  readonly messageId: string

  constructor(threadId: string, { messageId, end }: NotCancelable) {
    super(
      'not_cancelable',
      threadId,
      `Expected a message "${messageId}" of thread "${threadId}" that waits or is being worked at, got ${end}.`,
    )
    this.messageId = messageId
  }

  static override isInstance(error: unknown): error is NotCancelableError {
    return hasCode(error, 'not_cancelable')
  }
}

/** The input that waits for a worker: an answer and a removal are kept in the store, a promotion is not. */
export type Kept = 'answer' | 'removal' | 'promotion'

const AGAIN: Readonly<Record<Kept, string>> = {
  answer:
    'The answer is kept: start a worker. If the thread does not go on then, give the same answer again.',
  removal: 'The removal is kept: start a worker. If the thread does not go on then, remove it again.',
  promotion: 'Start a worker, then promote it again.',
}

/** No worker took the input in time. It is safe to repeat the call. */
export class NoWorkerError extends ThreadError {
  readonly taskQueue: string

  constructor(
    threadId: string,
    { taskQueue, kept }: { readonly taskQueue: string; readonly kept: Kept },
    cause?: unknown,
  ) {
    super(
      'no_worker',
      threadId,
      `Expected a worker on task queue "${taskQueue}" to take the ${kept}, got none in time. ${AGAIN[kept]}`,
      cause,
    )
    this.taskQueue = taskQueue
  }

  static override isInstance(error: unknown): error is NoWorkerError {
    return hasCode(error, 'no_worker')
  }
}

interface WaitTimeout {
  /** Milliseconds. */
  readonly timeout: number
  /** The last known status, and whether it is only the recorded one. */
  readonly status: string
  readonly stale: boolean
  /** Why the thread was not idle, or why its status is not known. */
  readonly reason: string
}

/** The thread did not become idle in time. It continues, and the caller may wait again. */
export class WaitTimeoutError extends ThreadError {
  readonly timeout: number
  readonly status: string
  readonly stale: boolean

  constructor(threadId: string, { timeout, status, stale, reason }: WaitTimeout) {
    super(
      'timeout',
      threadId,
      `Expected thread "${threadId}" to be idle within ${timeout} ms, got ${stale ? 'recorded ' : ''}status "${status}": ${reason}.`,
    )
    this.timeout = timeout
    this.status = status
    this.stale = stale
  }

  static override isInstance(error: unknown): error is WaitTimeoutError {
    return hasCode(error, 'timeout')
  }
}

interface Unavailability {
  readonly address: string
  /** What the caller got instead of an answer, as the end of a sentence. */
  readonly problem: string
  /** A message that is kept in the store. */
  readonly messageId?: string
  /** A tool call that is kept in the store. */
  readonly toolId?: string
}

/**
 * The Temporal server did not answer, or refused. Input that the store accepted is kept, and it is safe to repeat the
 * call.
 */
export class TemporalUnavailableError extends ThreadError {
  readonly address: string
  readonly problem: string
  /** The id of a message that is stored and not yet signalled: if it is sent again under this id, it is delivered once. */
  readonly messageId: string | null
  /** The id of a queued tool that is stored and not yet signalled: if it is queued again under this id, it runs once. */
  readonly toolId: string | null

  constructor(threadId: string, unavailability: Unavailability, cause?: unknown) {
    const { address, problem, messageId, toolId } = unavailability
    const message =
      messageId === undefined ? '' : ` The message is kept: send it again with id "${messageId}".`
    const tool = toolId === undefined ? '' : ` The tool call is kept: queue it again with id "${toolId}".`
    super(
      'temporal_unavailable',
      threadId,
      `Expected a Temporal server at ${address}, got ${problem}.${message}${tool}`,
      cause,
    )
    this.address = address
    this.problem = problem
    this.messageId = messageId ?? null
    this.toolId = toolId ?? null
    showAsOneLine(this)
  }

  static override isInstance(error: unknown): error is TemporalUnavailableError {
    return hasCode(error, 'temporal_unavailable')
  }
}

function hasCode(error: unknown, code: ThreadErrorCode): boolean {
  return ThreadError.isInstance(error) && error.code === code
}

const CONFIG_MARKER = Symbol.for('everthread.ConfigError')

/** Thrown before anything starts, with all problems of a configuration at once. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]
  readonly [CONFIG_MARKER] = true

  constructor(problems: readonly string[]) {
    super(describe(problems))
    this.problems = problems
  }

  /** True for a ConfigError of any copy of this package. */
  static isInstance(error: unknown): error is ConfigError {
    return error instanceof Error && CONFIG_MARKER in error
  }
}

function describe(problems: readonly string[]): string {
  const heading = problems.length === 1 ? '1 problem' : `${problems.length} problems`
  return [heading, ...problems.map((problem, index) => `${index + 1}. ${problem}`)].join('\n')
}

/** Node's key for the text of `util.inspect`, which a process also prints when it ends with the error. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom')

/**
 * Makes Node print only the message of an error, if the message explains what to do. The stacks of gRPC and of Rust
 * would hide it; they stay in `stack` and `cause`.
 */
export function showAsOneLine<E extends Error>(error: E): E {
  return Object.defineProperty(error, INSPECT, { value: () => `${error.name}: ${error.message}` })
}
