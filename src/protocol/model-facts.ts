/**
 * What the log says about each request to a model: its parts, and why this model.
 * Owns: the manifest's parts (`context.resolved`), and the routing (`model.requested`, `model.unavailable`).
 * Does not own: how they are computed (`src/activities/turn/context-parts.ts`, `src/activities/turn/routing.ts`).
 *
 * Every `model.requested` has the `routing` that led to it, and a `context.resolved` right before it, also when a request
 * is repeated. What other runtimes emit as events of their own are views of these fields:
 *
 * | Event elsewhere | Here |
 * |---|---|
 * | `task.profile.resolved` | `routing.kind`, `needs`; the tokens: `context.resolved` before it. Source of the settings: always the prompt; policy of fallbacks: the order of `candidates` |
 * | `routing.candidates.resolved` | `routing.candidates`; those with `excluded` do not count |
 * | `routing.decided` | `model.requested`: `model` is selected, `routing.requested` and `routing.reason` say why; the chain of fallbacks is the candidates behind it without `excluded`; its `lacks` is the gap |
 * | `routing.fallback.applied` | `model.requested` with the reason `fallback` |
 * | `routing.single_candidate` | `model.requested` whose candidates without `excluded` are one |
 * | `routing.not_possible` | `model.unavailable` |
 */

/** What the model is called for. */
export type RoutingKind =
  /** The next answer of a side. */
  | 'reply'
  /** The answer of a prompt that is called as a tool. */
  | 'nested'
  /** The first arguments of an immediate subagent. */
  | 'bootstrap'

/** What a request needs of its model. */
export type ModelNeed =
  /** The prompt has tools. */
  | 'tools'
  /** The conversation shows images. */
  | 'images'
  /** The conversation shows documents. */
  | 'documents'
  /** The conversation shows audio. */
  | 'audio'
  /** The context window holds the request; only in `lacks`. */
  | 'context'

/** Why a model was chosen. */
export type RoutingReason =
  /** It is the prompt's model. */
  | 'prompt_model'
  /** It is the only model that may be called. */
  | 'single_candidate'
  /** The models before it may not be called. */
  | 'model_excluded'
  /** The model before it gave no answer. */
  | 'fallback'
  /** The same model is asked again. */
  | 'retry'
  /** No model is left. */
  | 'none'

/** A model that a prompt names, as its own or as a fallback. */
export interface RoutingCandidate {
  /** The name of the model. */
  readonly model: string
  /** Why it is not called: `not_registered`, `no_tool_calls`, `out_of_time`, or the kind of its failure in this step. */
  readonly excluded?: string
  /** What the request needs and the model lacks. It is called all the same: without tools, with notes for files, with a shorter history. */
  readonly lacks?: readonly ModelNeed[]
  /** The tokens that it accepts, if its definition says so. */
  readonly contextWindow?: number
  /** Dollars per million input tokens, if known. */
  readonly inputPrice?: number
  /** Dollars per million output tokens, if known. */
  readonly outputPrice?: number
  /** The most calls in flight in a worker, if its definition limits them. */
  readonly concurrency?: number
  /** The most requests in a minute of a worker, if its definition limits them. */
  readonly requestsPerMinute?: number
}

/** The choice of a model. */
export interface Routing {
  /** What it is called for. */
  readonly kind: RoutingKind
  /** What the request needs. */
  readonly needs: readonly ModelNeed[]
  /** The prompt's model. */
  readonly requested: string
  /** The prompt's model and its fallbacks, in the order of the calls. */
  readonly candidates: readonly RoutingCandidate[]
  /** Why this model. */
  readonly reason: RoutingReason
  /** The model whose place it takes; only with the reason `fallback`. */
  readonly fallbackFrom?: string
}

/** Estimates of the tokens of the four parts of a request; their sum is `estimatedTokens`. */
export interface ContextTokens {
  /** The system text and the note about subagents. */
  readonly system: number
  /** The declarations of tools. */
  readonly tools: number
  /** All messages that are not of `user`. */
  readonly history: number
  /** The messages of the current turn from outside. */
  readonly user: number
}

/** A section of a request. */
export interface ContextItem {
  /** What it is made of: `system` and `subagents` are the part `system`; `messages` and `results` are the part `history`. */
  readonly kind: 'system' | 'subagents' | 'tools' | 'messages' | 'results' | 'user'
  /** The number of its texts, tools or messages. */
  readonly count: number
  /** An estimate of its tokens. */
  readonly tokens: number
}
