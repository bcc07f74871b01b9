import { OpenAPIHono } from '@hono/zod-openapi'
import { expect, test } from 'vitest'
import { addDevRoutes, refuseForeign } from './dev-routes.js'

const ask = (headers: Record<string, string>): number | undefined =>
  refuseForeign(new Request('http://127.0.0.1:8080/dev/status', { headers }), 8080)?.status

test('a name or port of another site is refused, and so is a page of one', () => {
  for (const host of ['127.0.0.1:8080', 'localhost:8080', 'LOCALHOST:8080', '[::1]:8080']) {
    expect(ask({ host })).toBeUndefined()
    expect(ask({ host, origin: 'http://localhost:8080' })).toBeUndefined()
    for (const origin of ['http://evil.example', 'http://localhost:3000', 'https://localhost:8080', 'null'])
      expect(ask({ host, origin })).toBe(403)
  }
  for (const host of ['evil.example', 'evil.example:8080', 'localhost', '127.0.0.1:8081', ''])
    expect(ask({ host })).toBe(403)
})

test('the refusal has the shape of every error', async () => {
  const refused = refuseForeign(new Request('http://x/', { headers: { host: 'evil.example' } }), 8080)
  expect(await refused?.json()).toEqual({
    error: {
      code: 'foreign_request',
      message: expect.stringContaining('Expected the header "Host"'),
      requestId: expect.any(String),
    },
  })
})

test('status, kill and deploy are routes', async () => {
  const asked: string[] = []
  const status = {
    worker: { state: 'running', pid: 1, since: 2, deploys: 3, draining: [] },
    problem: null,
    model: null,
  } as const
  const app = new OpenAPIHono()
  addDevRoutes(app as never, {
    status: () => status,
    kill: () => void asked.push('kill'),
    deploy: () => void asked.push('deploy'),
  })
  expect(await (await app.request('/dev/status')).json()).toEqual(status)
  for (const path of ['/dev/kill-worker', '/dev/deploy'])
    expect((await app.request(path, { method: 'POST' })).status).toBe(202)
  expect(asked).toEqual(['kill', 'deploy'])
})
