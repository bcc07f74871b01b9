import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { copyAttachments, filesAt } from '../../src/activities/attachments.js'
import { statFile, putFile, removeFile } from '../../src/store/files/files.js'
import type { Store } from '../../src/store/store.js'
import { NOW, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { addChild, deliver, endSession, messagesOf, registered, say, writeText } from './family.js'

const crossing = (from: string, to: string, paths: readonly string[]) => ({ from, to, paths, now: NOW })

async function textAt(store: Store, threadId: string, path: string): Promise<string | null> {
  const file = await store.read((db) => statFile(db, threadId, path))
  const bytes = file?.blob == null ? null : await store.blobs.read(file.blob)
  return bytes === null ? null : Buffer.from(bytes).toString()
}

/** Files of the blob store, and their bytes in all. */
async function blobs(folder: string): Promise<{ readonly files: number; readonly bytes: number }> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  const sizes = await Promise.all(
    files.map(async (file) => (await stat(join(file.parentPath, file.name))).size),
  )
  return { files: files.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

/** Of the processor, which a busy machine does not make more. */
async function timed<Result>(work: () => Promise<Result>) {
  const start = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(start)
  return { result, milliseconds: (user + system) / 1000 }
}

/** The same worker, whose agent `pair` has no session tools. */
function withoutBindings({ dependencies }: ActivityDesk): ActivityDesk['dependencies'] {
  const { registry } = dependencies
  return {
    ...dependencies,
    registry: {
      ...registry,
      agent(name) {
        const agent = registry.agent(name)
        return agent && { ...agent, sideA: { prompt: 'clerk' } }
      },
    },
  }
}

/** The two ends of the crossing of a file. */
const WAYS = [
  ['parent to child', 't', 'c'],
  ['child to parent', 'c', 't'],
] as const

describe.each(WAYS)('a file on its way from %s', (_way, from, to) => {
  test('SA-A-07.12b SA-R-08.2d has a path of its own, and the old one is not valid there', () =>
    withDesk({}, async ({ store }) => {
      await addChild(store)
      await writeText(store, '/notes/plan.txt', from, 'the plan')
      const refs = await store.write((tx) => copyAttachments(tx, crossing(from, to, ['/notes/plan.txt'])))
      expect(refs).toMatchObject([{ path: '/attachments/plan.txt', name: 'plan.txt', size: 8 }])
      expect(await textAt(store, to, '/attachments/plan.txt')).toBe('the plan')
      expect(await textAt(store, to, '/notes/plan.txt')).toBeNull()
      expect(await store.read((db) => filesAt(db, to, ['/notes/plan.txt']))).toContain('There is no file')
    }))

  test('goes around names that are taken', () =>
    withDesk({}, async ({ store }) => {
      await addChild(store)
      await writeText(store, '/attachments/plan.txt', to, 'mine')
      await writeText(store, '/a/plan.txt', from, 'one')
      await writeText(store, '/b/plan.txt', from, 'two')
      const paths = ['/a/plan.txt', '/b/plan.txt']
      const refs = await store.write((tx) => copyAttachments(tx, crossing(from, to, paths)))
      expect(refs.map(({ path }) => path)).toEqual(['/attachments/plan-2.txt', '/attachments/plan-3.txt'])
      expect(await textAt(store, to, '/attachments/plan.txt')).toBe('mine')
      expect(await textAt(store, to, '/attachments/plan-3.txt')).toBe('two')
    }))

  test.each(['source', 'copy'])('outlives the deletion of the %s', (deleted) =>
    withDesk({}, async ({ store }) => {
      await addChild(store)
      await writeText(store, '/plan.txt', from, 'the plan')
      await store.write((tx) => copyAttachments(tx, crossing(from, to, ['/plan.txt'])))
      await store.write((tx) =>
        deleted === 'source'
          ? removeFile(tx, from, '/plan.txt')
          : removeFile(tx, to, '/attachments/plan.txt'),
      )
      const left =
        deleted === 'source' ? textAt(store, to, '/attachments/plan.txt') : textAt(store, from, '/plan.txt')
      expect(await left).toBe('the plan')
    }),
  )

  test('is changed on one side only', () =>
    withDesk({}, async ({ store }) => {
      await addChild(store)
      await writeText(store, '/plan.txt', from, 'the plan')
      await store.write((tx) => copyAttachments(tx, crossing(from, to, ['/plan.txt'])))
      await writeText(store, '/attachments/plan.txt', to, 'another plan')
      expect(await textAt(store, from, '/plan.txt')).toBe('the plan')
    }))
})

test.each(['without a word', 'with a tool that names no files'])(
  'P2 files that its model makes come along %s',
  (how) =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      for (const [path, words] of [['/draft.png', 'A draft.'] as const, ['/plan.png', ''] as const]) {
        await writeText(desk.store, path, 'c')
        const file = { id: path, type: 'file', path, name: path, mimeType: 'image/png', size: 5 } as const
        await say(desk.store, words, { attachments: [file] })
      }
      const alone = how === 'without a word'
      if (!alone) await endSession(desk.store)
      if (alone) await deliver(withoutBindings(desk), { reason: 'stop_on_response', sessionCall: null })
      else await deliver(desk.dependencies)
      expect((await registered(desk.store))?.report).toMatchObject({
        text: alone ? 'The subagent ended its work with files and without a text.' : 'Found it.',
        attachments: [{ path: '/attachments/draft.png' }, { path: '/attachments/plan.png' }],
      })
    }),
)

test('SA-A-07.12a 100 MB come along in milliseconds, and no byte moves', () =>
  withDesk({}, async ({ store, dependencies, blobFolder }) => {
    await addChild(store)
    const size = 100 * 1024 * 1024
    const { result, milliseconds } = await timed(() => store.blobs.write(Buffer.alloc(size, 7)))
    const { digest: blob } = result
    const big = { threadId: 'c', path: '/out/big.bin', mimeType: 'application/octet-stream' }
    await store.write((tx) => putFile(tx, { ...big, size, blob, now: NOW }))
    await endSession(store, { paths: ['/out/big.bin'] })
    const before = await blobs(blobFolder)
    expect(before).toEqual({ files: 1, bytes: size })
    const crossed = await timed(() => deliver(dependencies))
    expect(crossed.milliseconds).toBeLessThan(milliseconds / 4)
    expect(await blobs(blobFolder)).toEqual(before)
    const [message] = await messagesOf(store, 't')
    expect(message?.attachments).toMatchObject([{ path: '/attachments/big.bin', size }])
    expect(await store.read((db) => statFile(db, 't', '/attachments/big.bin'))).toMatchObject({ blob, size })
  }))
