import type { AttachmentRef, FileRecord, Message, NewAttachment } from '../protocol/message.js'
import type { RunContext } from '../policy/run-context.js'
import type { Side } from '../protocol/plan.js'
import type { SubagentRegistryEntry, ThreadUsage } from '../protocol/status.js'
import type { JsonObject, JsonValue } from '../protocol/values.js'
import type { AgentDefinition, VariableDefinition } from './agent.js'
import type { ModelDefinition } from './model.js'
import type { PromptDefinition } from './prompt.js'
import type { ToolResult } from './tool-result.js'
import type { Micros } from '../protocol/time.js'

/** Selects the messages that `getMessages` returns. */
export interface GetMessagesOptions {
  /** @default 100 */
  readonly limit?: number
  /** @default 0 */
  readonly offset?: number
  /** @default 'asc' */
  readonly order?: 'asc' | 'desc'
  /** @default false */
  readonly includeSilent?: boolean
  /** @default 0 */
  readonly maxDepth?: number
}

/** A message that is added to the transcript at once and starts no run. */
export interface InjectedMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
  readonly silent?: boolean
  readonly metadata?: Record<string, unknown>
}

/** A message for the thread's queue. A string among the attachments is the path of a file of this thread. */
export interface QueuedMessage {
  readonly role: 'user' | 'assistant'
  readonly content: string
  readonly attachments?: readonly (NewAttachment | AttachmentRef | string)[]
  readonly silent?: boolean
  readonly metadata?: Record<string, unknown>
}

/** Changes of a stored message; metadata is merged. */
export interface MessageUpdates {
  readonly content?: string
  readonly silent?: boolean
  readonly metadata?: Record<string, unknown>
}

/** Properties of a file beside its bytes; width and height are pixels of an image. */
export interface WriteFileOptions {
  readonly width?: number
  readonly height?: number
  readonly metadata?: Record<string, unknown>
}

/** A piece of a file, in order; `index` counts from 0. */
export interface FileChunk {
  readonly data: Uint8Array
  readonly index: number
  readonly totalChunks: number
  readonly isLast: boolean
}

/** An effect that is not due yet. Times are microseconds since 1970. */
export interface ScheduledEffect {
  readonly id: string
  /** Its key in the registry. */
  readonly name: string
  readonly args: JsonObject
  /** When it is due. */
  readonly scheduledAt: Micros
  readonly createdAt: Micros
}

/** The run in which a tool is called. */
export interface ExecutionState {
  /** The run's id. */
  readonly flowId: string
  /** The id of the step, as events have it. */
  readonly stepId: string
  readonly currentSide: Side
  /** The active prompt, last. */
  readonly promptPath: readonly string[]
  readonly stepCount: number
  readonly sideAStepCount: number
  readonly sideBStepCount: number
  /** Who the run is, where it comes from and what binds it. Read when it is called. */
  runContext(): Promise<RunContext>
  /** Aborts on stop, terminate and timeout, and when the grace time of a worker's shutdown is over. */
  readonly abortSignal: AbortSignal
  /** True if this call has asked for the end of the run. */
  readonly stopped: boolean
  /** The side whose call asked for it. */
  readonly stoppedBy: Side | null
  /** That side acts after this step and its queued tools; for the current side, its turn goes on instead of ending. */
  forceTurn(side: Side): void
  /** Ends the run after this call; the step's other tool calls get the result `interrupted`. */
  stop(): void
}

/**
 * A thread, for its tools. The writes of a call are committed with the call's outcome, exactly once (T9); until then only
 * the call itself sees them. A tool that throws has an outcome, so its writes are kept; the writes of a call that times out,
 * is cancelled or ends as unknown are dropped. Times are microseconds since 1970.
 */
export interface ThreadState {
  /** Also the Temporal workflow id. */
  readonly threadId: string
  /** Name of the active agent. */
  readonly agentId: string
  /** Set at creation; a child has its parent's. */
  readonly userId: string | null
  readonly createdAt: Micros
  readonly terminated: number | null
  readonly execution: ExecutionState | null
  /** JSON that the calls of one run share. It is saved with each accepted result, and empty when the next run starts. */
  readonly context: Record<string, JsonValue | undefined>

  getMessages(options?: GetMessagesOptions): Promise<{ messages: Message[]; total: number; hasMore: boolean }>
  /** Finds a message of any age and depth. */
  getMessage(messageId: string): Promise<Message | null>
  /** Stores a message and starts no run. Its position is null until the call's outcome is stored. */
  injectMessage(message: InjectedMessage): Promise<Message>
  /** Adds a message to the end of the queue, which wakes an idle thread. */
  queueMessage(message: QueuedMessage): Promise<void>
  /** The next model call sees the change. @throws for rows of the step in flight, and for a message that does not exist */
  updateMessage(messageId: string, updates: MessageUpdates): Promise<Message>
  /**
   * Deletes a message of the transcript or the queue; its files stay. False if there is none. @throws for rows of the step in
   * flight
   */
  deleteMessage(messageId: string): Promise<boolean>

  /** The three `load` methods throw if there is no definition of that name. */
  loadAgent(name: string): Promise<AgentDefinition>
  loadPrompt(name: string): Promise<PromptDefinition>
  loadModel(name: string): Promise<ModelDefinition>
  /** The resumable subagents of this thread at the start of this call. */
  readonly children: readonly SubagentRegistryEntry[]
  /**
   * Opens a child. Its writes are committed with this call's outcome; at most 50 of them may need a signal, over all such
   * threads. No tool can be invoked there, and a closed thread can only be read. Null for a reference that is no child.
   */
  getChildThread(reference: string): Promise<ThreadState | null>
  /** Opens the parent, with the limits of `getChildThread`. Null for a thread without a parent. */
  getParentThread(): Promise<ThreadState | null>
  /** Queues a silent message for the parent, which it works on. Does nothing without a parent. @throws for an empty text */
  notifyParent(content: string): Promise<void>
  /** Sets the status text in the thread's snapshot and in its parent's list of children: at most 500 characters. */
  setStatus(status: string): Promise<void>
  getAgentNames(): string[]
  getPromptNames(): string[]
  getModelNames(): string[]

  /**
   * The value of a variable, from the first source that has one: this thread, its parents, the worker, the agent, the prompt.
   * A secret of 6 characters or more is stored as `[secret NAME]` in everything that this call returns, except in the bytes of
   * files. @throws if no source has a value
   */
  env(name: string): Promise<string>
  /** The type that is declared, else the one that was set, else `secret`. */
  envType(name: string): Promise<VariableDefinition['type']>
  /**
   * Sets a variable for this thread and its children that do not scope the name. Without a type it keeps the present one; a
   * new variable has the declared type, else `secret`. @throws for a secret on a worker without EVERTHREAD_SECRET_KEY
   */
  setEnv(name: string, value: string, options?: { readonly type?: VariableDefinition['type'] }): Promise<void>

  /** Queues a tool, which runs after the step's calls, even if the prompt does not list it; at most 50 per call. */
  queueTool(name: string, args: Record<string, unknown>): void
  /** Runs a tool now, inside this call: its writes are committed with this call's, and it leaves no message. */
  invokeTool(name: string, args: Record<string, unknown>): Promise<ToolResult>

  /** Schedules an effect after `delay` milliseconds, durably, and answers its id. @throws for an unknown name */
  scheduleEffect(name: string, args: Record<string, unknown>, delay?: number): Promise<string>
  /** Lists scheduled effects, the next one first. */
  getScheduledEffects(name?: string): Promise<ScheduledEffect[]>
  /** False if the effect is not scheduled any more. */
  removeScheduledEffect(id: string): Promise<boolean>

  /** Sends a `custom` event to live clients, at once and independent of the call's outcome; at most 16 KiB. */
  emit(event: string, data: JsonValue): void

  /** Null for an unknown key. */
  getValue(key: string): Promise<JsonValue>
  /** `undefined` deletes the key. */
  setValue(key: string, value: JsonValue | undefined): Promise<void>

  writeFile(
    path: string,
    data: ArrayBuffer | Uint8Array | string,
    mimeType: string,
    options?: WriteFileOptions,
  ): Promise<FileRecord>
  readFile(path: string): Promise<ArrayBuffer | null>
  readFileStream(path: string): Promise<AsyncIterable<FileChunk> | null>
  statFile(path: string): Promise<FileRecord | null>
  /** Always null: this runtime makes no thumbnails and cannot store any. */
  getFileThumbnail(path: string): Promise<ArrayBuffer | null>
  readdirFile(path: string): Promise<{ entries: FileRecord[] }>
  unlinkFile(path: string): Promise<void>
  mkdirFile(path: string): Promise<FileRecord>
  /** Removes an empty folder. */
  rmdirFile(path: string): Promise<void>
  /**
   * Finds lines that match a regular expression, in text files up to 1 MB: at most 1,000 lines of 1,000 characters, in at most
   * 2 s of matching.
   */
  grepFiles(pattern: string): Promise<{ path: string; matches: string[] }[]>
  /** `*` and `?` match within a name, `**` matches any folders; a pattern without "/" is matched against names only. */
  findFiles(pattern: string): Promise<{ paths: string[] }>
  getFileStats(): Promise<{ fileCount: number; directoryCount: number; totalSize: number }>

  /** Sums what the thread has used so far, without what this call has not committed yet. */
  usage(): Promise<ThreadUsage>

  /** Ends the thread for good, after this call's result is stored. */
  terminate(): Promise<void>
}

/**
 * Answers a request below `/threads/{threadId}/api/`. `state.execution` is null, because there is no run, and each write
 * takes effect at once. `params` has the open parts of the path by name, and the rest of the path as `*`. `request.signal`
 * aborts when the caller disconnects, and when the time is over (`endpoints.timeout` of the server).
 */
export type ThreadEndpoint = (
  request: Request,
  state: ThreadState,
  params: Readonly<Record<string, string>>,
) => Response | Promise<Response>

/** Declares a thread endpoint. Its path and method are its key in `routes`, or the path of its file. */
export function defineThreadEndpoint(endpoint: ThreadEndpoint): ThreadEndpoint {
  return endpoint
}
