import type { JsonValue } from '../protocol/values.js'
import type { ListedRequest } from '../store/calls/request-lists.js'

/** A question of a thread that somebody has to answer by `respond`. Open: later versions add kinds. */
export type PendingRequest =
  | {
      readonly id: string
      /** `approval`: the call runs once it is approved; `call`: the answer is its result. */
      readonly kind: 'approval' | 'call'
      readonly toolName: string
      /** As the model wrote them; left out if they are no JSON. */
      readonly args?: JsonValue
      /** Microseconds since 1970. */
      readonly requestedAt: number
    }
  | {
      readonly id: string
      /** The run, or a subagent that is to start, lacks variables. */
      readonly kind: 'variables'
      /** Whose variables. */
      readonly agent: string
      readonly required: readonly string[]
      readonly missing: readonly string[]
      /** The thread id of the subagent that starts once they are supplied. */
      readonly child?: string
      /** Microseconds since 1970. */
      readonly requestedAt: number
    }

/** A row as callers see it. */
export function pendingRequest({ request, arguments: args }: ListedRequest): PendingRequest {
  const { id, kind, requested_at: requestedAt, detail, tool_name: toolName } = request
  if (kind !== 'variables') return { id, kind, toolName: toolName ?? '', ...parsed(args), requestedAt }
  const { agent, required, missing, child } = detail ?? {}
  return {
    id,
    kind,
    agent: typeof agent === 'string' ? agent : '',
    required: names(required),
    missing: names(missing),
    ...(typeof child === 'string' && { child }),
    requestedAt,
  }
}

function parsed(args: string | null): { readonly args?: JsonValue } {
  if (args === null) return {}
  try {
    return { args: JSON.parse(args) as JsonValue }
  } catch {
    return {}
  }
}

function names(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []
}
