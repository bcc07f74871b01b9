import type { Conversation } from '../step/conversations.js'

/** The integrations, by the names that their figures have. */
export const PEERS = ['ai_sdk', 'openai_agents'] as const
export type PeerName = (typeof PEERS)[number]

/** What the process of a peer is told. */
export interface PeerPlace {
  readonly address: string
  /** @default 'default' */
  readonly namespace?: string
  /** The streaming one is the AI SDK's with live text. */
  readonly name: PeerName | 'ai_sdk_streaming'
  readonly taskQueue: string
  /** Where the bundle of its workflow is, which its worker takes; the process writes it if it is missing. */
  readonly bundlePath: string
  /** Calls of models and tools that its worker makes at a time. @default the SDK's */
  readonly calls?: number
}

export interface AskedTurn {
  /** How many tool calls there were before this turn, and how long the workflow's argument is with them. */
  readonly past: Pick<Conversation, 'bytes' | 'calls'>
  /** Calls of the tool that the model wants. */
  readonly calls: number
  /** Characters of each tool result. */
  readonly resultLength: number
  /** How long each answer of the model takes. @default 0 */
  readonly seconds?: number
}

/** What the process saw of a turn that is over. */
export interface TakenTurn {
  readonly workflowId: string
  /** When each model call began, in milliseconds. */
  readonly asked: readonly number[]
  /** Tool calls that ended. */
  readonly done: number
  /** Of a peer with live text: the pieces that its subscriber got, or why it got no more. */
  readonly text?: { readonly pieces: number } | { readonly problem: string }
}

/** A workflow that a client of another process starts. */
export interface PreparedTurn {
  readonly workflowType: string
  readonly args: unknown[]
  readonly workflowExecutionTimeout: number
}

/** The orders that the process takes. */
export interface PeerOrders {
  takeTurn(asked: AskedTurn): Promise<TakenTurn>
  /** Sets what the model and the tool do in all turns from now on. */
  prepare(asked: AskedTurn): PreparedTurn
  /** Of this process, in milliseconds. */
  processorTime(): number
  /** Of its workflow's code. */
  bundleBytes(): number
}
