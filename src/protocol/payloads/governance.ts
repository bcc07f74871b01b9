/** What events about hooks, the policy and the offered tools say, and their codes. */

/** The run of a hook. */
interface HookEvent {
  /** The id of the hook. */
  readonly hook: string
  /** The point at which the hook runs. */
  readonly point: string
}

/** The beginning of a hook. */
export interface HookBeginning extends HookEvent {
  /** Milliseconds after which it would have been abandoned. */
  readonly timeout: number
}

/** What delivery adds to the beginning of a hook. */
export interface HookPreview {
  /** What the hook is about: the arguments of the call or the text of the message, truncated at 1 KiB; null if it is about neither. */
  readonly preview: string | null
  /** True if the preview is truncated. */
  readonly truncated: boolean
}

/** The end of a hook that has not failed. */
export interface HookCompletion extends HookEvent {
  /** How it ended. */
  readonly status: HookStatus
  /** What it said. */
  readonly decision: HookDecision
  /** Milliseconds that it took. */
  readonly duration: number
  /** The ids of the messages that it injected. */
  readonly added?: readonly string[]
  /** What it has changed, as `kind:id`: `arguments` or `result` of a call, a `message`, or `system`, `messages` or `request` of a step. */
  readonly updated?: readonly string[]
}

/** The failure of a hook. */
export interface HookFailed {
  /** The id of the hook. */
  readonly hook: string
  /** The point at which the hook runs; null if no worker has the hook. */
  readonly point: string | null
  /** Why it failed. */
  readonly code: HookFailureCode
  /** True if it may succeed the next time, without a change of its code. */
  readonly retryable: boolean
  /** What became of its matter. */
  readonly fails: HookFailureMode
  /** The id under which the store keeps the error text. */
  readonly errorId: string
}

/** Why a hook failed. */
export type HookFailureCode =
  /** Its code threw. */
  | 'threw'
  /** Its code did not end in time. */
  | 'timeout'
  /** Its result is not valid for its point. */
  | 'invalid_answer'
  /** No worker has a hook of this id. */
  | 'missing'
  /** It ended the run on purpose. */
  | 'blocked'

/** How a hook ended that has not failed. */
export type HookStatus =
  /** Its answer was used. */
  | 'completed'
  /** The run was stopped first, and its answer was not awaited. */
  | 'stopped'

/** What becomes of the matter of a hook that failed. */
export type HookFailureMode =
  /** The matter goes on as if there were no hook. */
  | 'open'
  /** It is not done: the call is denied, the message refused, or the run ended. */
  | 'closed'

/** What a hook has said. */
export type HookDecision =
  /** It has no opinion, and changed nothing of what it was given. */
  | 'none'
  /** It has changed what it was given. */
  | 'change'
  /** The call and its result are no more in the transcript. */
  | 'erase'
  /** The call may run, if nothing else forbids it or wants a person. */
  | 'allow'
  /** A person decides. */
  | 'require_approval'
  /** The call is not made. */
  | 'deny'
  /** The run goes on. */
  | 'continue'

/** The tools that a prompt offers to its model. */
export interface ToolCatalog {
  /** The agent. */
  readonly agent: string
  /** The prompt that offers them. */
  readonly prompt: string
  /** How many there are. */
  readonly count: number
  /** Their names, in the order in which the model is shown them. */
  readonly tools: readonly string[]
  /** A digest of their names, descriptions and schemas: two catalogs are equal if and only if their digests are. */
  readonly digest: string
}

/** Whose policy has changed. */
export type PolicySubject =
  /** One run. */
  | 'run'
  /** One thread. */
  | 'thread'
  /** A root thread with all of its subagents. */
  | 'tree'
  /** A user, in all of their threads. */
  | 'user'

/** What has changed of a policy. */
export type PolicyChangeKind =
  /** Rules that came with a message make it stricter. */
  | 'rules_added'
  /** A person wants an approval remembered. */
  | 'grant_given'
  /** A remembered approval holds no more. */
  | 'grant_revoked'

/** A change of the policy of a thread. */
export interface PolicyChange {
  /** Whose policy has changed. */
  readonly subject: PolicySubject
  /** What has changed. */
  readonly change: PolicyChangeKind
  /** The number of rules that hold from now on; only for rules. */
  readonly rules?: number
  /** A digest of these rules; only for rules. */
  readonly digest?: string
  /** The id of the remembered approval. */
  readonly grantId?: string
  /** Who gave it; null: they named nobody. Only for one that is given. */
  readonly by?: string | null
}

/** A login that a call waits for: the person opens the address, and what it gives back is the answer. */
export interface Connect {
  /** The name of the server that wants it. */
  readonly server: string
  /** Where the person logs in: https, or http of their own machine. */
  readonly url: string
  /** What the answer has to repeat; it is a part of the address, too. */
  readonly state: string
}
