/**
 * What an error of the MCP client means for a call.
 *
 * Owns: the category and the code of each. Does not own: errors that a tool returns as its result (`tool-answer.ts`).
 * It reads errors by their fields, so that it does not load the client.
 */
import { ToolError } from '../definitions/tool-error.js'
import { isObject } from '../protocol/values.js'

/** JSON-RPC. */
const [INVALID_PARAMS, METHOD_NOT_FOUND] = [-32_602, -32_601]
const LONGEST = 2_000

const NOT_SENT: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'])

/** A server that cannot be started or reached: nothing was called. `told`: what its program wrote. */
export function connectError(server: string, error: unknown, told: string): ToolError {
  if (ToolError.isInstance(error)) return error
  const wrote = told === '' ? '' : ` Its program wrote: ${told}`
  const message = `The MCP server "${server}" cannot be reached: ${reasonOf(error)}${wrote}`.slice(0, LONGEST)
  const status = statusOf(error)
  if (status === 401 || status === 403)
    return new ToolError(message, { category: 'permission', code: 'mcp_unauthorized', status, cause: error })
  return new ToolError(message, { category: 'transient', code: 'mcp_unreachable', cause: error })
}

/** A request that failed. What it did is not known where no answer came. */
export function callError(server: string, error: unknown): unknown {
  if (ToolError.isInstance(error) || (error instanceof Error && error.name === 'AbortError')) return error
  const say = (text: string): string => `The MCP server "${server}" ${text}`.slice(0, LONGEST)
  const status = statusOf(error)
  if (status !== null) {
    const code = status === 401 || status === 403 ? 'mcp_unauthorized' : 'mcp_error'
    return new ToolError(say(`answered with ${status}: ${reasonOf(error)}`), { status, code, cause: error })
  }
  switch (fieldOf(error, 'code')) {
    case 'REQUEST_TIMEOUT':
      return new ToolError(say('did not answer in time: what the call did is not known.'), {
        ...{ category: 'timeout', code: 'mcp_timeout', cause: error },
      })
    case 'CONNECTION_CLOSED':
    case 'NOT_CONNECTED':
    case 'SEND_FAILED':
      return new ToolError(say('ended the connection before it answered: what the call did is not known.'), {
        ...{ category: 'transient', code: 'mcp_closed', cause: error },
      })
    case INVALID_PARAMS:
      return new ToolError(say(`refused the call: ${reasonOf(error)}`), {
        category: 'invalid',
        code: 'mcp_refused',
      })
    case METHOD_NOT_FOUND:
      return new ToolError(say(`refused the call: ${reasonOf(error)}`), {
        category: 'not_found',
        code: 'mcp_refused',
      })
    case 'UNSUPPORTED_RESULT_TYPE':
    case 'INVALID_RESULT':
      return new ToolError(say(`gave an answer that is none of MCP: ${reasonOf(error)}`), {
        ...{ category: 'permanent', code: 'mcp_invalid', cause: error },
      })
  }
  // No connection was made, so nothing was sent.
  if (NOT_SENT.has(fieldOf(fieldOf(error, 'cause'), 'code'))) return connectError(server, error, '')
  const isOfServer = typeof fieldOf(error, 'code') === 'number'
  return new ToolError(say(`failed: ${reasonOf(error)}`), {
    ...{ code: 'mcp_error', cause: error },
    // A connection that broke has a code of the system, which the category is read from.
    ...(isOfServer || !isBroken(error) ? { category: 'unknown' } : { category: 'transient' }),
  })
}

/** A question about a task that failed. One that the server does not know is gone, whatever it has done. */
export function taskError(server: string, error: unknown): unknown {
  if (ToolError.isInstance(error) || fieldOf(error, 'code') !== INVALID_PARAMS)
    return callError(server, error)
  const message = `The MCP server "${server}" does not know the task of the call any more: what it did is not known.`
  return new ToolError(message, { category: 'not_found', code: 'mcp_task_lost', cause: error })
}

function isBroken(error: unknown): boolean {
  return error instanceof TypeError || typeof fieldOf(fieldOf(error, 'cause'), 'code') === 'string'
}

function statusOf(error: unknown): number | null {
  const status = fieldOf(error, 'status') ?? fieldOf(fieldOf(error, 'data'), 'status')
  return typeof status === 'number' && status >= 400 && status < 600 ? status : null
}

/** The message, and that of the cause, which says more with `fetch`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message, cause } = error
  const code = fieldOf(cause, 'code')
  const reason = cause instanceof Error ? cause.message || (typeof code === 'string' ? code : '') : ''
  return reason === '' || message.includes(reason) ? message : `${message}: ${reason}`
}

function fieldOf(value: unknown, field: string): unknown {
  if (value instanceof Error) return (value as unknown as Readonly<Record<string, unknown>>)[field]
  return isObject(value) ? value[field] : undefined
}
