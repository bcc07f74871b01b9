/**
 * Sources of tools: servers whose tools an agent may call, and which only an activity can ask what they are.
 *
 * Owns: what a source is. Does not own: what is offered of it (`plan/source-tools.ts`), when it is asked (`activities/sources/`), and any
 * protocol of servers (`mcp/`).
 * Invariant: a source grants nothing: rules, modes and approvals judge its tools as any others.
 */
import type { ActionTraits } from '../policy/action.js'
import type { Connect } from '../protocol/payloads/governance.js'
import type { CallReports } from '../protocol/payloads/live-text.js'
import { isObject } from '../protocol/values.js'
import type { JsonObject } from '../protocol/values.js'
import type { ToolAnswer, ToolResult } from './tool-result.js'

/** A tool, as its source lists it. */
export interface SourceTool extends ActionTraits {
  /** 1 to 64 of the characters that every provider accepts: letters, digits, `_` and `-`. */
  readonly name: string
  /** Longer than 1,024 characters: the rest is left out. */
  readonly description: string
  /** The JSON Schema of an object, of at most 16 KB and 12 levels. The source checks the arguments by itself. */
  readonly inputSchema: JsonObject
  /** True: a person has to approve each call. @default false */
  readonly needsApproval?: boolean
  /** True if a call that a crash interrupted may run again. @default false */
  readonly idempotent?: boolean
  /** Milliseconds until a call is aborted; at most 300,000. @default 300,000 */
  readonly timeout?: number
  /** True: once a call of it has succeeded, the run asks the source for its list again. @default false */
  readonly changesList?: boolean
}

/** For whom a source is asked. */
export interface SourceUser {
  readonly threadId: string
  readonly agent: string
  readonly account: string | null
  readonly user: string | null
  /** What the store keeps of this person for this source, and of nobody else; left out: there is no store. */
  readonly login?: SourceLogin
}

/** A login: a text that only its source understands, which the store seals. */
export interface KeptLogin {
  readonly text: string
  /** Of this text, and of no other. */
  readonly version: string | number
}

/** The login of one person at one source. */
export interface SourceLogin {
  /** Equal for the same person, source and store. */
  readonly key: string
  read(): Promise<KeptLogin | null>
  /** Writes it, unless another one was written since that version was read (null: there was none): then it returns false. */
  save(text: string, version: KeptLogin['version'] | null): Promise<boolean>
}

/** A call of a tool of a source. Its reports are those of any tool. */
export interface SourceCall extends SourceUser, CallReports {
  readonly id: string
  /** From 1. */
  readonly attempt: number
  /** Equal in all attempts. */
  readonly idempotencyKey: string
  /** The tool, as the list of the run has it. */
  readonly tool: SourceTool
  /** As the model wrote them: an object, not checked by the schema. */
  readonly args: JsonObject
  /** Aborts with a stop, at the end of the time of the call, and with the worker. */
  readonly signal: AbortSignal
}

/**
 * A call of a source that goes on later, without holding a worker: once a person has answered, or after a time. `resume` of the source
 * then gets the state and the answer, on any worker.
 */
export interface SourcePending {
  readonly status: 'pending'
  /** JSON of at most 64 KB, which the store keeps. */
  readonly resume: JsonObject
  /** Milliseconds after which it goes on, by a durable timer. Left out: a person is asked. */
  readonly after?: number
  /** The JSON Schema of the `result` of the person's answer. @default any result */
  readonly form?: JsonObject
  /** The person is to log in at this address; `form` is what it gives back. Only the user of the thread may answer. */
  readonly connect?: Connect
  /**
   * True: the next part may run again after a crash. @default true behind a time, and what the tool says behind an answer
   */
  readonly repeatable?: boolean
}

/** A call that goes on. */
export interface ResumedCall extends SourceCall {
  readonly resume: JsonObject
  /** What the person has answered; null: the time has come. It stays in the store whatever becomes of it. */
  readonly answer: ToolResult | null
}

/** A call that waited for its next part when its run was stopped. */
export interface CancelledCall extends SourceUser {
  readonly resume: JsonObject
  /** Aborts after 5 seconds, and with the worker. */
  readonly signal: AbortSignal
}

type SourceAnswer = ToolAnswer | SourcePending

/** Tools that are known only when somebody asks for them, such as those of an MCP server. */
export interface ToolSource {
  /** Unique in a registry. Letters, digits, `_` and `-`. */
  readonly name: string
  /** Lists the tools, once for each run; after 20 seconds without an answer the run goes on without them. */
  list(user: SourceUser & { readonly signal: AbortSignal }): Promise<readonly SourceTool[]>
  /** Answers as `execute` of a tool does. What it throws becomes an error result (`ToolError` says of which kind). */
  call(call: SourceCall): SourceAnswer | Promise<SourceAnswer>
  /**
   * Goes on with a call that has answered `SourcePending`. A crash in it is `unknown` behind an answer of a person, unless the tool is
   * idempotent; behind a time it is run again. `repeatable` says otherwise.
   */
  resume?(call: ResumedCall): SourceAnswer | Promise<SourceAnswer>
  /**
   * Hears of a call that has answered `SourcePending` and was stopped, so that what it waits for can end. It may be called more than once
   * for a call; what it throws is logged, and the call is over anyway.
   */
  cancel?(call: CancelledCall): Promise<void>
  /** True: it keeps logins in the store, so its workers need a key for secrets. @default false */
  readonly keepsLogins?: boolean
  /** Ends what the source holds, with its worker. */
  close?(): Promise<void>
}

/** Names that every provider accepts. */
export const SOURCE_NAME = /^[a-zA-Z0-9_-]{1,64}$/

export function isToolSource(value: unknown): value is ToolSource {
  return isObject(value) && typeof value['list'] === 'function' && typeof value['call'] === 'function'
}

/** Explains why a source cannot be used; undefined: it can. */
export function toolSourceProblem(value: unknown): string | undefined {
  if (!isToolSource(value)) return 'expected a source of tools, such as mcpServer(…), with list() and call()'
  const { name } = value
  return typeof name === 'string' && SOURCE_NAME.test(name)
    ? undefined
    : 'expected a source with a name of 1 to 64 letters, digits, "_" and "-"'
}
