import { expect, test } from 'vitest'
import { mediaTypeOf } from './inlined-files.js'

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
