import type { AgentDefinition } from '../../definitions/agent.js'
import type { SubagentContent } from '../../definitions/plan-content.js'
import { failed } from '../execute-tool/call-result.js'
import type { CallResult } from '../execute-tool/call-result.js'

/** What one child begins with. */
export interface RequestedChild {
  /** The instance's own name. */
  readonly name: string
  readonly message: string
  /** Files of the parent that it gets. */
  readonly paths: readonly string[]
}

/** The children that a call asks for, or why they cannot be had, in words for the model. */
export type RequestedChildren =
  | { readonly kind: 'refused'; readonly result: CallResult }
  | { readonly kind: 'requested'; readonly subject: Subject; readonly children: readonly RequestedChild[] }

/** Whom the children are instances of. */
export interface Subject {
  readonly binding: SubagentContent
  readonly agent: AgentDefinition
}

export function refusal(
  reason: string,
  errorCode: string | null = null,
): Extract<RequestedChildren, { readonly kind: 'refused' }> {
  return { kind: 'refused', result: failed(reason, errorCode) }
}

/** Arguments that are wrong. */
export function invalid(reason: string): ReturnType<typeof refusal> {
  return refusal(reason, 'invalid_arguments')
}
