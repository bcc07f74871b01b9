import { expect, test } from 'vitest'
import { fileUrlsOf, pathOfFileUrl } from './file-urls.js'

test('the address of a file leads back to its path, below any prefix and in its own thread only', () => {
  for (const path of ['/a.png', '/notes/é & b?.txt', '/100%'])
    for (const prefix of ['', '/api', 'https://shop.example/x'])
      expect(pathOfFileUrl('t 1', fileUrlsOf('t 1', prefix)(path))).toBe(path)
  expect(pathOfFileUrl('t', fileUrlsOf('other')('/a.png'))).toBeNull()
  for (const url of ['', 'https://example.com/a.png', 'file:///etc/passwd', '/threads/t/files/content'])
    expect(pathOfFileUrl('t', url)).toBeNull()
})
