import { expect, test } from 'vitest'

import { toolAnswer } from './tool-answer.js'

const text = (words: string) => ({ type: 'text', text: words }) as const
const image = (bytes: number) =>
  ({ type: 'image', mimeType: 'image/png', data: Buffer.alloc(bytes).toString('base64') }) as const

test('an error of the tool is an error result with its words', () => {
  expect(toolAnswer({ isError: true, content: [text('No.'), text('Never.')] })).toMatchObject({
    ...{ status: 'error', error: 'No.\nNever.', error_code: 'mcp_tool_error' },
  })
  expect(toolAnswer({ isError: true, content: [] })).toMatchObject({
    error: 'The tool failed without a reason.',
  })
})

test('structured content is read where there is no text', () => {
  expect(toolAnswer({ content: [], structuredContent: { a: 1 } })).toMatchObject({ result: { a: 1 } })
  const both = toolAnswer({ content: [text('{"a":1}')], structuredContent: { a: 1 } })
  expect(both.result).toBeUndefined()
  expect(both.content).toEqual([text('{"a":1}')])
})

test.each([
  ['demo://a/report.pdf', 'application/pdf', 'report.pdf'],
  ['demo://a/report', 'application/pdf', 'report.pdf'],
  ['demo://a/..', 'text/plain', 'file.plain'],
  ['demo://a/', 'no type', 'file.bin'],
  ['demo://a/a b\n<c>', 'image/svg+xml', 'a_b__c_.svg'],
])('a file of %s and %s is named %s', (uri, mimeType, name) => {
  const { content } = toolAnswer({
    content: [{ type: 'resource', resource: { uri, mimeType, blob: 'aGk=' } }],
  })
  expect(content).toMatchObject([{ type: 'file', file: { name, mimeType } }])
})

test('files beyond 20 MB in all are notes', () => {
  const { content = [] } = toolAnswer({ content: [image(15_000_000), image(10_000_000), image(1_000)] })
  expect(content.map(({ type }) => type)).toEqual(['file', 'text', 'file'])
})

test('text beyond 4 MB is cut, over all parts', () => {
  const { content = [] } = toolAnswer({ content: [text('x'.repeat(4_000_000)), text('y'.repeat(4_000_000))] })
  expect(JSON.stringify(content).length).toBeLessThan(4_400_000)
})

test('a part of a kind that nobody knows is a note', () => {
  expect(toolAnswer({ content: [{ type: 'hologram' } as never] })).toMatchObject({
    content: [{ type: 'text', text: '[a part of a kind that is not known here]' }],
  })
})
