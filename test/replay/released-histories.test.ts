import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { releaseProblems, sealFolder } from './released-histories.js'

let folder: string
let root: string

async function git(...parameters: readonly string[]): Promise<void> {
  const by = ['-c', 'user.name=test', '-c', 'user.email=test@example.com']
  await promisify(execFile)('git', ['-C', folder, ...by, ...parameters])
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everthread-release-'))
  root = join(folder, 'histories')
  await mkdir(join(root, '0.1.0'), { recursive: true })
  await mkdir(join(root, 'unreleased'))
  await writeFile(join(root, '0.1.0', 'turn.json'), '[1]')
  await writeFile(join(root, 'unreleased', 'turn.json'), '[2]')
  await sealFolder(join(root, '0.1.0'))
  await git('init', '--quiet')
  await git('add', '.')
  await git('commit', '--quiet', '--message', 'First')
})
afterEach(() => rm(folder, { recursive: true }))

test('a released folder is as it was, with or without its tag', async () => {
  expect(await releaseProblems(root)).toEqual([])
  await git('tag', '0.1.0')
  expect(await releaseProblems(root)).toEqual([])
  await writeFile(join(root, 'unreleased', 'turn.json'), '[3]')
  expect(await releaseProblems(root)).toEqual([])
})

test.each([
  ['a file that was edited', 'turn.json', '[7]'],
  ['a file more', 'another.json', '[1]'],
])('%s is found in a clone without tags', async (_what, name, content) => {
  await writeFile(join(root, '0.1.0', name), content)
  expect(await releaseProblems(root)).toEqual([
    expect.stringContaining('files of histories/0.1.0 as they were released'),
  ])
})

test('a file that is gone is found in a clone without tags', async () => {
  await rm(join(root, '0.1.0', 'turn.json'))
  expect(await releaseProblems(root)).toHaveLength(1)
})

test('a file that was edited with its checksum is found by the tag', async () => {
  await git('tag', 'v0.1.0')
  await writeFile(join(root, '0.1.0', 'turn.json'), '[7]')
  await sealFolder(join(root, '0.1.0'))
  const [problem, ...others] = await releaseProblems(root)
  expect(problem).toContain('Expected histories/0.1.0 to be as the tag v0.1.0 has it')
  expect(others).toEqual([])
})

test('a tag without histories, and a folder without checksums, are found', async () => {
  await git('tag', '0.2.0')
  await mkdir(join(root, '0.3.0'))
  await mkdir(join(root, 'drafts'))
  expect((await releaseProblems(root)).map((problem) => problem.slice(0, 40))).toEqual(
    [
      'Expected SHA256SUMS in histories/0.3.0, g',
      'Expected a folder of a version or "unrel',
      'Expected histories/0.2.0, for the tag 0.',
    ].map((problem) => problem.slice(0, 40)),
  )
})
