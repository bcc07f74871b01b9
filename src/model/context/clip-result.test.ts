import { expect, test } from 'vitest'
import { transcriptRow } from '../../../test/support/transcript-row.js'
import { clipResult } from './cut-window.js'

const result = (content: string) => transcriptRow({ role: 'tool', tool_call_id: '1', content })

test('a long result keeps its head and tail', () => {
  const { content } = clipResult(result(`begins ${'x'.repeat(10_000)} ends`))
  expect(content).toMatch(/^begins x+\n\n\[… 5916 bytes are left out here …\]\n\nx+ ends$/)
  expect(content?.length).toBeLessThan(4200)
})

test('no character is cut in two', () => {
  const { content } = clipResult(result(`a${'語'.repeat(3000)}`))
  expect(content).toMatch(/^a語+\n\n\[… 4905 bytes are left out here …\]\n\n語+$/)
})

test('short results and the words of people stay', () => {
  const short = result('short')
  const long = transcriptRow({ content: 'x'.repeat(10_000) })
  expect([clipResult(short), clipResult(long)]).toEqual([short, long])
})
