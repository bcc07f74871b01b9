import { readFile } from 'node:fs/promises'

import { expect, test } from 'vitest'

import { ACME, serverFixture } from './server-fixture.js'

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
}

interface Asked {
  readonly name: string
  readonly method: string
  readonly path: string
}

/** All routes of the OpenAPI document that take a query, with the parameters that they need. */
const ASKED = await asked()

const server = serverFixture({ toolWorkers: [{ token: 'worker-of-python-1', taskQueues: ['python'] }] })

test('the routes that take a query are known', () => {
  expect(ASKED.map(({ name }) => name).toSorted()).toEqual([
    'DELETE /budgets',
    'DELETE /permissions',
    'DELETE /sessions/{sessionId}',
    'DELETE /threads/{threadId}',
    'DELETE /threads/{threadId}/files/content',
    'GET /budgets',
    'GET /grants',
    'GET /permissions',
    'GET /requests',
    'GET /sessions',
    'GET /sessions/{sessionId}',
    'GET /thread-counts',
    'GET /threads',
    'GET /threads/{threadId}/ag-ui/runs/{runId}',
    'GET /threads/{threadId}/artifacts',
    'GET /threads/{threadId}/boundaries',
    'GET /threads/{threadId}/children',
    'GET /threads/{threadId}/decisions',
    'GET /threads/{threadId}/errors',
    'GET /threads/{threadId}/events',
    'GET /threads/{threadId}/files',
    'GET /threads/{threadId}/files/content',
    'GET /threads/{threadId}/grants',
    'GET /threads/{threadId}/messages',
    'GET /threads/{threadId}/queue',
    'GET /threads/{threadId}/result',
    'GET /threads/{threadId}/ui-messages',
    'GET /threads/{threadId}/ui-messages/stream',
    'GET /threads/{threadId}/usage',
    'GET /tool-calls/{threadId}/{callId}/files',
    'GET /webhooks',
    'PUT /budgets',
    'PUT /permissions',
    'PUT /threads/{threadId}/files/content',
    'PUT /tool-calls/{threadId}/{callId}/files',
  ])
})

test.each(ASKED)('a query that $name does not have is refused by its name', async ({ method, path }) => {
  const { status, body } = await ask(method, `${path}unknown=1`)
  expect([status, body.error.code]).toEqual([400, 'bad_request'])
  expect(body.error.message).toMatch(/^query: .*"unknown"/)
})

test.each([
  ['/messages?limit=x', 'limit'],
  ['/messages?limit=', 'limit'],
  ['/messages?limit=1&limit=2', 'limit'],
  ['/messages?before=-1', 'before'],
  ['/messages?includeSilent=yes', 'includeSilent'],
  ['/messages?maxDepth=99', 'maxDepth'],
  ['/files?path=/a&path=/b', 'path'],
  ['/files/content', 'path'],
  ['/events?follow=1', 'follow'],
  ['/events?after=1&after=2', 'after'],
])('a query such as %s is refused by its name', async (query, name) => {
  const threadId = await server.thread()
  const { status, body } = await server.call(`/threads/${threadId}${query}`, { token: ACME })
  expect([status, body.error.code]).toEqual([400, 'bad_request'])
  expect(body.error.message).toMatch(new RegExp(`^${name}: `))
})

async function ask(method: string, path: string) {
  const threadId = await server.thread()
  return server.call(path.replace(/\{(?:thread|session)Id\}/, threadId).replace('{callId}', 'c1'), {
    method,
    token: ACME,
  })
}

async function asked(): Promise<readonly Asked[]> {
  const text = await readFile(new URL('../../docs/generated/openapi.json', import.meta.url), 'utf8')
  const { paths } = JSON.parse(text) as {
    paths: Record<string, Record<string, { readonly parameters?: readonly Parameter[] }>>
  }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [] }]) => {
      const taken = parameters.filter((parameter) => parameter.in === 'query')
      if (taken.length === 0) return []
      const needed = taken.filter(({ required }) => required === true).map(({ name }) => `${name}=/a&`)
      const name = `${method.toUpperCase()} ${path}`
      return [{ name, method: method.toUpperCase(), path: `${path}?${needed.join('')}` }]
    }),
  )
}
