import { describe, expect, test } from 'vitest'
import { MessageRejectedError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { checkMessage, requireStaged } from './send-message.js'

const ring: Record<string, unknown> = {}
ring['self'] = ring
const deep: unknown = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))
const file = { name: 'a.txt', mimeType: 'text/plain', data: 'YQ==' }

const refused: readonly (readonly [string, unknown, string])[] = [
  ['a number', 7, 'Expected a text or a message, got number.'],
  ['an empty text', '', 'Expected "content" or "attachments", got neither.'],
  ['no content', {}, 'Expected "content" or "attachments", got neither.'],
  ['content that is no text', { content: 7 }, 'Expected "content" to be a text, got number.'],
  [
    'an unknown role',
    { content: 'x', role: 'system' },
    'Expected "role" to be "user" or "assistant", got "system".',
  ],
  ['an id that is too long', { content: 'x', id: 'i'.repeat(257) }, 'Expected a message id of 1 to 96 bytes'],
  ['silent as a text', { content: 'x', silent: 'yes' }, 'Expected "silent" to be true or false, got string.'],
  ['a text of 2 MB', 'x'.repeat(2 * 1024 * 1024), 'Expected content of at most 1048576 bytes, got 2097152'],
  ['metadata as a list', { content: 'x', metadata: [] }, 'Expected "metadata" to be an object'],
  [
    'metadata with a ring',
    { content: 'x', metadata: ring },
    'Expected "metadata" that JSON can carry, got a ring',
  ],
  [
    'metadata 100,000 deep',
    { content: 'x', metadata: { deep } },
    'Expected "metadata" that JSON can carry, got a value that is nested too deep: flatten it',
  ],
  [
    '101 attachments',
    { attachments: Array.from({ length: 101 }, () => '/a') },
    'Expected at most 100 attachments, got 101',
  ],
  ['a relative path', { attachments: ['a.txt'] }, 'Expected an absolute path'],
  [
    'an attachment without data',
    { attachments: [{ name: 'a' }] },
    'Expected an attachment with "data" or the "path"',
  ],
  [
    'a nameless file',
    { attachments: [{ ...file, name: '' }] },
    'Expected an attachment with a "name", got none.',
  ],
  [
    'no base64',
    { attachments: [{ ...file, data: 'a?b' }] },
    'Expected "data" to be bytes or base64, got a text that is no base64.',
  ],
  [
    'a plain text that base64 could spell',
    { attachments: [{ ...file, data: 'green leaves' }] },
    'Expected "data" to be bytes or base64, got a text that is no base64.',
  ],
  [
    'half a pixel',
    { attachments: [{ ...file, width: 0.5 }] },
    'Expected "width" of attachment "a.txt" to be a whole number',
  ],
]

describe('a message that is not valid', () => {
  test.each(refused)('is refused with %s', (_case, message, problem) => {
    let thrown: unknown
    try {
      checkMessage('t', message as string, () => 'm')
    } catch (error) {
      thrown = error
    }
    expect(MessageRejectedError.isInstance(thrown) && thrown.problem).toContain(problem)
  })

  test('is refused with a file over 100 MB', () => {
    const data = new Uint8Array(LIMITS.fileBytes + 1)
    const check = (): unknown => checkMessage('t', { attachments: [{ ...file, data }] }, () => 'm')
    expect(check).toThrow('Expected a file of at most 104857600 bytes, got 104857601.')
  })
})

test('a plain text is a visible message of the user', () => {
  expect(checkMessage('t', 'Hello', () => 'm')).toEqual({
    id: 'm',
    role: 'user',
    content: 'Hello',
    silent: false,
    metadata: null,
    attachments: [],
  })
})

test('base64 and bytes are the same attachment', () => {
  const bytesOf = (data: string | Uint8Array) =>
    checkMessage('t', { attachments: [{ ...file, data }] }, () => 'm').attachments.map((given) =>
      given.kind === 'new' ? Buffer.from(given.bytes).toString() : given.path,
    )
  expect(bytesOf('YQ==\n')).toEqual(['a'])
  expect(bytesOf('YQ')).toEqual(['a'])
  expect(bytesOf(Buffer.from('a'))).toEqual(['a'])
})

test('what was staged, now or before, is accepted', () => {
  for (const result of ['staged', 'same'] as const)
    expect(() => requireStaged(result, { threadId: 't', messageId: 'm' })).not.toThrow()
})

test.each([
  ['of a message', { messageId: 'm' }, 'Expected message id "m" to be new'],
  ['of a queued tool', { toolCallId: 'queued_x', id: 'x' }, 'Expected tool call id "x" to be new'],
  ['of a first message', { messageId: 't:first', isFirst: true }, 'Expected thread id "t" to be new'],
])('a conflict names the id that the caller gave: %s', (_case, staged, problem) => {
  expect(() => requireStaged('conflict', { threadId: 't', ...staged })).toThrow(problem)
})
