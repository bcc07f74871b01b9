import { expect, test } from 'vitest'
import { comparePrecedence, endpointRoute, matchRoute, shapeOf } from './endpoint-routes.js'

function matchFirst(names: readonly string[], method: string, path: string) {
  const routes = names.map((name) => ({ name, route: endpointRoute(name) }))
  for (const { name, route } of routes.toSorted((one, other) => comparePrecedence(one.route, other.route))) {
    const params = route.method === method ? matchRoute(route, path === '' ? [] : path.split('/')) : null
    if (params !== null) return [name, params]
  }
  return null
}

test.each([
  ['orders', 'get', 'orders', {}],
  ['orders.post', 'post', 'orders', {}],
  ['orders/index.PUT', 'put', 'orders', {}],
  ['index', 'get', '', {}],
  ['orders/[id].delete', 'delete', 'orders/A-17', { id: 'A-17' }],
  ['files/[*]', 'get', 'files/a/b.txt', { '*': 'a/b.txt' }],
  ['files/[*]', 'get', 'files', { '*': '' }],
  ['report.json', 'get', 'report.json', {}],
])('the endpoint %s answers %s %s', (name, method, path, params) => {
  expect(matchFirst([name], method, path)).toEqual([name, params])
})

test.each([
  ['orders', 'post', 'orders'],
  ['orders', 'get', 'orders/A-17'],
  ['orders/[id]', 'get', 'orders'],
  ['orders/[id]', 'get', 'orders/A/B'],
])('the endpoint %s does not answer %s %s', (name, method, path) => {
  expect(matchFirst([name], method, path)).toBeNull()
})

test('what is written out goes before what is open, and that before the rest', () => {
  const names = ['[*]', 'orders/[*]', 'orders/[id]', 'orders/open', '[any]/open', 'orders']
  expect(matchFirst(names, 'get', 'orders/open')).toEqual(['orders/open', {}])
  expect(matchFirst(names, 'get', 'orders/A-17')).toEqual(['orders/[id]', { id: 'A-17' }])
  expect(matchFirst(names, 'get', 'orders/A/B')).toEqual(['orders/[*]', { '*': 'A/B' }])
  expect(matchFirst(names, 'get', 'orders')).toEqual(['orders', {}])
  expect(matchFirst(names, 'get', 'bills/open')).toEqual(['[any]/open', { any: 'bills' }])
  expect(matchFirst(names, 'get', 'bills')).toEqual(['[*]', { '*': 'bills' }])
})

test.each(['', '/orders', 'orders/', '../x', 'a//b', '[*]/x', '[id]/[id]', 'a b', '[]'])(
  'a name such as %j is refused before anything starts',
  (name) => expect(() => endpointRoute(name)).toThrow('Expected thread endpoints to be named'),
)

test.each([
  ['orders/[id]', 'orders/[number].get', true],
  ['orders', 'orders/index', true],
  ['orders/open', 'orders/[id]', false],
  ['orders/[id]', 'orders/[*]', false],
  ['orders', 'orders.post', false],
])('whether no request tells %s and %s apart: %s', (one, other, isSame) => {
  expect(shapeOf(endpointRoute(one)) === shapeOf(endpointRoute(other))).toBe(isSame)
})
