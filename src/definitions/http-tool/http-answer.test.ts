import { expect, test } from 'vitest'
import { EgressError } from '../../egress/guarded-request.js'
import { pointerProblems, readHttpAnswer, requestError } from './http-answer.js'
import type { Select } from './http-answer.js'

const read = (text: string, select?: Select) =>
  readHttpAnswer(
    {
      ...{ status: 200, headers: { 'content-type': 'application/problem+json' }, truncated: false },
      ...{ body: Buffer.from(text), url: new URL('https://shop.example/a') },
    },
    { redact: (given) => given, answerBytes: 100, select, isGraphql: false },
  )

test.each<[Select, unknown]>([
  ['', { a: { '': [1, 2] } }],
  ['/a//1', 2],
  [(answer) => JSON.stringify(answer), '{"a":{"":[1,2]}}'],
])('%s selects its part', (select, expected) => {
  expect(read('{"a":{"":[1,2]}}', select).result).toEqual(expected)
})

test.each(['/b', '/a/length', '/constructor', '/a/__proto__'])('%s selects nothing', (select) => {
  expect(() => read('{"a":{}}', select)).toThrow('got one without')
})

test('a pointer begins with a slash', () => {
  expect(['', '/', '/a', 'a', '#/a'].map((pointer) => pointerProblems(pointer).length)).toEqual([
    0, 0, 0, 1, 1,
  ])
})

test('an error of the request is one of the tool, and any other stays as it is', () => {
  const broken = new EgressError('connection', 'It broke.')
  expect(requestError(broken, true)).toMatchObject({ category: 'transient', code: 'http_connection' })
  expect(requestError(broken, false)).toMatchObject({ category: 'timeout', message: 'It broke.' })
  const other = new Error('other')
  expect(requestError(other, true)).toBe(other)
})
