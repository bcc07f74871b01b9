/** What tools, effects and the model did, as they wrote it down at once, outside of the store. */
export type Deed = ToolDeed | EffectDeed | ModelDeed

/** A tool has had its side effect. */
export interface ToolDeed {
  readonly kind: 'tool'
  readonly tool: string
  readonly threadId: string
  readonly callId: string
  readonly key: string
  readonly attempt: number
  readonly ref: string
  readonly pid: number
}

export interface EffectDeed {
  readonly kind: 'effect'
  readonly threadId: string
  readonly ref: string
  readonly pid: number
}

/** The model was asked: `nonce` marks the answer, `seen` are those that the request shows. */
export interface ModelDeed {
  readonly kind: 'model'
  readonly threadId: string
  readonly prompt: string
  readonly side: string
  readonly nonce: string
  readonly seen: readonly string[]
  /** Ids of calls whose results the request shows. */
  readonly results: readonly string[]
  readonly pid: number
}
