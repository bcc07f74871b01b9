import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { servicesOfTests } from '../../../test/support/http-service.js'
import type { HttpService } from '../../../test/support/http-service.js'
import { callHttpTool, httpTool } from '../../../test/support/http-tool-call.js'
import type { JsonValue } from '../../protocol/values.js'
import { ToolError } from '../tool-error.js'
import type { ToolResult } from '../tool-result.js'
import type { ThreadState } from '../thread-state.js'
import type { ToolDefinition } from '../tool.js'
import type { HttpToolDefinition } from './http-tool.js'

const serve = servicesOfTests()

type Answer = NonNullable<Parameters<typeof serve>[0]>

const json =
  (value: JsonValue, status = 200, headers = {}): Answer =>
  (_asked, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(value))

/** The parts of a state that such a tool uses. */
function stateWith(env: Readonly<Record<string, string>> = {}) {
  const values: Record<string, unknown> = {}
  const state = {
    execution: null,
    env: async (name: string) => env[name] ?? Promise.reject(new Error(`No value of ${name}`)),
    setValue: async (key: string, value: unknown) => void (values[key] = value),
  }
  return { values, state: state as unknown as ThreadState }
}

const run = (tool: ToolDefinition<never>, args: object = {}, { state } = stateWith()): Promise<ToolResult> =>
  callHttpTool(tool, { args, state })

async function failureOf(running: Promise<unknown>): Promise<ToolError> {
  const error: unknown = await running.catch((failure: unknown) => failure)
  if (!ToolError.isInstance(error)) throw new Error(`Expected a ToolError, got ${String(error)}`)
  return error
}

const text = z.string()

describe('the request', () => {
  test('arguments stand where templates name them, and the others in the query of a GET', async () => {
    const { url, asked } = await serve()
    const args = z.object({
      id: text,
      fields: z.array(text),
      page: z.number(),
      tag: text.optional(),
      key: text,
    })
    const tool = httpTool({
      url: `${url}/a/{id}?v=1`,
      args,
      query: { f: '{fields}', t: '{tag}' },
      headers: { 'X-Key': 'k-{key}' },
    })
    await run(tool, { id: 'A 1/&?#', fields: ['x', 'y&z'], page: 2, key: 'q' })
    expect(asked[0]).toMatchObject({
      ...{ method: 'GET', url: '/a/A%201%2F%26%3F%23?v=1&f=x&f=y%26z&page=2', body: '' },
      headers: { 'x-key': 'k-q', 'user-agent': 'everthread' },
    })
  })

  test('arguments that no template names are the JSON body of a POST; a template of it keeps their types', async () => {
    const { url, asked } = await serve()
    const args = z.object({ id: text, euros: z.number(), lines: z.array(text), note: text.optional() })
    const given = { id: 'a', euros: 4, lines: ['x'] }
    await run(httpTool({ method: 'POST', url: `${url}/{id}`, args }), given)
    const body = {
      order: '{id}',
      sum: { euros: '{euros}', text: '{euros} EUR' },
      all: '{lines}',
      note: '{note}',
    }
    await run(httpTool({ method: 'PUT', url, args, body }), { ...given, note: '{euros}' })
    await run(httpTool({ method: 'POST', url, args, form: true, body: { a: '{id}', b: '{lines}' } }), {
      ...given,
      id: 'a&b=c',
    })
    expect(asked.map(({ headers }) => headers['content-type'])).toEqual([
      ...['application/json', 'application/json', 'application/x-www-form-urlencoded'],
    ])
    expect(asked.slice(0, 2).map((one) => JSON.parse(one.body) as unknown)).toEqual([
      { euros: 4, lines: ['x'] },
      // What an argument says is no template.
      { order: 'a', sum: { euros: 4, text: '4 EUR' }, all: ['x'], note: '{euros}' },
    ])
    expect(asked[2]?.body).toBe('a=a%26b%3Dc&b=x')
  })

  test.each([
    ['..'],
    ['.'],
    [''],
    ['%2e%2e'],
    ['../../admin'],
    ['a/b'],
    ['\\..\\x'],
    ['..;/'],
    ['\u{1F600}'],
  ])('an argument %j does not leave its part of the path', async (id) => {
    const { url, asked } = await serve()
    const running = run(httpTool({ url: `${url}/users/{id}/orders`, args: z.object({ id: text }) }), { id })
    const error = await running.then(
      () => null,
      (failure: unknown) => failure,
    )
    if (error === null) expect(asked[0]?.url).toMatch(/^\/users\/[^/]+\/orders$/)
    else expect(error).toMatchObject({ category: 'invalid' })
    expect(error === null ? asked.length : 0).toBe(asked.length)
  })

  test.each([
    ['a line break in a header', { headers: { x: '{v}' } }, 'a\r\nauthorization: b'],
    ['half a character', { query: { q: '{v}' } }, '\ud800'],
    ['an object in a query', { query: { q: '{v}' } }, { a: 1 }],
  ])('%s is refused, and nothing is sent', async (_what, given, v) => {
    const { url, asked } = await serve()
    const error = await failureOf(run(httpTool({ url, args: z.object({ v: z.unknown() }), ...given }), { v }))
    expect(error).toMatchObject({ category: 'invalid', code: 'invalid_arguments' })
    expect(asked).toEqual([])
  })

  test('GraphQL sends its document with the arguments as variables; errors with status 200 are a failure', async () => {
    const { url, asked } = await serve(({ body }, response) => {
      const { variables } = JSON.parse(body) as { variables: { id: string } }
      const failed = { data: null, errors: [{ message: 'No order B.' }, {}] }
      json(variables.id === 'A' ? { data: { order: { item: 'tea' } } } : failed)({} as never, response)
    })
    const graphql = 'query ($id: ID!) { order(id: $id) {item} }'
    const tool = httpTool({ url, graphql, args: z.object({ id: text }), select: '/order/item' })
    expect(await run(tool, { id: 'A' })).toEqual({ status: 'success', result: 'tea' })
    expect(asked[0]).toMatchObject({
      method: 'POST',
      body: JSON.stringify({ query: graphql, variables: { id: 'A' } }),
    })
    expect(await failureOf(run(tool, { id: 'B' }))).toMatchObject({
      ...{
        category: 'invalid',
        code: 'graphql',
        message: 'The service answered with errors: No order B.; no message',
      },
    })
  })

  test('a key of the call makes a POST one that may be repeated', async () => {
    const { url, asked } = await serve()
    const tool = httpTool({ method: 'POST', url, idempotencyHeader: 'Idempotency-Key' })
    await run(tool)
    expect(asked[0]?.headers['idempotency-key']).toBe('t:c')
    // A thread id may have any characters.
    const call = {
      id: 'c',
      attempt: 1,
      idempotencyKey: 'order ä→50%:c',
      progress: () => undefined,
      output: () => undefined,
    }
    await tool.execute(stateWith().state, {} as never, call)
    expect(asked[1]?.headers['idempotency-key']).toBe('order%20%C3%A4%E2%86%9250%25:c')
    expect([tool.idempotent, tool.readOnly]).toEqual([true, undefined])
    expect(httpTool({ url })).toMatchObject({ readOnly: true, idempotent: true })
    expect(httpTool({ url, readOnly: false, idempotent: false })).toMatchObject({
      readOnly: false,
      idempotent: false,
    })
    expect(httpTool({ method: 'DELETE', url })).toMatchObject({ idempotent: true })
    expect(httpTool({ method: 'PATCH', url }).idempotent).toBeUndefined()
  })
})

describe('credentials', () => {
  const SECRET = 'canary"of the shop'

  test.each<[string, HttpToolDefinition['auth'], (asked: HttpService['asked'][number]) => unknown, string]>([
    ['bearer', { bearer: 'KEY' }, ({ headers }) => headers.authorization, `Bearer ${SECRET}`],
    [
      'a header',
      { header: 'X-Key', variable: 'KEY', prefix: 'k=' },
      ({ headers }) => headers['x-key'],
      `k=${SECRET}`,
    ],
    [
      'basic',
      { basic: { user: 'USER', password: 'KEY' } },
      ({ headers }) => headers.authorization,
      `Basic ${Buffer.from(`operator-1:${SECRET}`).toString('base64')}`,
    ],
    [
      'a query',
      { query: 'key', variable: 'KEY' },
      ({ url }) => new URL(url, 'http://x').searchParams.get('key'),
      SECRET,
    ],
  ])('%s is sent, and is in nothing that comes back', async (_kind, auth, sent, expected) => {
    const echo =
      (status: number, type: string): Answer =>
      (asked, response) =>
        void response
          .writeHead(status, { 'content-type': type })
          .end(
            type === 'application/json'
              ? JSON.stringify(echoed(asked))
              : JSON.stringify(echoed(asked)).slice(1),
          )
    const echoed = ({ url, headers }: HttpService['asked'][number]) => {
      const bare = String(headers.authorization ?? '').replace(/^\w+ /, '')
      return { url, headers, bare, key: SECRET, [bare]: 1, long: `${'x'.repeat(1_960)}${bare}${SECRET}` }
    }
    const { state } = stateWith({ KEY: SECRET, USER: 'operator-1' })
    const kinds = [
      [200, 'application/json'],
      [200, 'text/plain'],
      [200, 'image/png'],
      [403, 'text/plain'],
      [500, 'application/json'],
    ] as const
    for (const [status, type] of kinds) {
      const { url, asked } = await serve(echo(status, type))
      const tool = httpTool({ url, ...(auth !== undefined && { auth }) })
      const came = await run(tool, {}, { state, values: {} }).catch((error: unknown) => error)
      expect(sent(asked[0] as never)).toBe(expected)
      const words =
        came instanceof Error ? `${came.message} ${came.stack} ${String(came.cause)}` : JSON.stringify(came)
      for (const form of [
        SECRET,
        JSON.stringify(SECRET).slice(1, -1),
        encodeURIComponent(SECRET),
        expected.split(' ').at(-1) ?? '',
        SECRET.slice(0, 10),
      ])
        expect(words).not.toContain(form)
    }
  })

  test('a value that cannot be sent is told without it', async () => {
    const { url, asked } = await serve()
    const error = await failureOf(
      run(httpTool({ url, auth: { bearer: 'KEY' } }), {}, stateWith({ KEY: 'can\nary-1' })),
    )
    expect(error.message).toBe('Expected the variable KEY to have a value without control characters.')
    expect(asked).toEqual([])
  })
})

describe('the answer', () => {
  test.each<[string, Answer, Partial<HttpToolDefinition>, JsonValue]>([
    ['JSON', json({ a: [1] }), {}, { a: [1] }],
    ['a part of it', json({ 'a/b': { '~': [1, { c: null }] } }), { select: '/a~1b/~0/1' }, { c: null }],
    ['a part by a function', json({ a: 1 }), { select: (answer) => Object.keys(answer as object) }, ['a']],
    ['nothing', (_asked, response) => void response.writeHead(204).end(), {}, { status: 204 }],
    [
      'a text',
      (_asked, response) =>
        void response
          .writeHead(200, { 'content-type': 'text/csv; charset=latin1' })
          .end(Buffer.from('caf\xe9', 'latin1')),
      {},
      'café',
    ],
    ['a text without a type', (_asked, response) => void response.end('plain'), {}, 'plain'],
  ])('%s is the result', async (_kind, answer, given, result) => {
    const { url } = await serve(answer)
    expect(await run(httpTool({ url, ...given }))).toEqual({ status: 'success', result })
  })

  test('anything else is a file', async () => {
    const { url } = await serve(
      (_asked, response) => void response.writeHead(200, { 'content-type': 'application/pdf' }).end('%PDF'),
    )
    expect(await run(httpTool({ url: `${url}/x/..%2fre port.pdf` }))).toEqual({
      ...{ status: 'success', result: 'A file of 4 bytes (application/pdf).' },
      attachments: [{ name: 're_port.pdf', mimeType: 'application/pdf', data: Buffer.from('%PDF') }],
    })
  })

  test.each<[string, Answer, Partial<ToolError>]>([
    [
      '503',
      json({ why: 'tea' }, 503, { 'retry-after': '7' }),
      {
        category: 'transient',
        status: 503,
        retryAfter: 7,
        message: 'The service answered 503 (Service Unavailable): {"why":"tea"}',
      },
    ],
    ['429', json({}, 429), { category: 'rate_limit', status: 429 }],
    ['401', json({}, 401), { category: 'permission', status: 401 }],
    ['304', (_asked, response) => void response.writeHead(304).end(), { category: 'permanent', status: 304 }],
    ['too long', json('x'.repeat(2_000)), { category: 'permanent', code: 'unusable_answer' }],
    [
      'broken JSON',
      (_asked, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{"a"'),
      { category: 'permanent', message: 'Expected an answer in JSON, got "{\\"a\\"".' },
    ],
    [
      'not UTF-8',
      (_asked, response) =>
        void response.writeHead(200, { 'content-type': 'text/plain' }).end(Buffer.from([0xff, 0xfe, 0x41])),
      {
        category: 'permanent',
        message: 'Expected an answer in the character set utf-8, got bytes that are none of it.',
      },
    ],
    [
      'an unknown character set',
      (_asked, response) =>
        void response.writeHead(200, { 'content-type': 'text/plain; charset=klingon' }).end('a'),
      { category: 'permanent' },
    ],
    ['slow', (_asked, response) => void response.write('a'), { category: 'timeout', code: 'http_timeout' }],
    [
      'a connection that breaks',
      (_asked, response) => void response.destroy(),
      { category: 'transient', code: 'http_connection' },
    ],
    [
      'without what is selected',
      json({ b: 1 }),
      { category: 'permanent', message: 'Expected an answer with "/a", got one without.' },
    ],
  ])('%s is a failure that says what it is', async (kind, answer, expected) => {
    const { url } = await serve(answer)
    const select = kind.startsWith('without') ? { select: '/a' } : {}
    const error = await failureOf(run(httpTool({ url, answerBytes: 1_000, requestTimeout: 300, ...select })))
    expect(error).toMatchObject(expected)
  })

  test('a connection that breaks leaves open what a POST has done', async () => {
    const { url } = await serve((_asked, response) => void response.destroy())
    expect(await failureOf(run(httpTool({ method: 'POST', url })))).toMatchObject({ category: 'timeout' })
    const key = { idempotencyHeader: 'Idempotency-Key' }
    expect(await failureOf(run(httpTool({ method: 'POST', url, ...key })))).toMatchObject({
      category: 'transient',
    })
  })

  test('a stop ends the request', async () => {
    const { url } = await serve(() => undefined)
    const abort = new AbortController()
    const { state } = stateWith()
    const execution = { abortSignal: abort.signal }
    const running = run(
      httpTool({ url }),
      {},
      { state: { ...state, execution } as unknown as ThreadState, values: {} },
    )
    abort.abort(new Error('stopped'))
    await expect(running).rejects.toThrow('stopped')
  })

  test('a private address is refused, also where a name stands for it', async () => {
    const { port, asked } = await serve()
    const tool = httpTool({ url: `https://localhost:${port}/`, allow: [] })
    expect(await failureOf(run(tool))).toMatchObject({ category: 'permission', code: 'http_address' })
    expect(asked).toEqual([])
  })
})
