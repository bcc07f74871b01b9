import { expect, test } from 'vitest'
import { z } from 'zod'
import { ConfigError } from '../../protocol/errors.js'
import { defineHttpTool } from './http-tool.js'
import type { HttpToolDefinition } from './http-tool.js'

const text = z.string()

test.each<[string, object, string]>([
  ['no URL', { url: 'example.com' }, 'expected an https URL, got "example.com"'],
  [
    'http',
    { url: 'http://example.com/' },
    'got one of "http": http goes to hosts that the operator allows (egress.allow',
  ],
  [
    'a private address',
    { url: 'https://10.1.2.3/', allow: [] },
    'Expected "10.1.2.3" to be on the public internet',
  ],
  [
    'an argument in the host',
    { url: 'https://{id}.example.com/', args: z.object({ id: text }) },
    'expected arguments in its path or query, got one in its host',
  ],
  ['a fragment', { url: 'https://example.com/#x' }, 'expected a URL without a fragment'],
  [
    'a name that is no argument',
    { url: 'https://example.com/{di}', args: z.object({ id: text }) },
    '{di} is not one of the arguments',
  ],
  ['a body of a GET', { url: 'https://example.com', body: {} }, 'a GET has no body'],
  [
    'two bodies',
    { url: 'https://example.com', method: 'POST', body: {}, graphql: '{a}' },
    '"graphql" makes the body',
  ],
  ['no pointer', { url: 'https://example.com', select: 'a' }, 'expected "select" to be a JSON Pointer'],
  [
    'a wrong bound',
    { url: 'https://example.com', answerBytes: 0.5 },
    'expected "answerBytes" to be a whole number from 1 to',
  ],
  ['a host behind a blank', { url: ' https://{id}.example.com/', args: z.object({ id: text }) }, 'blanks'],
  [
    'a host without slashes',
    { url: 'https:/{id}.example.com/', args: z.object({ id: text }) },
    'begins with',
  ],
  [
    'a backslash',
    { url: String.raw`https://a.example/x\{id}\y`, args: z.object({ id: text }) },
    'backslashes',
  ],
  ['a tab', { url: 'https://a.example/x/\t{id}', args: z.object({ id: text }) }, 'control characters'],
  ['a blank at the end', { url: 'https://a.example/{id} ', args: z.object({ id: text }) }, 'blanks'],
  ['no header', { url: 'https://a.example', headers: { 'X Y': 'a' } }, 'the name of a header, got "X Y"'],
  ['the header Host', { url: 'https://a.example', headers: { Host: 'a' } }, 'is set by the request itself'],
  [
    'no header of a credential',
    { url: 'https://a.example', auth: { header: 'X:', variable: 'K' } },
    'the name of a header, got "X:"',
  ],
  ['no header of a key', { url: 'https://a.example', idempotencyHeader: '' }, 'the name of a header, got ""'],
  ...['b.example:8443', 'https://b.example', '*', 'b.example/', ''].map((host): [string, object, string] => [
    `a redirect to ${JSON.stringify(host)}`,
    { url: 'https://a.example', redirectHosts: [host] },
    'expected "redirectHosts" to be names of hosts',
  ]),
  [
    'a wrong exception',
    { url: 'https://example.com', allow: ['a b'] },
    'Expected what outgoing requests may reach',
  ],
])('%s is refused when it is defined', (_what, definition, told) => {
  const making = (): unknown => defineHttpTool({ description: 'x', ...definition } as HttpToolDefinition)
  expect(making).toThrow(ConfigError)
  expect(making).toThrow(told)
})
