import type { Conversation } from '../step/conversations.js'

/** The integrations, by the names that their figures have. */
export const PEERS = ['ai_sdk', 'openai_agents'] as const
export type PeerName = (typeof PEERS)[number]

/** What the process of a peer is told. */
export interface PeerPlace {
  readonly address: string
  readonly name: PeerName
  readonly taskQueue: string
  /** Where it writes the bundle of its workflow, which its worker then takes. */
  readonly bundlePath: string
}

export interface AskedTurn {
  /** How many tool calls there were before this turn, and how long the workflow's argument is with them. */
  readonly past: Pick<Conversation, 'bytes' | 'calls'>
  /** Calls of the tool that the model wants. */
  readonly calls: number
  /** Characters of each tool result. */
  readonly resultLength: number
}

/** What the process saw of a turn that is over. */
export interface TakenTurn {
  readonly workflowId: string
  /** When each model call began, in milliseconds. */
  readonly asked: readonly number[]
  /** Tool calls that ended. */
  readonly done: number
}

/** The orders that the process takes. */
export interface PeerOrders {
  takeTurn(asked: AskedTurn): Promise<TakenTurn>
  /** Of its workflow's code. */
  bundleBytes(): number
}
