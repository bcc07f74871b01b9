/**
 * The action that a policy judges: a call of a tool, agent or prompt before it has an effect. A policy knows of an action only what stands here.
 */
import type { ActionKind } from '../protocol/event-codes.js'
import type { JsonObject } from '../protocol/values.js'
import type { ApprovalRule } from './approval.js'
import type { Effect } from './permissions.js'
import type { RunContext } from './run-context.js'

/** What is lost or hard to take back, for a person who decides and for the record. */
export interface DestructiveFacts {
  /** What the call changes, and for whom. */
  readonly impact: string
  /** How to take it back, if that is possible. */
  readonly undo?: string
}

/** What a definition says about all of its calls. */
export interface ActionTraits {
  /**
   * The authority that a call needs, such as `orders.refund`: names of your own, which rules refer to. A name says what may be done
   * and not by which tool.
   */
  readonly capabilities?: readonly string[]
  /** True if a call changes nothing outside. @default false */
  readonly readOnly?: boolean
  /** True, or the facts, if a call destroys something or is hard to take back. @default false */
  readonly destructive?: boolean | DestructiveFacts
}

/**
 * What a policy knows of the call that starts an agent or a prompt. What these do is judged by their own calls, so a mode says
 * nothing about the start: it counts as read-only.
 */
export function traitsOfStart(capabilities: readonly string[] = []): ActionTraits {
  return { capabilities, readOnly: true }
}

/** Returns what is wrong with the value of `destructive`; undefined is none. */
export function destructiveProblem(value: unknown): string | undefined {
  if (value === undefined || typeof value === 'boolean') return undefined
  const facts = Object.entries(typeof value === 'object' && value !== null ? value : { value })
  const isText = (text: unknown): boolean => typeof text === 'string' && text.trim() !== ''
  const isKnown = facts.every(([name, text]) => (name === 'impact' || name === 'undo') && isText(text))
  const hasImpact = facts.some(([name]) => name === 'impact')
  return isKnown && hasImpact
    ? undefined
    : 'expected true, false or { impact, undo }, texts that are not blank'
}

/** A call, as policies and people see it. */
export interface Action {
  /** The id of the call, which is stable over all attempts. */
  readonly id: string
  readonly kind: ActionKind
  /** The name that was called. */
  readonly name: string
  /** Those of a tool are checked, with defaults applied; those of an agent or a prompt are as the model wrote them. */
  readonly arguments: JsonObject
  readonly capabilities: readonly string[]
  readonly readOnly: boolean
  readonly destructive: boolean | DestructiveFacts
}

/** For whom and where an action would be done. It is JSON. Its rules count whatever the policy function says. */
export interface ActionContext extends RunContext {
  readonly threadId: string
  readonly agent: string
  readonly account: string | null
  readonly userId: string | null
  readonly tags: readonly string[]
  readonly run: number
  readonly step: number
  /** What started the thread; null for a root thread. */
  readonly parent: ActionParent | null
}

/** The call that started a subagent. */
export interface ActionParent {
  readonly threadId: string
  readonly runId: string
  readonly toolCallId: string
}

/**
 * The answer of a policy function: an effect, or one with the reason that stands in the record, and with a rule for the approval that
 * it demands.
 */
export type PolicyAnswer =
  | Effect
  | boolean
  | { readonly effect: Effect; readonly reason?: string; readonly approval?: ApprovalRule }

/**
 * Judges an action by its arguments and its context. It can make the effect of rules stricter and never weaker. If it throws, does
 * not answer within 30 seconds or answers something else, the action is denied.
 */
export type Policy = (action: Action, context: ActionContext) => PolicyAnswer | Promise<PolicyAnswer>

/** Declares a policy function for the option `policy` of a worker. */
export function definePolicy(policy: Policy): Policy {
  return policy
}
