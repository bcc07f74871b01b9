/**
 * What the event table (`events.ts`) is made of: its codes and shapes, and the fields that delivery adds from other tables of the store. Writers use
 * only these codes; readers may also get codes that later versions add. A type of `JoinedPayloads` needs its entry in `JOINS` of
 * `src/client/events/event-page.ts`, or nothing compiles.
 */
import type { AttachmentRef, Message } from './message.js'
import type { ContextOmission, ContextRefs } from './payloads/compaction.js'
import type { Connect, HookPreview } from './payloads/governance.js'
import type { QueuedItem } from './status.js'

/** The action after a failed request to a model. */
export type NextRequest =
  /** The same model is called again. */
  | 'retry'
  /** The next model of the list is called. */
  | 'fallback'
  /** The thread waits for the time that the provider requested. */
  | 'wait'
  /** No request follows. */
  | 'none'

/** What the model is called for. */
export type RoutingKind =
  /** The next answer of a side. */
  | 'reply'
  /** The answer of a prompt that is called as a tool. */
  | 'nested'
  /** The first arguments of an immediate subagent. */
  | 'bootstrap'
  /** A summary of messages that a context leaves out. */
  | 'summary'

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

/** How a model is chosen. */
export type RoutingMode =
  /** One model may be called. */
  | 'single'
  /** Several may, in the order of the prompt's model and its fallbacks. */
  | 'ordered'
  /** None may. */
  | 'none'

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

/**
 * The choice of a model. Every `model.requested` has it, and a `context.resolved` right before it. What other runtimes
 * emit as events of their own are views of these:
 *
 * | Event elsewhere | Here |
 * |---|---|
 * | `task.profile.resolved` | `routing.kind`, `source`, `needs`, and `tokens` of `context.resolved`; the fallback policy is the order of `candidates` |
 * | `routing.candidates.resolved` | `routing.candidates`: those without `excluded` are available |
 * | `routing.decided` | `model.requested`: `model` is selected; `mode`, `source`, `reason`, `requested` of its `routing`; the fallback chain is the available candidates behind it, the gap its `lacks`, the state of limits what excludes the others |
 * | `routing.fallback.applied` | `model.requested` with the reason `fallback`, and `fallbackFrom` |
 * | `routing.single_candidate` | `model.requested` with the mode `single` |
 * | `routing.not_possible` | `model.unavailable` |
 */
export interface Routing {
  /** What it is called for. */
  readonly kind: RoutingKind
  /** What the request needs. */
  readonly needs: readonly ModelNeed[]
  /** How it is chosen. */
  readonly mode: RoutingMode
  /** What names the models and their settings. */
  readonly source: 'prompt'
  /** The prompt's model. */
  readonly requested: string
  /** The prompt's model and its fallbacks, in the order of the calls. */
  readonly candidates: readonly RoutingCandidate[]
  /** Why this model. */
  readonly reason: RoutingReason
  /** The model whose place it takes; only with the reason `fallback`. */
  readonly fallbackFrom?: string
}

/** A model that a prompt names, as its own or as a fallback. */
export interface RoutingCandidate {
  /** The name of the model. */
  readonly model: string
  /**
   * Why it is not called now: `not_registered`, `no_tool_calls`, `out_of_time`, `passed_over` for a model behind it that lacks
   * nothing, or the kind of its failure in this step.
   */
  readonly excluded?: string
  /** What the request needs and the model lacks. If no better one is left, it is called: without tools, with notes for files, with a shorter history. */
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

/** What a request to a model is made of. */
export interface ContextManifest {
  /** The agent. */
  readonly agent: string
  /** The name of the model's provider; null if it could not create the model. */
  readonly provider: string | null
  /** The name of the model. */
  readonly model: string
  /** The provider's id of the model. */
  readonly modelId: string
  /** The tokens that the model accepts; null if its definition does not say so. */
  readonly contextWindow: number | null
  /** The number of messages in the request. */
  readonly messages: number
  /** The number of tools in the request. */
  readonly tools: number
  /** The number of older messages that the context window leaves out. */
  readonly dropped?: number
  /** An estimate of the tokens of the request. */
  readonly estimatedTokens?: number
  /** The parts of this estimate. */
  readonly tokens: ContextTokens
  /** The sections of the request that are not empty. */
  readonly items: readonly ContextItem[]
  /** The first and the last message of the request, by id; left out if nothing is omitted: then it has all that the prompt sees. */
  readonly refs?: ContextRefs
  /** What the request leaves out or shortens, by name; left out: nothing. */
  readonly omissions?: readonly ContextOmission[]
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
  /** What it is made of: `system` and `subagents` are the part `system`; `summary`, `messages` and `results` are the part `history`. */
  readonly kind: 'system' | 'subagents' | 'tools' | 'summary' | 'messages' | 'results' | 'user'
  /** The number of its texts, tools or messages. */
  readonly count: number
  /** An estimate of its tokens. */
  readonly tokens: number
}

/** The kinds of calls that are judged. */
export type ActionKind =
  /** Code of a worker. */
  | 'tool'
  /** A nested step. */
  | 'prompt'
  /** Another agent takes over the thread. */
  | 'hand_off'
  /** A thread of its own. */
  | 'subagent'
  /** A message to such a thread. */
  | 'subagent_message'

/** What was decided about a call. */
export type PermissionOutcome =
  /** It may run. */
  | 'allowed'
  /** It must not run. */
  | 'denied'
  /** A person decides. */
  | 'asked'

/** What decided about a call. */
export type PermissionSource =
  /** A rule of the worker. */
  | 'worker'
  /** A rule of the agent. */
  | 'agent'
  /** A rule of the thread's account. */
  | 'account'
  /** A rule of the thread's user. */
  | 'user'
  /** A rule of the thread. */
  | 'thread'
  /** A rule of the run, which came with a message. */
  | 'run'
  /** `needsApproval` of the tool. */
  | 'tool'
  /** The mode of the thread or the worker. */
  | 'mode'
  /** The policy function of the worker. */
  | 'policy'
  /** A hook that decides. */
  | 'hook'
  /** An approval that a person wanted remembered. */
  | 'grant'
  /** The call needs an approval, and in this thread nobody can be asked. */
  | 'not_interactive'

/** How a request for an approval ended. */
export type PermissionResolution =
  /** A person allowed the call. */
  | 'allowed'
  /** A person did not allow the call, or answered in its place. */
  | 'denied'
  /** Nobody answered in time. */
  | 'timed_out'
  /** The call or its run ended first. */
  | 'cancelled'

/** The subject of a budget. */
export type BudgetScope =
  /** One run. */
  | 'run'
  /** One thread. */
  | 'thread'
  /** A root thread with all of its subagents. */
  | 'tree'
  /** A user of an account, or of threads without an account. */
  | 'user'
  /** An account. */
  | 'account'

/** The time that a budget is for. */
export type BudgetPeriod =
  /** All time. */
  | 'total'
  /** Each hour of UTC. */
  | 'hour'
  /** Each day of UTC. */
  | 'day'
  /** Each month of UTC. */
  | 'month'

/** What a budget limits. */
export type BudgetLimit =
  /** Steps. */
  | 'maxSteps'
  /** Requests to models. */
  | 'maxModelCalls'
  /** Calls of tools, agents and prompts that a model has made. */
  | 'maxToolCalls'
  /** Seconds of work, without the time in which a run waits for a person. */
  | 'maxRuntimeSeconds'
  /** Tokens of requests. */
  | 'maxInputTokens'
  /** Tokens of answers. */
  | 'maxOutputTokens'
  /** US dollars. */
  | 'maxCost'

/**
 * A limit of a budget, and what is used of it. What other runtimes emit as events of their own about costs and limits are
 * views of these, each with the ids of its run and step:
 *
 * | Event elsewhere | Here |
 * |---|---|
 * | `cost.estimated` | `context.resolved`: `estimatedTokens`, times the `inputPrice` of the candidate in the `model.requested` behind it |
 * | `cost.recorded` | `model.completed`: `usage.cost` |
 * | `rate_limit.hit` | `limit.changed`, of an account; `model.failed` with the error `rate_limited` or `throttled`, of a provider |
 * | `quota.low` | `budget.warning` |
 * | `quota.blocked` | `budget.exceeded` |
 */
export interface BudgetFact {
  /** The subject of the budget. */
  readonly scope: BudgetScope
  /** The time that the budget is for. */
  readonly period: BudgetPeriod
  /** What is limited. */
  readonly limit: BudgetLimit
  /** The limit. */
  readonly most: number
  /** What is used of it, in the same unit. */
  readonly used: number
}

/** The kind of answer that is needed. */
export type RequestKind =
  /** The decision whether a tool call may run. */
  | 'approval'
  /** The decision whether a limit of a budget is raised. */
  | 'budget'
  /** The result of a tool call. */
  | 'call'
  /** The values of required variables. */
  | 'variables'

/** How a request for an answer ended. */
export type ActionDecision =
  /** The call may run. */
  | 'approved'
  /** The call may not run. */
  | 'denied'
  /** The result arrived. */
  | 'answered'
  /** The variables have values. */
  | 'supplied'
  /** The call or run that needed the answer ended without it. */
  | 'closed'
  /** Nobody approved in time, or the variables of a subagent did not arrive in time. */
  | 'expired'

/** Why an effect failed. */
export type EffectFailureCode =
  /** Its code threw. */
  | 'threw'
  /** Its code did not end in time. */
  | 'timeout'
  /** No worker has an effect of this name. */
  | 'definition_missing'
  /** It was stopped while it ran. */
  | 'interrupted'
  /** Its arguments do not fit its schema. */
  | 'invalid_arguments'
  /** It wrote a file that the store refuses. */
  | 'invalid_file'
  /** It requested more operations than one answer can hold. */
  | 'too_many_operations'
  /** Its activity failed for good. */
  | 'given_up'

/** Who asked for the end of a thread. */
export type TerminatedBy =
  /** A caller of the client, of HTTP or of the command line. */
  | 'client'
  /** Code of its parent. */
  | 'parent'
  /** Code of one of its subagents. */
  | 'child'
  /** Its parent was closed, waits for it no longer, or never started it. */
  | 'runtime'

/** Why the runtime refused or skipped something. */
export type WarningCode =
  /** An activity was completed from outside with an invalid answer. */
  | 'answer_refused'
  /** An activity that went on by itself answered with something that is not what the thread does next. */
  | 'ahead_dropped'
  /** `needsApproval` threw or hung, so a person decides. */
  | 'approval_check_failed'
  /** The preview of a call threw, hung or was no preview, so the call was denied. */
  | 'preview_failed'
  /** The policy function of the worker threw, hung or gave a wrong answer, so the call was denied. */
  | 'policy_failed'
  /** An effect was refused, because the thread has as many scheduled effects as it may have. */
  | 'effects_full'
  /** A hook that decides about calls threw, hung, gave a wrong answer or is on no worker, so the call was denied. */
  | 'hook_denied'
  /** The thread had more facts than it keeps between two activities; `count` were dropped. */
  | 'facts_dropped'
  /** Hooks have refused the end of a run three times, so it ended without them being asked again. */
  | 'end_refused_often'
  /** The answers of a run did not fit the output of its agent, also after it was asked again three times. */
  | 'output_invalid'
  /** An immediate subagent was not started. */
  | 'immediate_skipped'
  /** A signal with an invalid message was skipped; `message` names the problem. */
  | 'message_skipped'
  /**
   * The answers of tool calls were lost, and their operations did not fit into one answer; `count` operations were
   * dropped.
   */
  | 'operations_dropped'
  /** A signal with invalid operations was skipped; `message` names the problem. */
  | 'operations_skipped'
  /** An item was refused, because the queue is full. */
  | 'queue_full'
  /** An invalid report of a subagent was skipped; `message` names the problem. */
  | 'report_skipped'
  /** An invalid signal with variables was skipped; `message` names the problem. */
  | 'set_env_skipped'
  /** A signal with an unknown name was skipped. */
  | 'signal_unknown'
  /** An invalid signal to stop was skipped; `message` names the problem. */
  | 'stop_skipped'
  /** An outbound signal was refused, because too many are pending. */
  | 'outbound_full'
  /** The writes of a tool to another thread were dropped, because that thread was closed. */
  | 'thread_closed'
  /** A source of tools gave no list, or has tools that cannot be offered; `message` names them. */
  | 'tools_left_out'
  /** A queued tool was skipped: its signal was invalid, the store does not have it, or its run could not begin. */
  | 'tool_skipped'

/** The fields that delivery adds from other tables of the store, by type. */
export interface JoinedPayloads {
  'thread.terminating': {
    /** The reason that was given, as the row of the thread has it; null if none was. */
    readonly reason: string | null
  }
  'thread.status': {
    /** The description, as the row of the thread has it when the event is delivered; null if it has none. */
    readonly status: string | null
  }
  'run.cancelled': {
    /** Why it was stopped, as the one who stopped it said; null if nobody did. */
    readonly cancelReason: string | null
  }
  'message.created': JoinedMessage
  'message.updated': JoinedMessage
  'queue.changed': {
    /** The first 50 items that wait when the event is delivered, in order. */
    readonly queue: readonly (QueuedItem & { readonly preview?: string })[]
  }
  'tool.started': Preview
  'tool.result': Preview & {
    /** The files of the result. */
    readonly attachments: readonly AttachmentRef[]
  }
  'action.required': Preview & RequestSubject
  'action.resolved': {
    /** The reason of the decision, if one was given; else null. */
    readonly reason: string | null
  }
  'hook.started': HookPreview
  'subagent.spawned': NamedInstance
  'subagent.input': NamedInstance
  'subagent.status': NamedInstance & {
    /** The description, or the status if there is none, as the registry has it when the event is delivered. */
    readonly status?: string
  }
  'subagent.completed': NamedInstance
  'subagent.failed': NamedInstance
  'subagent.closed': NamedInstance
}

export interface JoinedMessage {
  /** The message, truncated if it has more than 16 KiB as JSON; null if it has been removed since. */
  readonly message: Message | null
  /** True if the message is truncated; `messages()` returns all of it. */
  readonly truncated: boolean
  /** The full size of the message as JSON, in bytes. */
  readonly bytes: number
}

interface Preview {
  /** The arguments as the call has them by then, or the text of the result, truncated at 16 KiB; null if there is none. */
  readonly preview: string | null
  /** True if the preview is truncated. */
  readonly truncated: boolean
}

interface NamedInstance {
  /** The subagent's own name, if it has one. */
  readonly threadName?: string
}

interface RequestSubject {
  /** The tool whose call waits for the answer; null if none does, or if the request has been removed since. */
  readonly toolName: string | null
  /** The agent that needs the variables; only for `variables`. */
  readonly agent?: string
  /** The names of all variables that it requires; only for `variables`. */
  readonly required?: readonly string[]
  /** The names of the variables that are missing; only for `variables`. */
  readonly missing?: readonly string[]
  /** The login that the call waits for; only for a call of a server that wants one. */
  readonly connect?: Connect
}
