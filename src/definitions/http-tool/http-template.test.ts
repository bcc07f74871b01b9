import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fillRequest, headerNameProblems, methodOf, templateProblems } from './http-template.js'
import type { RequestTemplate } from './http-template.js'

const TEMPLATE: RequestTemplate = {
  ...{ method: 'POST', url: 'https://shop.example/a/{id}/b?v=1&x={x}' },
  ...{ query: { q: '{q}' }, headers: { 'X-H': 'h {h}' }, body: { deep: ['{all}', 'as {id}'] } },
}

test('whatever arguments are, a request goes to its place, or is refused', () => {
  const argument = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('..', '.', '', '/', '\\', '%2e%2e', '?', '#', '{id}', '\r\n'),
  )
  fc.assert(
    fc.property(argument, argument, argument, argument, (id, x, q, h) => {
      let filled: ReturnType<typeof fillRequest>
      try {
        filled = fillRequest(TEMPLATE, { id, x, q, h, all: [id] })
      } catch (error) {
        expect(error).toMatchObject({ category: 'invalid' })
        return
      }
      const { url, headers, body } = filled
      expect([url.origin, url.hash]).toEqual(['https://shop.example', ''])
      expect(url.pathname.split('/').map((part, n) => (n === 2 ? decodeURIComponent(part) : part))).toEqual([
        '',
        'a',
        id,
        'b',
      ])
      expect([...url.searchParams]).toEqual([
        ['v', '1'],
        ['x', x],
        ['q', q],
      ])
      expect(headers['x-h']).toBe(`h ${h}`)
      expect(headers['x-h']).not.toMatch(/[\r\n\0]/)
      expect(JSON.parse(body ?? '')).toEqual({ deep: [[id], `as ${id}`] })
    }),
    { numRuns: 2_000 },
  )
})

test('a header has a name, and is none that the request sets', () => {
  const names = ['X-Trace', "a!#$%&'*+.^_`|~1", 'TE', 'Transfer-Encoding', 'a b', 'a:', 'ä', '']
  expect(names.map((name) => headerNameProblems(name).length)).toEqual([0, 0, 1, 1, 1, 1, 1, 1])
})

test('what every object has is no argument', () => {
  const names = { constructor: '{constructor}', toString: 'as {toString}' }
  const { url } = fillRequest(
    { url: 'https://shop.example/', query: { c: '{constructor}', v: '{valueOf}' } },
    {},
  )
  expect(url.search).toBe('')
  const { body } = fillRequest(
    { method: 'POST', url: 'https://shop.example/', body: names },
    { toString: 'a' },
  )
  expect(body).toBe('{"toString":"as a"}')
})

test('GraphQL is posted, and everything else is a GET', () => {
  expect([methodOf({}), methodOf({ graphql: '{a}' }), methodOf({ method: 'PUT', graphql: '{a}' })]).toEqual([
    'GET',
    'POST',
    'PUT',
  ])
})

test('all that is wrong with a template is told', () => {
  const wrong = { ...TEMPLATE, method: 'GET', url: 'https://{id}.example/#a' } as const
  expect(templateProblems(wrong, (name) => name === 'id')).toEqual([
    'expected arguments in its path or query, got one in its host',
    ...['q', 'h', 'all'].map((name) => `{${name}} is not one of the arguments`),
    'a GET has no body',
  ])
  expect(templateProblems(TEMPLATE, () => true)).toEqual([])
})

test('what the URL or a header names is no variable of GraphQL', () => {
  const request = { graphql: '{a}', url: 'https://shop.example/{shop}', headers: { 'X-H': '{h}' } }
  const { body } = fillRequest(request, { shop: 's', h: 'h', id: 'i' })
  expect(JSON.parse(body ?? '')).toEqual({ query: '{a}', variables: { id: 'i' } })
})

test('the body of a form has fields', () => {
  const form = { method: 'POST', url: 'https://shop.example/', form: true } as const
  const problem = 'expected the "body" of a form to be an object, whose fields are sent'
  for (const body of ['{a}', ['{a}']])
    expect(templateProblems({ ...form, body }, () => true)).toEqual([problem])
  expect(templateProblems({ ...form, body: { a: '{a}' } }, () => true)).toEqual([])
})
