import { execFile, execFileSync } from 'node:child_process'
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { expect, test } from 'vitest'

import { buildOldPackage, commitOf } from '../../chaos/driver/old-package.js'

const PROJECT = fileURLToPath(new URL('../..', import.meta.url))
const LOADING = ['--import', './test/store/processes/resolve-typescript.ts', 'chaos/chaos.ts']

test(
  'an old package is built of its commit, and chaos in it imports it by its name',
  {
    timeout: 300_000,
  },
  async () => {
    const folder = join(await realpath(await mkdtemp(join(tmpdir(), 'everthread-old-'))), 'old')
    try {
      const { codePath } = await buildOldPackage(commitOf('HEAD'), folder)
      expect(codePath.startsWith(folder)).toBe(true)
      expect(await readFile(codePath, 'utf8')).toContain('agentThread')
      const asking = ['--input-type=module', '-e', 'console.log(import.meta.resolve("everthread/worker"))']
      const door = execFileSync(process.execPath, asking, { cwd: join(folder, 'chaos'), encoding: 'utf8' })
      expect(door.trim()).toBe(pathToFileURL(join(folder, 'dist/worker/index.js')).href)
    } finally {
      await rm(join(folder, '..'), { recursive: true, force: true })
    }
  },
)

test('a ref that nobody knows is one sentence, before anything starts', { timeout: 60_000 }, async () => {
  for (const ref of ['no-such-tag', '--all', 'HEAD:package.json'])
    expect(() => commitOf(ref)).toThrow(
      `Expected --old to name a tag or commit of this repository, got "${ref}"`,
    )
  const line = [...LOADING, '--kills', '1', '--seed', '1', '--old', 'no-such-tag']
  const said = await new Promise<readonly [number, string]>((resolve) => {
    execFile(process.execPath, line, { cwd: PROJECT }, (error, _, problems) =>
      resolve([Number(error?.code ?? 0), problems]),
    )
  })
  expect(said[0]).toBe(2)
  expect(said[1].trim().split('\n')).toEqual([
    expect.stringContaining('chaos: Expected --old to name a tag or commit'),
  ])
})
