import { Hono } from 'hono'
import { expect, test, vi } from 'vitest'
import { errorResponse } from './error-response.js'
import { logFailures, logRequests } from './request-log.js'
import type { RequestEntry, ServerEnv } from './server-context.js'

const CONTENT = 'the words of a person'

/** What a server logs about one request of a route that fails with content in its error. */
async function requestOfFailure(headers: Readonly<Record<string, string>> = {}) {
  const entries: RequestEntry[] = []
  const app = new Hono<ServerEnv>()
  app.onError((error, context) => errorResponse(context, error))
  app.use(logRequests({ log: (entry) => entries.push(entry) }))
  app.get('/threads/:threadId/files/:path', () => {
    throw Object.assign(new TypeError(CONTENT), { code: 'odd' })
  })
  const response = await app.request(`/threads/t1/files/${encodeURIComponent(CONTENT)}`, { headers })
  return { response, entries }
}

test('T5: the line of a failure names route, error and frames, and no content', async () => {
  const { entries } = await requestOfFailure()
  expect(entries).toMatchObject([
    {
      level: 'error',
      status: 500,
      route: '/threads/:threadId/files/:path',
      threadId: 't1',
      error: { name: 'TypeError', code: 'odd' },
    },
  ])
  expect(entries[0]?.error?.frames[0]).toMatch(/^at /)
  expect(JSON.stringify(entries)).not.toContain(CONTENT)
  expect(JSON.stringify(entries)).not.toContain(encodeURIComponent(CONTENT))
})

test('a request keeps the id of its caller, unless that could forge a line of the log', async () => {
  const kept = await requestOfFailure({ 'x-request-id': 'order-17' })
  expect(kept.response.headers.get('x-request-id')).toBe('order-17')
  expect(kept.entries[0]?.requestId).toBe('order-17')
  const replaced = await requestOfFailure({ 'x-request-id': '{"level":"info"}' })
  expect(replaced.entries[0]?.requestId).toMatch(/^[\w-]{36}$/)
  expect(replaced.response.headers.get('x-request-id')).toBe(replaced.entries[0]?.requestId)
})

test('by default only failures are written, one line of JSON each', async () => {
  const { entries } = await requestOfFailure()
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  for (const entry of entries) {
    logFailures({ ...entry, level: 'info', status: 200 })
    logFailures(entry)
  }
  const lines = write.mock.calls.map(([line]) => String(line))
  write.mockRestore()
  expect(lines).toHaveLength(1)
  expect(lines[0]?.endsWith('\n')).toBe(true)
  expect(JSON.parse(lines[0] ?? '')).toEqual(entries[0])
})
