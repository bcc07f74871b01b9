import { expect, test } from 'vitest'

import { ToolError } from '../definitions/tool-error.js'
import { callError, connectError, taskError } from './mcp-errors.js'

const error = (fields: object, message = 'No', cause?: unknown) =>
  Object.assign(new Error(message, { cause }), fields)

test.each([
  ['a timeout', error({ code: 'REQUEST_TIMEOUT' }), 'timeout', 'mcp_timeout'],
  ['a connection that ended', error({ code: 'CONNECTION_CLOSED' }), 'transient', 'mcp_closed'],
  ['a connection that is gone', error({ code: 'NOT_CONNECTED' }), 'transient', 'mcp_closed'],
  ['wrong arguments', error({ code: -32_602 }), 'invalid', 'mcp_refused'],
  ['a method that is not there', error({ code: -32_601 }), 'not_found', 'mcp_refused'],
  ['an error of the server', error({ code: -32_000 }), 'unknown', 'mcp_error'],
  ['a status 401', error({ status: 401 }), 'permission', 'mcp_unauthorized'],
  ['a status 429', error({ data: { status: 429 } }), 'rate_limit', 'mcp_error'],
  ['a status 503', error({ status: 503 }), 'transient', 'mcp_error'],
  ['no answer of MCP', error({ code: 'INVALID_RESULT' }), 'permanent', 'mcp_invalid'],
  ['a broken connection', new TypeError('fetch failed'), 'transient', 'mcp_error'],
  [
    'a code of the system',
    error({}, 'fetch failed', error({ code: 'ECONNRESET' })),
    'transient',
    'mcp_error',
  ],
  [
    'a refused connection',
    error({}, 'fetch failed', error({ code: 'ECONNREFUSED' })),
    'transient',
    'mcp_unreachable',
  ],
  ['anything else', 'No', 'unknown', 'mcp_error'],
])('%s has a category and a code', (_what, thrown, category, code) => {
  const made = callError('demo', thrown)
  expect(made).toMatchObject({ category, code })
  expect(ToolError.isInstance(made) && made.message).toMatch(/^The MCP server "demo" /)
})

test('a task that the server does not know is lost, and any other failure is that of a call', () => {
  expect(taskError('demo', error({ code: -32_602 }))).toMatchObject({ code: 'mcp_task_lost' })
  expect(taskError('demo', error({ code: 'REQUEST_TIMEOUT' }))).toMatchObject({ code: 'mcp_timeout' })
})

test('a stop is no failure of the server', () => {
  const stop = new DOMException('stopped', 'AbortError')
  expect(callError('demo', stop)).toBe(stop)
})

test('a server that cannot be reached is quoted with the cause and what its program wrote, within bounds', () => {
  const made = connectError('demo', error({}, 'Failed', new Error('ENOENT')), 'x'.repeat(9_000))
  expect(made).toMatchObject({ category: 'transient', code: 'mcp_unreachable' })
  expect(made.message).toMatch(
    /^The MCP server "demo" cannot be reached: Failed: ENOENT Its program wrote: x/,
  )
  expect(made.message).toHaveLength(2_000)
})
