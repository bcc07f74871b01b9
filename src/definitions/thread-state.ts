import type { AttachmentRef, FileRecord, Message, NewAttachment } from '../protocol/message.js'
import type { Side } from '../protocol/plan.js'
import type { SubagentRegistryEntry } from '../protocol/status.js'
import type { JsonObject, JsonValue } from '../protocol/values.js'
import type { AgentDefinition, VariableDefinition } from './agent.js'
import type { ModelDefinition } from './model.js'
import type { PromptDefinition } from './prompt.js'
import type { ToolResult } from './tool-result.js'
import type { Micros } from '../protocol/time.js'

/** Which messages `getMessages` returns. */
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

/** A message that is put into the transcript at once and starts nothing. */
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

/** What of a stored message may change; metadata is merged. */
export interface MessageUpdates {
  readonly content?: string
  readonly silent?: boolean
  readonly metadata?: Record<string, unknown>
}

/** What a file may say of itself beside its bytes; width and height are pixels of an image. */
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

/** Work that waits for its time. Times are microseconds since 1970. */
export interface ScheduledEffect {
  readonly id: string
  /** Its key in the registry. */
  readonly name: string
  readonly args: JsonObject
  /** When it is due. */
  readonly scheduledAt: Micros
  readonly createdAt: Micros
}

/** The run that a tool is called in. */
export interface ExecutionState {
  /** The run's id. */
  readonly flowId: string
  readonly currentSide: Side
  /** The active prompt, last. */
  readonly promptPath: readonly string[]
  readonly stepCount: number
  readonly sideAStepCount: number
  readonly sideBStepCount: number
  /** Aborts on stop, terminate and timeout; on a worker's shutdown only when its grace time is over. */
  readonly abortSignal: AbortSignal
  /** This call has asked for the end of the run. */
  readonly stopped: boolean
  /** The side whose call asked for it. */
  readonly stoppedBy: Side | null
  /** After this step and its queued tools that side acts; the current side goes on instead of ending its turn. */
  forceTurn(side: Side): void
  /** Ends the run after this call; the step's other tool calls get the result `interrupted`. */
  stop(): void
}

/**
 * A thread as its tools see it. What a call writes is committed with the call's outcome, exactly once (T9); until
 * then only the call itself sees it. A tool that throws has an outcome, so what it wrote is kept; a call that times
 * out, is cancelled or ends as unknown keeps nothing. Times are microseconds since 1970.
 */
export interface ThreadState {
  /** Also the Temporal workflow id. */
  readonly threadId: string
  /** Name of the active agent. */
  readonly agentId: string
  /** As given at creation; a child has its parent's. */
  readonly userId: string | null
  readonly createdAt: Micros
  readonly terminated: number | null
  readonly execution: ExecutionState | null
  /** Shared by the calls of one run: JSON, saved with each accepted result, empty at the next run. */
  readonly context: Record<string, JsonValue | undefined>

  getMessages(options?: GetMessagesOptions): Promise<{ messages: Message[]; total: number; hasMore: boolean }>
  /** Of any age and depth. */
  getMessage(messageId: string): Promise<Message | null>
  /** Stores; starts no run. Its position is null until the call's outcome is stored. */
  injectMessage(message: InjectedMessage): Promise<Message>
  /** First in, first out; wakes an idle thread. */
  queueMessage(message: QueuedMessage): Promise<void>
  /** Seen by the next model call. @throws for rows of the step in flight, and for a message that is not there */
  updateMessage(messageId: string, updates: MessageUpdates): Promise<Message>
  /** Of the transcript or still queued; its files stay. False if there is none. @throws for rows of the step in flight */
  deleteMessage(messageId: string): Promise<boolean>

  /** @throws if there is none of that name; so do the next two */
  loadAgent(name: string): Promise<AgentDefinition>
  loadPrompt(name: string): Promise<PromptDefinition>
  loadModel(name: string): Promise<ModelDefinition>
  /** Resumable subagents of this thread, as of the start of this call. */
  readonly children: readonly SubagentRegistryEntry[]
  /**
   * What is done to it joins this call's outcome; at most 50 things that its workflow has to be told, of all such threads.
   * No tool can be invoked there, and a closed one can only be read. Null for a reference that is no child of this thread.
   */
  getChildThread(reference: string): Promise<ThreadState | null>
  /** As with a child. Null for a thread without a parent. */
  getParentThread(): Promise<ThreadState | null>
  /** A silent message for the parent, which works on it. Without a parent nothing happens. @throws for an empty one */
  notifyParent(content: string): Promise<void>
  /** What this thread says of itself, in its snapshot and in the registry of its parent if it has one: at most 500 characters. */
  setStatus(status: string): Promise<void>
  getAgentNames(): string[]
  getPromptNames(): string[]
  getModelNames(): string[]

  /**
   * The value of a variable: of this thread, its parents, the worker, the agent, the prompt, the first that has one.
   * A secret of 6 characters and more comes back from this call as `[secret NAME]`, in all but the bytes of files.
   * @throws if none has
   */
  env(name: string): Promise<string>
  /** As declared, else as it was set; a variable of which nothing says so is a secret. */
  envType(name: string): Promise<VariableDefinition['type']>
  /**
   * For this thread, and its children that do not scope the name. Without a type it keeps the one that it has; a new one
   * is as declared, else a secret. @throws for a secret on a worker without EVERTHREAD_SECRET_KEY
   */
  setEnv(name: string, value: string, options?: { readonly type?: VariableDefinition['type'] }): Promise<void>

  /** Run after the step's calls, whatever the prompt lists; at most 50 a call. */
  queueTool(name: string, args: Record<string, unknown>): void
  /** Now, in place: its writes join this call's, and it leaves no message. */
  invokeTool(name: string, args: Record<string, unknown>): Promise<ToolResult>

  /** Milliseconds from now; survives restarts and idle months. Answers the id. @throws for an unknown name */
  scheduleEffect(name: string, args: Record<string, unknown>, delay?: number): Promise<string>
  /** The next one first. */
  getScheduledEffects(name?: string): Promise<ScheduledEffect[]>
  /** False if it is not scheduled any more. */
  removeScheduledEffect(id: string): Promise<boolean>

  /** A `custom` event for live clients, at once and whatever becomes of the call; at most 16 KiB. */
  emit(event: string, data: JsonValue): void

  /** Null if there is none. */
  getValue(key: string): Promise<JsonValue>
  /** `undefined` deletes. */
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
  /** Null: this runtime makes no thumbnails, and there is no way to store one. */
  getFileThumbnail(path: string): Promise<ArrayBuffer | null>
  readdirFile(path: string): Promise<{ entries: FileRecord[] }>
  unlinkFile(path: string): Promise<void>
  mkdirFile(path: string): Promise<FileRecord>
  /** Of an empty folder. */
  rmdirFile(path: string): Promise<void>
  /**
   * Lines that match a regular expression, of text files up to 1 MB; at most 1,000 lines of 1,000 characters, and 2 s
   * of matching.
   */
  grepFiles(pattern: string): Promise<{ path: string; matches: string[] }[]>
  /** `*` and `?` stay within a name, `**` stands for any folders; without "/" the pattern is for the name alone. */
  findFiles(pattern: string): Promise<{ paths: string[] }>
  getFileStats(): Promise<{ fileCount: number; directoryCount: number; totalSize: number }>

  /** Ends the thread for good, after this call's result is stored. */
  terminate(): Promise<void>
}

/**
 * Answers a request below `/threads/{threadId}/api/`. `state.execution` is null: there is no run, and each write acts at
 * once. `params` are the parts of the path that its name leaves open; `*` is the rest of it. `request.signal` aborts when
 * the caller has gone, and when its time is over (`endpoints.timeout` of the server).
 */
export type ThreadEndpoint = (
  request: Request,
  state: ThreadState,
  params: Readonly<Record<string, string>>,
) => Response | Promise<Response>

/** Declares a thread endpoint. It has no name of its own: its path and method are the key, or the file, that holds it. */
export function defineThreadEndpoint(endpoint: ThreadEndpoint): ThreadEndpoint {
  return endpoint
}
