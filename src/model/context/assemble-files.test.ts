import { expect, test } from 'vitest'
import { transcriptRow } from '../../../test/support/transcript-row.js'
import type { AttachmentRef } from '../../protocol/message.js'
import { assemblePrompt } from './assemble-prompt.js'
import type { InlinedFile } from './inlined-files.js'
import type { TranscriptRow } from './transcript-row.js'

const image: AttachmentRef = {
  id: 'file-1',
  type: 'file',
  path: '/files/plan.png',
  name: 'Der Plan.png',
  mimeType: 'image/png',
  size: 3,
}
const inlined: InlinedFile = { mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) }
const part = {
  type: 'file',
  mediaType: 'image/png',
  filename: 'Der-Plan.png',
  data: { type: 'data', data: inlined.data },
}
const note = 'Attached files:\n- Der Plan.png (image/png, 3 bytes) at /files/plan.png'
const call = { id: '1', type: 'function', function: { name: 'draw', arguments: '{}' } }
const drawn: readonly TranscriptRow[] = [
  transcriptRow({ content: 'Draw it' }),
  transcriptRow({ role: 'assistant', side: 'a', tool_calls: JSON.stringify([call]) }),
  transcriptRow({ role: 'tool', side: 'a', tool_call_id: '1', content: 'Drawn.', attachments: [image] }),
]

function assembled(messages: readonly TranscriptRow[], file: InlinedFile | null | undefined) {
  const files = new Map(file === undefined ? [] : [[image, file]])
  return assemblePrompt({ system: '', messages, perspective: { type: 'ai_human', side: 'a' }, files })
}

test('an image follows its words and its note', () => {
  const [message] = assembled([transcriptRow({ content: 'See', attachments: [image] })], inlined)
  expect(message?.content).toEqual([{ type: 'text', text: 'See' }, { type: 'text', text: note }, part])
})

test('without its bytes the note of an image remains', () => {
  const messages = [transcriptRow({ attachments: [image] })]
  expect(assembled(messages, undefined)[0]?.content).toEqual([{ type: 'text', text: note }])
  expect(assembled(messages, null)[0]?.content).toEqual([
    { type: 'text', text: `${note} (could not be read)` },
  ])
})

test('images of results follow them in a user message', () => {
  const prompt = assembled([...drawn, transcriptRow({ content: 'Nice' })], inlined)
  expect(prompt.slice(2)).toEqual([
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: '1',
          toolName: 'draw',
          output: { type: 'text', value: `Drawn.\n\n${note}` },
        },
      ],
    },
    { role: 'user', content: [{ type: 'text', text: 'Files of the results above:' }, part] },
    { role: 'user', content: [{ type: 'text', text: 'Nice' }] },
  ])
  expect(assembled(drawn, undefined)).toHaveLength(3)
})

test('K-17 a doubled row has its calls once', () => {
  const prompt = assembled([...drawn, ...drawn.slice(1, 2)], undefined)
  expect(prompt.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
})

test('what a cut left out is told in its place', () => {
  const prompt = assemblePrompt({
    system: '',
    messages: [
      transcriptRow({ content: 'The task', position: 3 }),
      transcriptRow({ role: 'assistant', side: 'a', content: 'Going on', position: 90 }),
      transcriptRow({ content: 'From a hook', position: null }),
    ],
    perspective: { type: 'ai_human', side: 'a' },
    gapBefore: 90,
  })
  const texts = prompt.map(({ content }) => (content as { text: string }[]).map(({ text }) => text))
  expect(texts).toEqual([
    ['The task'],
    ['System note:\nEarlier messages of this conversation are left out here.'],
    ['Going on'],
    ['From a hook'],
  ])
})
