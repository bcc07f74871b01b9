import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { httpService } from '../../../test/support/http-service.js'
import type { HttpService } from '../../../test/support/http-service.js'
import { ConfigError } from '../../protocol/errors.js'
import { toInputSchema } from '../plan/argument-schema.js'
import { parseToolArguments } from '../plan/tool-arguments.js'
import type { ThreadState } from '../thread-state.js'
import type { ToolDefinition } from '../tool.js'
import { httpToolsFromOpenApi } from './open-api.js'
import type { OpenApiTools } from './open-api.js'

const SHOP = {
  openapi: '3.0.3',
  servers: [{ url: 'https://{region}.shop.example/v1/', variables: { region: { default: 'eu' } } }],
  paths: {
    '/orders/{order-id}': {
      parameters: [{ $ref: '#/components/parameters/order' }],
      get: {
        operationId: 'getOrder',
        summary: 'One order.',
        parameters: [
          { name: 'fields', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
          { name: 'X-Trace', in: 'header', schema: { type: 'string' } },
          { name: 'session', in: 'cookie', schema: { type: 'string' } },
        ],
      },
      put: {
        operationId: 'orders.change',
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Order' } } },
        },
      },
      delete: { deprecated: true },
    },
    '/orders': {
      post: {
        operationId: 'createOrders',
        requestBody: {
          content: {
            'application/vnd.shop+json': {
              schema: { type: 'array', items: { $ref: '#/components/schemas/Order' } },
            },
          },
        },
      },
    },
    '/login': {
      post: {
        operationId: 'login',
        requestBody: {
          required: true,
          content: {
            'application/x-www-form-urlencoded': {
              schema: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
            },
          },
        },
      },
    },
    '/files': {
      post: { operationId: 'upload', requestBody: { required: true, content: { 'image/png': {} } } },
      get: {
        operationId: 'search',
        parameters: [{ name: 'filter', in: 'query', schema: { type: 'object' } }],
      },
      patch: {
        operationId: 'signed',
        parameters: [{ name: 'sid', in: 'cookie', required: true, schema: { type: 'string' } }],
      },
    },
    '/elsewhere': {
      get: { operationId: 'far', parameters: [{ $ref: 'https://other.example/p.json' }] },
      post: { operationId: 'gone', parameters: [{ $ref: '#/components/parameters/none' }] },
    },
    '/broken/{id}': { get: { operationId: 'broken' } },
  },
  components: {
    parameters: { order: { name: 'order-id', in: 'path', required: true, schema: { type: 'string' } } },
    schemas: {
      Order: {
        type: 'object',
        required: ['id', 'euros', 'order-id'],
        properties: {
          id: { type: 'string', readOnly: true },
          euros: { type: 'number', minimum: 0, exclusiveMinimum: true, example: 3 },
          'order-id': { type: 'string' },
          note: { type: 'string', nullable: true },
          parts: { type: 'array', items: { $ref: '#/components/schemas/Order' } },
          kind: { oneOf: [{ type: 'string', enum: ['a', 'b'] }, { type: 'integer' }] },
        },
      },
    },
  },
}

let service: HttpService
beforeAll(async () => {
  service = await httpService((_asked, response) => void response.end())
})
afterAll(() => service.close())

const tools = (
  operations: OpenApiTools['operations'],
  more: Partial<OpenApiTools> = {},
  document: object = SHOP,
) =>
  httpToolsFromOpenApi(document, { operations, server: `${service.url}/v1`, allow: ['127.0.0.1'], ...more })

const problems = (making: () => unknown): readonly string[] => {
  try {
    making()
    return []
  } catch (error) {
    if (ConfigError.isInstance(error)) return error.problems
    throw error
  }
}

async function call(tool: ToolDefinition | undefined, args: object) {
  if (tool === undefined) throw new Error('Expected a tool')
  const parsed = parseToolArguments(tool, JSON.stringify(args))
  if (!parsed.ok) throw new Error(parsed.problem)
  const state = { execution: null, env: async () => 'a-secret-value' } as unknown as ThreadState
  await tool.execute(state, parsed.args as never, {
    id: 'c',
    attempt: 1,
    idempotencyKey: 'k',
    progress: () => undefined,
    output: () => undefined,
  })
  return service.asked.at(-1)
}

describe('an operation that is named becomes a tool', () => {
  test('with its parameters as arguments', async () => {
    const made = tools(
      { getOrder: { capabilities: ['orders.read'] } },
      { auth: { bearer: 'SHOP_KEY' }, prefix: 'shop_' },
    )
    expect(Object.keys(made)).toEqual(['shop_getOrder'])
    const { shop_getOrder: tool } = made
    expect(tool).toMatchObject({ description: 'One order.', readOnly: true, capabilities: ['orders.read'] })
    expect(tool?.args && toInputSchema(tool.args)).toEqual({
      type: 'object',
      properties: {
        'order-id': { type: 'string' },
        fields: { type: 'array', items: { type: 'string' } },
        'X-Trace': { type: 'string' },
      },
      required: ['order-id'],
      additionalProperties: false,
    })
    expect(await call(tool, { 'order-id': 'A/1', fields: ['a', 'b'], 'X-Trace': 't' })).toMatchObject({
      ...{ method: 'GET', url: '/v1/orders/A%2F1?fields=a&fields=b' },
      headers: { 'x-trace': 't', authorization: 'Bearer a-secret-value' },
    })
    expect((await call(tool, { 'order-id': 'A' }))?.url).toBe('/v1/orders/A')
    await expect(call(tool, { 'order-id': 'A', more: 1 })).rejects.toThrow('more')
  })

  test('with the fields of its body as arguments: old forms are those of today, and what only answers have is left out', async () => {
    const { orders_change: tool } = tools(['orders.change'])
    const schema = tool?.args && toInputSchema(tool.args)
    expect(schema).toMatchObject({
      required: ['order-id', 'euros', 'order-id_body'],
      properties: {
        euros: { type: 'number', exclusiveMinimum: 0 },
        note: { type: ['string', 'null'] },
        // A circle ends in any value.
        parts: { type: 'array', items: {} },
        kind: { anyOf: [{ type: 'string', enum: ['a', 'b'] }, { type: 'integer' }] },
      },
    })
    expect(schema?.properties).not.toHaveProperty('id')
    const given = { 'order-id': 'A', 'order-id_body': 'B', euros: 4, note: null }
    expect(await call(tool, given)).toMatchObject({
      ...{ method: 'PUT', url: '/v1/orders/A', body: '{"euros":4,"order-id":"B","note":null}' },
    })
    await expect(call(tool, { ...given, euros: 0 })).rejects.toThrow('euros')
  })

  test('with any other body as one argument, or as a form, by id or by method and path', async () => {
    const made = tools(['createOrders', 'login', 'DELETE /orders/{order-id}'])
    expect(Object.keys(made)).toEqual(['createOrders', 'login', 'DELETE_orders_order-id'])
    expect((await call(made['createOrders'], { body: [{ euros: 1, 'order-id': 'A' }] }))?.body).toBe(
      '[{"euros":1,"order-id":"A"}]',
    )
    expect((await call(made['login'], { name: 'a b' }))?.body).toBe('name=a+b')
    expect(await call(made['DELETE_orders_order-id'], { 'order-id': 'A' })).toMatchObject({
      method: 'DELETE',
      body: '',
    })
  })

  test('at the first server of the document, where none is given', () => {
    const { getOrder } = httpToolsFromOpenApi(SHOP, { operations: ['getOrder'], auth: { bearer: 'K' } })
    expect(getOrder?.variables?.[0]?.description).toBe('For requests to eu.shop.example')
  })
})

test('everything that is wrong is told at once', () => {
  const all = ['getOrders', 'upload', 'search', 'signed', 'far', 'gone', 'broken']
  expect(problems(() => tools(all))).toEqual([
    'operation "getOrders": it is not in the document: did you mean \'getOrder\'?',
    'operation "upload": it needs a body that a tool cannot send: expected JSON or a form',
    'operation "search": its query parameter "filter" is written in a way that a tool does not know',
    'operation "signed": it needs the cookie parameter "sid", which a tool cannot send',
    'operation "far": expected references within the document, got "https://other.example/p.json"',
    'operation "gone": expected "#/components/parameters/none" to be in the document',
    'operation "broken": its path has {id}, which is none of its parameters',
  ])
  expect(problems(() => tools(['getOrder'], { server: 'http://10.0.0.1' }))).toHaveLength(1)
  expect(
    problems(() =>
      httpToolsFromOpenApi({ ...SHOP, servers: [{ url: '/v1' }] }, { operations: ['getOrder'] }),
    ),
  ).toEqual([
    'operation "getOrder": the document names the server "/v1", which is no whole address: give "server"',
  ])
  expect(problems(() => tools(['x'], {}, {}))).toEqual([
    'Expected an OpenAPI document with "paths", got another object.',
  ])
})

test('a document that grows without end is refused, and soon', () => {
  const schemas: Record<string, unknown> = {}
  for (let n = 0; n < 30; n += 1) {
    const next = { $ref: `#/components/schemas/S${n + 1}` }
    schemas[`S${n}`] = { type: 'object', properties: { a: next, b: next, c: next } }
  }
  schemas['S30'] = { type: 'string' }
  schemas['loop'] = { $ref: '#/components/schemas/loop' }
  const document = (name: string) => ({
    paths: {
      '/x': {
        post: {
          operationId: 'x',
          requestBody: {
            content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } },
          },
        },
      },
    },
    components: { schemas },
  })
  const since = performance.now()
  expect(problems(() => tools(['x'], {}, document('S0')))).toEqual([
    'operation "x": expected a schema of at most 2000 parts, got more: offer another operation',
  ])
  expect(problems(() => tools(['x'], {}, document('loop')))).toEqual([
    'operation "x": expected a reference that leads to something, got a circle',
  ])
  expect(performance.now() - since).toBeLessThan(20_000)
})

describe('a document of somebody else', () => {
  const text = { type: 'string' }
  const paths = (given: object) => JSON.parse(JSON.stringify({ paths: given })) as object
  const withBody = (schema: object) => ({
    requestBody: { required: true, content: { 'application/json': { schema } } },
  })

  test.each(['__proto__', 'constructor'])('changes no object with a parameter in %j', (where) => {
    const parameters = [{ in: where, name: 'polluted', schema: text }]
    try {
      tools(['x'], {}, paths({ '/x': { get: { operationId: 'x', parameters } } }))
      expect('polluted' in {} || 'polluted' in Object).toBe(false)
    } finally {
      Reflect.deleteProperty(Object.prototype, 'polluted')
      Reflect.deleteProperty(Object, 'polluted')
    }
  })

  test('names that every object has are those of arguments, too', async () => {
    const names = ['__proto__', 'constructor', 'toString']
    const parameters = names.map((name) => ({ in: 'query', name, schema: text }))
    const { x } = tools(['x'], {}, paths({ '/x': { get: { operationId: 'x', parameters } } }))
    const given = { __proto___query: 'a', constructor_query: 'b' }
    expect((await call(x, given))?.url).toBe('/v1/x?__proto__=a&constructor=b')
    expect(
      problems(() => tools(['y'], {}, paths({ '/{constructor}': { get: { operationId: 'y' } } }))),
    ).toEqual(['operation "y": its path has {constructor}, which is none of its parameters'])
  })

  test.each(['.evil.example/x', '@evil.example/x', ':8443/x'])(
    'leads to no other host by the path %j',
    (path) => {
      const document = paths({ [path]: { get: { operationId: 'x' } } })
      expect(problems(() => tools(['x'], { server: 'https://shop.example' }, document))).toEqual([
        `operation "x": expected its path to begin with "/", got "${path}"`,
      ])
    },
  )

  test('gives no operation the name of another one', async () => {
    const document = paths({
      '/a': { get: { operationId: 'x' }, put: { operationId: 'GET /b' } },
      '/b': { get: { operationId: 'x' } },
    })
    expect(problems(() => tools(['x'], {}, document))).toEqual([
      'operation "x": two operations have this id: name it as "GET /a" or "GET /b"',
    ])
    const { x } = tools(['GET /b'], {}, document)
    expect((await call(x, {}))?.url).toBe('/v1/b')
  })

  test('may be wrong in operations that nobody has named', () => {
    const document = paths({ '/a': { get: null, post: 1 }, '/b': { get: { operationId: 'x' } } })
    expect(Object.keys(tools(['x'], {}, document))).toEqual(['x'])
  })

  test('lets no argument be a header that the request sets', () => {
    const named = (...names: readonly string[]) =>
      paths({
        '/x': {
          get: {
            operationId: 'x',
            parameters: names.map((name) => ({ in: 'header', name, schema: text })),
          },
        },
      })
    const { x } = tools(['x'], {}, named('Authorization', 'Accept', 'X-Trace'))
    expect(Object.keys((x?.args && toInputSchema(x.args).properties) ?? {})).toEqual(['X-Trace'])
    expect(problems(() => tools(['x'], {}, named('Host')))).toEqual([
      expect.stringContaining('the header "Host" is set by the request itself'),
    ])
  })

  test('has no expression run on arguments, which could take minutes', async () => {
    const schema = { type: 'object', properties: { v: { ...text, pattern: '^(a+)+$' } } }
    const { x } = tools(['x'], {}, paths({ '/x': { post: { operationId: 'x', ...withBody(schema) } } }))
    expect(x?.args && toInputSchema(x.args).properties).toEqual({
      v: { type: 'string', description: 'Pattern: ^(a+)+$' },
    })
    expect((await call(x, { v: `${'a'.repeat(40)}!` }))?.body).toContain('aaa!')
  })

  test('makes no schema that is larger than a request may be', () => {
    const many = Array.from({ length: 30 }, (_, n) => [`f${n}`, { ...text, description: 'x'.repeat(10_000) }])
    const schema = { type: 'object', properties: Object.fromEntries(many) as object }
    const document = paths({ '/x': { post: { operationId: 'x', ...withBody(schema) } } })
    expect(problems(() => tools(['x'], {}, document))).toEqual([
      expect.stringContaining('operation "x": expected a schema of at most 200000 characters, got 30'),
    ])
  })

  test('may allow null beside other schemas', async () => {
    const schema = { type: 'object', properties: { v: { nullable: true, allOf: [text] } } }
    const { x } = tools(['x'], {}, paths({ '/x': { post: { operationId: 'x', ...withBody(schema) } } }))
    expect((await call(x, { v: null }))?.body).toBe('{"v":null}')
    await expect(call(x, { v: 1 })).rejects.toThrow('v')
  })

  test('loses no field of a body that is made of several schemas', async () => {
    const base = { type: 'object', properties: { id: text } }
    const schema = { type: 'object', allOf: [base], properties: { note: text } }
    const { x } = tools(['x'], {}, paths({ '/x': { post: { operationId: 'x', ...withBody(schema) } } }))
    expect((await call(x, { body: { id: 'a', note: 'b' } }))?.body).toBe('{"id":"a","note":"b"}')
  })
})
