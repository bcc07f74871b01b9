import { expect, test } from 'vitest'
import { answerParts, AUTHOR, transcriptRow } from '../../../test/support/transcript-row.js'
import type { AttachmentRef } from '../../protocol/message.js'
import { rowTokens, textTokens } from './row-tokens.js'

test('a token is four bytes, whatever the language', () => {
  expect([null, '', 'word', 'words', '你好世界'].map(textTokens)).toEqual([0, 0, 1, 2, 3])
})

test('a file costs only where it is sent', () => {
  const file = (mimeType: string, size: number): AttachmentRef => ({
    id: mimeType,
    type: 'file',
    path: '/a',
    name: 'a',
    mimeType,
    size,
  })
  const image = file('image/png', 5_000_000)
  const paper = file('application/pdf', 320_000)
  const row = transcriptRow({ attachments: [image, paper] })
  const none = rowTokens(row, { inlined: new Set(), author: null, inTurn: false })
  expect(none).toBeLessThan(60)
  expect(rowTokens(row, { inlined: new Set([image]), author: null, inTurn: false }) - none).toBe(1600)
  expect(rowTokens(row, { inlined: new Set([paper]), author: null, inTurn: false }) - none).toBe(10_000)
})

test('reasoning costs only where it is sent again', () => {
  const reasoning = 'x'.repeat(4000)
  const details = answerParts({ text: null, reasoning, parts: [{ kind: 'reasoning', from: 0, to: 4000 }] })
  const row = transcriptRow({ prompt: 'desk', reasoning_content: reasoning, answer_parts: details })
  const tokens = (prompt: string) =>
    rowTokens(row, { inlined: new Set(), author: { ...AUTHOR, prompt }, inTurn: false })
  expect(tokens('desk') - tokens('other')).toBeGreaterThan(1000)
})
