import { describe, expect, test } from 'vitest'
import { transcriptRow } from '../../../test/support/transcript-row.js'
import type { AttachmentRef } from '../../protocol/message.js'
import { filesToInline, fileTokens, mediaTypeOf } from './inlined-files.js'
import type { TranscriptRow } from './transcript-row.js'

const MB = 1024 * 1024

function file(path: string, size = 10, mimeType = 'image/png'): AttachmentRef {
  return { id: path, type: 'file', path, name: path, mimeType, size }
}

/** A message with an image at each position up to the last. */
function images(last: number): readonly TranscriptRow[] {
  return Array.from({ length: last }, (_, index) =>
    transcriptRow({ content: 'Look', position: index + 1, attachments: [file(`${index + 1}`)] }),
  )
}

function inlined(rows: readonly TranscriptRow[], options: Partial<Parameters<typeof filesToInline>[1]> = {}) {
  const senses = { images: true, documents: false, audio: false }
  const perspective = { type: 'ai_human', side: 'a' } as const
  const chosen = filesToInline(rows, { senses, perspective, recent: 10, author: null, ...options })
  return [...chosen].map(({ path }) => path)
}

describe('images', () => {
  test('of the newest messages stay, older ones leave in jumps', () => {
    const firsts = Array.from({ length: 40 }, (_, index) => Number(inlined(images(index + 1))[0]))
    expect(new Set(firsts)).toEqual(new Set([1, 11, 21, 31]))
    for (const last of [1, 10, 19, 20, 29, 40]) {
      const shown = inlined(images(last))
      expect(shown.length).toBeGreaterThanOrEqual(Math.min(10, last))
      expect(shown.length).toBeLessThan(20)
      expect(shown.at(-1)).toBe(`${last}`)
    }
  })

  test('with a threshold of 0 none is shown', () => {
    expect(inlined(images(3), { recent: 0 })).toEqual([])
  })

  test('of the own words of a side are not shown', () => {
    const rows = [
      transcriptRow({ role: 'assistant', side: 'a', attachments: [file('a')] }),
      transcriptRow({ role: 'user', side: 'b', attachments: [file('b')] }),
      transcriptRow({ role: 'tool', side: 'a', attachments: [file('result a')] }),
      transcriptRow({ role: 'tool', side: 'b', attachments: [file('result b')] }),
    ]
    expect(inlined(rows, { perspective: { type: 'dual_ai', side: 'a' } })).toEqual(['b', 'result a'])
    expect(inlined(rows, { perspective: { type: 'dual_ai', side: 'b' } })).toEqual(['a', 'result b'])
  })
})

test('what the model does not take is left out', () => {
  const attachments = [
    file('image'),
    file('drawing', 10, 'image/svg+xml'),
    file('paper', 10, 'application/pdf'),
    file('voice', 10, 'audio/mpeg'),
    file('huge', 20 * MB + 1),
  ]
  const rows = [transcriptRow({ attachments })]
  expect(inlined(rows)).toEqual(['image'])
  expect(inlined(rows, { senses: { images: false, documents: true, audio: true } })).toEqual([
    'paper',
    'voice',
  ])
})

test('too much together is cut to half, newest first', () => {
  const rows = [transcriptRow({ attachments: [1, 2, 3, 4].map((index) => file(`${index}`, 6 * MB)) })]
  expect(inlined(rows)).toEqual(['4'])
  expect(inlined([transcriptRow({ attachments: [file('1', 9 * MB), file('2', 15 * MB)] })])).toEqual(['2'])
})

test('a document and a sound cost by their bytes, and any other file as much as an image', () => {
  const paper = file('paper', 320_000, 'application/pdf')
  const voice = file('voice', 16_000, 'Audio/MPEG; rate=44100')
  const image = file('image', 5_000_000)
  const unknown = file('unknown', 5_000_000, 'application/zip')
  expect([paper, voice, image, unknown].map(fileTokens)).toEqual([10_000, 10, 1600, 1600])
})

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1')

test.each([
  ['\x89PNG\r\n\x1a\n...', 'image/png'],
  ['\xff\xd8\xff\xe0', 'image/jpeg'],
  ['GIF89a', 'image/gif'],
  ['RIFF\n\x00\x00\x00WEBPVP8', 'image/webp'],
  ['\n%PDF-1.7', 'application/pdf'],
  ['RIFF1234WAVEfmt', 'audio/wav'],
  ['ID3\x04', 'audio/mpeg'],
])('the bytes %j are of type %s', (text, type) => {
  expect(mediaTypeOf(bytes(text))).toBe(type)
})

test.each(['', 'PNG', '<svg/>', 'RIFF'])('K-13 the bytes %j are no file to send', (text) => {
  expect(mediaTypeOf(bytes(text))).toBeNull()
})
