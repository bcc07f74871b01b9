/**
 * What kind of failure a tool call met, and what became of it.
 *
 * Owns: the categories, whether another attempt may help, the advice for each, and how codes and statuses are sorted into them. Does not
 * own: when a call is tried again (`activities/tool/tool-tries.ts`), and the text that the model reads.
 */
import type { CallOutcome } from '../status.js'

/**
 * - `transient`: the service was not there, or had a failure of its own: the same call may succeed later.
 * - `rate_limit`: the service wants fewer calls.
 * - `timeout`: no answer came in time; what the call did is not known to the caller.
 * - `invalid`: the call itself is wrong.
 * - `permission`: the caller may not do that, or is not known there.
 * - `not_found`: what the call is about is not there.
 * - `conflict`: what the call is about has changed.
 * - `permanent`: the service will refuse this call each time.
 * - `cancelled`: a stop or a person ended it.
 * - `unknown`: none of these is known.
 */
export type ToolErrorCategory =
  | 'transient'
  | 'rate_limit'
  | 'timeout'
  | 'invalid'
  | 'permission'
  | 'not_found'
  | 'conflict'
  | 'permanent'
  | 'cancelled'
  | 'unknown'

/** What a failed call says of itself. */
export interface ToolFailure {
  readonly category: ToolErrorCategory
  /** Whether the same call may succeed later. */
  readonly isRetryable: boolean
  /** How often its code was run; left out: once at most. */
  readonly attempts?: number
  /** The status of an HTTP answer. */
  readonly status?: number
  /** What took the place of the failure: a later attempt, the fallback of the tool, or a person. */
  readonly recovery?: 'retry' | 'fallback' | 'person'
}

interface CategoryFacts {
  readonly isRetryable: boolean
  /** For people and models: what to do. */
  readonly advice: string
}

const CATEGORIES: Readonly<Record<ToolErrorCategory, CategoryFacts>> = {
  transient: { isRetryable: true, advice: 'Try the same call again later.' },
  rate_limit: { isRetryable: true, advice: 'Try the same call again later, and make fewer calls.' },
  timeout: { isRetryable: true, advice: 'Check what the call has done before it is made again.' },
  invalid: { isRetryable: false, advice: 'Change the arguments.' },
  permission: { isRetryable: false, advice: 'Ask somebody who may do it.' },
  not_found: { isRetryable: false, advice: 'Check the names and ids in the arguments.' },
  conflict: { isRetryable: false, advice: 'Read the newest state, and decide again.' },
  permanent: { isRetryable: false, advice: 'Do something else.' },
  cancelled: { isRetryable: false, advice: 'Wait for the person who ended it.' },
  unknown: { isRetryable: false, advice: 'Read the error, and decide.' },
}

/** All of them. */
export const TOOL_ERROR_CATEGORIES = Object.keys(CATEGORIES) as readonly ToolErrorCategory[]

/** What to do about a failure of that category, for people and models. */
export function adviceFor(category: ToolErrorCategory): string {
  return CATEGORIES[category].advice
}

export function isRetryable(category: ToolErrorCategory): boolean {
  return CATEGORIES[category].isRetryable
}

/** The category of an HTTP answer that is no success. */
export function categoryOfStatus(status: number): ToolErrorCategory {
  if (status === 408 || status === 425 || status >= 500) return status === 501 ? 'permanent' : 'transient'
  return STATUSES[status] ?? (status >= 400 ? 'invalid' : 'permanent')
}

const STATUSES: Readonly<Record<number, ToolErrorCategory>> = {
  401: 'permission',
  403: 'permission',
  404: 'not_found',
  409: 'conflict',
  410: 'not_found',
  412: 'conflict',
  429: 'rate_limit',
}

/** The codes that the runtime itself gives to results. */
const CODES: Readonly<Record<string, ToolErrorCategory>> = {
  timeout: 'timeout',
  invalid_arguments: 'invalid',
  arguments_cut: 'invalid',
  unknown_tool: 'not_found',
  approval_required: 'permission',
}

/** What is known of a call that ended without success and whose code said nothing more. */
export function failureOfCode(
  outcome: CallOutcome,
  errorCode: string | null,
): Pick<ToolFailure, 'category' | 'isRetryable'> {
  const category = categoryOf(outcome, errorCode)
  return { category, isRetryable: isRetryable(category) }
}

function categoryOf(outcome: CallOutcome, errorCode: string | null): ToolErrorCategory {
  if (outcome === 'denied') return 'permission'
  if (outcome === 'interrupted' || outcome === 'cancelled') return 'cancelled'
  return (errorCode === null ? undefined : CODES[errorCode]) ?? 'unknown'
}
