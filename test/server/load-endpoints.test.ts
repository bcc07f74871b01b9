import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { loadThreadEndpoints } from '../../src/server/index.js'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everthread-endpoints-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
}

const ENDPOINT = 'export default () => new Response("here")'

test('each file of a folder is an endpoint, named by its path', async () => {
  await write({
    'index.mjs': ENDPOINT,
    'orders/[id].post.mjs': ENDPOINT,
    'orders/[id].test.mjs': 'throw new Error("a test")',
    '.drafts/late.mjs': 'throw new Error("hidden")',
    'readme.md': 'Words',
  })
  const endpoints = await loadThreadEndpoints(pathToFileURL(`${folder}/`))
  expect(Object.keys(endpoints).toSorted()).toEqual(['index', 'orders/[id].post'])
  expect(Object.keys(await loadThreadEndpoints(folder))).toHaveLength(2)
})

test('every file that is no endpoint is named, in the words of other definitions', async () => {
  await write({
    'bare.mjs': 'export const named = 1',
    'broken.mjs': 'throw new Error("no such key")',
    'number.mjs': 'export default 7',
    'sound.mjs': ENDPOINT,
  })
  await expect(loadThreadEndpoints(folder)).rejects.toMatchObject({
    problems: [
      'bare.mjs: expected an endpoint as default export, got none',
      'broken.mjs cannot be imported: no such key',
      'number.mjs: expected an endpoint as default export, got a number',
    ],
  })
})

test('a folder without endpoints, or that is none, is refused', async () => {
  await expect(loadThreadEndpoints(folder)).rejects.toThrow(`in ${folder}, got none`)
  await expect(loadThreadEndpoints(join(folder, 'none'))).rejects.toThrow('cannot be read')
})
