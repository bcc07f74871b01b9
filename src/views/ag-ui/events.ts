/** The events of AG-UI 1.0, as far as a thread has something to say in them. */
import type { JsonObject, JsonValue } from '../../protocol/values.js'
import type { AgUiMessage } from './messages.js'

/** The version of the protocol that we speak. */
export const AG_UI_VERSION = '1.0'

/** A run, as the client names it and its thread. */
export interface AgUiRun {
  readonly threadId: string
  readonly runId: string
}

/** Tokens of one model in a run. */
export interface AgUiUsage {
  readonly model: string
  readonly inputTokens: number
  readonly outputTokens: number
  readonly totalTokens: number
  readonly cachedInputTokens: number
}

/** Something that a person has to decide or give before the run goes on. */
export interface AgUiInterrupt {
  readonly id: string
  readonly reason: 'tool_call' | 'input_required' | 'confirmation'
  readonly message: string
  readonly toolCallId?: string
  /** The JSON schema of the `payload` of its answer. */
  readonly responseSchema: JsonObject
  /** ISO 8601. */
  readonly expiresAt?: string
  readonly metadata?: JsonObject
}

type Outcome =
  | { readonly type: 'success' | 'cancelled' }
  | { readonly type: 'interrupt'; readonly interrupts: readonly AgUiInterrupt[] }

interface Ended {
  readonly usage?: readonly AgUiUsage[]
  readonly metadata?: JsonObject
}

interface OfMessage {
  readonly messageId: string
}

export type AgUiTerminal =
  | (AgUiRun & Ended & { readonly type: 'RUN_FINISHED'; readonly outcome: Outcome })
  | (Ended & { readonly type: 'RUN_ERROR'; readonly message: string; readonly code: string })

export type AgUiEvent =
  | AgUiTerminal
  | (AgUiRun & {
      readonly type: 'RUN_STARTED'
      readonly protocolVersion: typeof AG_UI_VERSION
      readonly parentRunId?: string
      readonly metadata?: JsonObject
    })
  | { readonly type: 'STEP_STARTED' | 'STEP_FINISHED'; readonly stepName: string }
  | (OfMessage & { readonly type: 'TEXT_MESSAGE_START'; readonly role: 'system' | 'user' | 'assistant' })
  | (OfMessage & { readonly type: 'REASONING_MESSAGE_START'; readonly role: 'reasoning' })
  | (OfMessage & {
      readonly type: 'TEXT_MESSAGE_CONTENT' | 'REASONING_MESSAGE_CONTENT'
      readonly delta: string
    })
  | (OfMessage & {
      readonly type: 'TEXT_MESSAGE_END' | 'REASONING_START' | 'REASONING_MESSAGE_END' | 'REASONING_END'
      readonly metadata?: JsonObject
    })
  | {
      readonly type: 'TOOL_CALL_START'
      readonly toolCallId: string
      readonly toolCallName: string
      readonly parentMessageId?: string
    }
  | { readonly type: 'TOOL_CALL_ARGS'; readonly toolCallId: string; readonly delta: string }
  | { readonly type: 'TOOL_CALL_END'; readonly toolCallId: string }
  | (OfMessage & {
      readonly type: 'TOOL_CALL_RESULT'
      readonly toolCallId: string
      readonly content: string
      readonly role: 'tool'
      readonly metadata?: JsonObject
    })
  | { readonly type: 'MESSAGES_SNAPSHOT'; readonly messages: readonly AgUiMessage[] }
  | {
      readonly type: 'SUBAGENT_STARTED'
      readonly subagentRunId: string
      readonly name: string
      readonly parentToolCallId?: string
    }
  | {
      readonly type: 'SUBAGENT_FINISHED'
      readonly subagentRunId: string
      readonly outcome: { readonly type: 'success' | 'suspended' }
    }
  | {
      readonly type: 'SUBAGENT_ERROR'
      readonly subagentRunId: string
      readonly message: string
      readonly code: string
    }
  | { readonly type: 'CUSTOM'; readonly name: string; readonly value: JsonValue }
