import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { watchProject } from './watch-project.js'

async function watched() {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-watch-'))
  for (const path of ['src', 'node_modules/a', '.git', '.everthread'])
    await mkdir(join(folder, path), { recursive: true })
  await writeFile(join(folder, 'agents.ts'), 'one')
  const came: (readonly string[])[] = []
  let wake: () => void = () => undefined
  const watch = watchProject(
    folder,
    (files) => {
      came.push(files)
      wake()
    },
    (problem) => expect.fail(problem),
  )
  onTestFinished(async () => {
    watch.close()
    await rm(folder, { recursive: true, force: true })
  })
  const put = (path: string, text: string) => writeFile(join(folder, path), text)
  const next = () => new Promise<void>((resolve) => (wake = resolve))
  return { folder, came, put, next }
}

test('a save is one change, also one that replaces the file, and one in a new folder', async () => {
  const { folder, came, put, next } = await watched()
  let change = next()
  await put('agents.ts', 'two')
  await put('src/tools.ts', 'one')
  await change
  expect(came.map((files) => files.toSorted())).toEqual([['agents.ts', 'src/tools.ts']])
  change = next()
  await put('.draft', 'three')
  await rename(join(folder, '.draft'), join(folder, 'agents.ts'))
  await change
  expect(came[1]).toEqual(['agents.ts'])
  change = next()
  await mkdir(join(folder, 'prompts'))
  await put('prompts/desk.md', 'You help.')
  await change
  expect(came[2]).toEqual(['prompts/desk.md'])
})

test('equal content, tests, packages and data are no change', async () => {
  const { came, put, next } = await watched()
  const change = next()
  for (const path of ['agents.test.ts', 'node_modules/a/index.js', '.git/HEAD', '.everthread/a.ts', 'a.db'])
    await put(path, 'x')
  await put('agents.ts', 'one')
  await new Promise((resolve) => setTimeout(resolve, 400))
  expect(came).toEqual([])
  await put('.env', 'KEY=k')
  await change
  expect(came).toEqual([['.env']])
})
