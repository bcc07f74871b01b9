import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { until } from '../support/until.js'
import { startDev } from './dev-process.js'
import type { Dev } from './dev-process.js'
import { initLinked, makeFolder } from './linked-project.js'

/** The process that runs a tool says which one it is. */
const WHERE = `const where = defineTool({ description: 'Tells the process.', execute: () => \`process \${process.pid}\` })

export const support`

/** `EVERTHREAD_DEPLOYS=20` looks longer. */
const DEPLOYS = Number(process.env['EVERTHREAD_DEPLOYS'] ?? 2)

let place: Awaited<ReturnType<typeof makeFolder>>
let dev: Dev
beforeAll(async () => {
  place = await makeFolder()
  const project = await initLinked(place.folder, 'my-agent')
  const file = join(project, 'agents.ts')
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replace('export const support', WHERE).replace('tools: { ', 'tools: { where, '))
  dev = await startDev(project)
})
afterAll(async () => {
  dev.child.kill('SIGKILL')
  await place.remove()
})

interface Status {
  readonly worker: { readonly pid: number; readonly deploys: number; readonly draining: readonly number[] }
}

// The routes are ours.
const statusOf = async (): Promise<Status['worker']> =>
  ((await dev.call('/dev/status')).json as Status).worker

async function say(id: string, content: string): Promise<void> {
  const known = (await dev.call(`/threads/${id}`)).status === 200
  if (known) await dev.call(`/threads/${id}/messages`, { body: { content } })
  else await dev.call('/threads', { body: { agent: 'support', id, message: content } })
}

async function textOf(id: string): Promise<string> {
  return JSON.stringify((await dev.call(`/threads/${id}/messages`)).json)
}

async function snapshotOf(id: string): Promise<string> {
  return JSON.stringify((await dev.call(`/threads/${id}/snapshot`)).json)
}

/** The process that took the newest question of a thread. */
async function askWhere(id: string): Promise<number> {
  const answers = async (): Promise<readonly string[]> =>
    (await textOf(id)).match(/The answer of the tool: process \d+/g) ?? []
  const before = (await answers()).length
  await say(id, 'where')
  const last = await until('where it runs', async () => {
    const found = await answers()
    return found.length > before && found.at(-1)
  })
  return Number(last.split(' ').at(-1))
}

test(
  'after a deploy everything new runs on the new worker, while the old one ends what it had begun',
  { timeout: 120_000 * DEPLOYS },
  async () => {
    await askWhere('kept')
    for (let number = 1; number <= DEPLOYS; number += 1) {
      const story = `story-${number}`
      const before = await statusOf()
      await say(story, 'tell me a long story')
      await until('the step', async () => /"steps":|"doing":"model/.test(await snapshotOf(story)))
      await dev.call('/dev/deploy', { method: 'POST' })
      const after = await until('the deploy', async () => {
        const now = await statusOf()
        return now.deploys > before.deploys && now
      })
      expect((await statusOf()).draining).toEqual([before.pid])
      // In the cache of the old worker, new at once, and new after four seconds.
      expect(await Promise.all([askWhere('kept'), askWhere(`new-${number}`)])).toEqual([after.pid, after.pid])
      await new Promise((resolve) => setTimeout(resolve, 4000))
      expect(await askWhere(`later-${number}`)).toBe(after.pid)
      expect(after.pid).not.toBe(before.pid)
      await until('the end', async () => (await textOf(story)).includes('That is the end of the story.'))
      expect((await textOf(story)).split('That is the end of the story.')).toHaveLength(2)
    }
  },
)

test('a kill ends also the worker that a deploy has replaced, and the answer is whole, once', async () => {
  const before = await statusOf()
  await say('story', 'tell me a long story')
  await until('the step', async () => /"steps":|"doing":"model/.test(await snapshotOf('story')))
  await dev.call('/dev/deploy', { method: 'POST' })
  await until('the deploy', async () => (await statusOf()).draining.includes(before.pid))
  await dev.call('/dev/kill-worker', { method: 'POST' })
  await until('its death', async () => (await statusOf()).draining.length === 0)
  await until('the end', async () => (await textOf('story')).includes('That is the end of the story.'))
  expect((await textOf('story')).split('That is the end of the story.')).toHaveLength(2)
})
