import { expect, test } from 'vitest'
import { freeAttachmentPath } from '../../../src/store/files/attachments.js'
import {
  statFile,
  copyFile,
  fileStats,
  findFiles,
  listChangedFiles,
  makeFolder,
  putFile,
  removeFile,
} from '../../../src/store/files/files.js'
import { readEvents } from '../../../src/store/events.js'
import type { Store } from '../../../src/store/store.js'
import { NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

const DIGEST = 'd'.repeat(64)

export const put = (
  store: Store,
  path: string,
  changes: { blob?: string; size?: number; now?: number } = {},
) =>
  store.write((tx) =>
    putFile(tx, { threadId: 't', path, mimeType: 'text/plain', size: 3, blob: DIGEST, now: NOW, ...changes }),
  )

const attach = (store: Store, name: string) =>
  store.write(async (tx) => {
    const path = await freeAttachmentPath(tx, 't', name)
    await putFile(tx, { threadId: 't', path, mimeType: 'x/y', size: 1, blob: DIGEST, now: NOW })
    return path
  })

export function fileConformance(withStore: WithStore): void {
  test(
    'each change of a file is an event with its version',
    withStore(async (store) => {
      const about = { threadId: 't', path: '/a.txt', mimeType: 'text/plain', size: 3, now: NOW }
      const other = 'e'.repeat(64)
      await store.write((tx) => putFile(tx, { ...about, blob: DIGEST, scope: { toolCallId: 'c' } }))
      await store.write((tx) => putFile(tx, { ...about, blob: other }))
      await store.write((tx) =>
        copyFile(tx, {
          ...{ fromThreadId: 't', fromPath: '/a.txt', toThreadId: 'child', toPath: '/b.txt', now: NOW },
        }),
      )
      await store.write((tx) => removeFile(tx, 't', '/a.txt'))
      const read = (threadId: string) => store.read((db) => readEvents(db, { threadId, after: 0, limit: 10 }))
      const change = { path: '/a.txt', size: 3 }
      expect(await read('t')).toMatchObject([
        {
          type: 'file.changed',
          scope: { toolCallId: 'c' },
          payload: { ...change, change: 'created', version: DIGEST.slice(0, 16) },
        },
        { scope: {}, payload: { ...change, change: 'updated', version: other.slice(0, 16) } },
        { payload: { ...change, change: 'deleted', size: 0, version: null } },
      ])
      const copied = { path: '/b.txt', change: 'created', size: 3, version: other.slice(0, 16) }
      expect((await read('child')).map(({ payload }) => payload)).toEqual([copied])
    }),
  )

  test(
    'files are listed by their last change, without folders',
    withStore(async (store) => {
      await put(store, '/a/old.txt', { now: NOW })
      await put(store, '/b/new.txt', { now: NOW + 2 })
      await put(store, '/a/old.txt', { now: NOW + 3 })
      await put(store, '/c.txt', { now: NOW + 1 })
      const changed = await store.read((db) => listChangedFiles(db, 't', 2))
      expect(changed.map(({ path, blob }) => [path, blob])).toEqual([
        ['/a/old.txt', DIGEST],
        ['/b/new.txt', DIGEST],
      ])
    }),
  )

  test(
    'a file is written, replaced, read and removed',
    withStore(async (store) => {
      const file = {
        threadId: 't',
        path: '/notes/plan.md',
        mimeType: 'text/markdown',
        size: 5,
        blob: DIGEST,
        metadata: { by: 'a' },
        width: 2,
        height: 1,
      }
      const written = await store.write((tx) => putFile(tx, { ...file, now: NOW }))
      expect(written).toEqual({
        path: '/notes/plan.md',
        name: 'plan.md',
        mimeType: 'text/markdown',
        storage: 'local',
        size: 5,
        isDirectory: false,
        metadata: { by: 'a' },
        width: 2,
        height: 1,
        createdAt: NOW,
        updatedAt: NOW,
        blob: DIGEST,
      })
      expect(await store.read((db) => statFile(db, 't', '/notes/plan.md'))).toEqual(written)
      expect(await store.read((db) => statFile(db, 'other', '/notes/plan.md'))).toBeNull()
      await put(store, '/notes/plan.md', { size: 9, now: NOW + 4 })
      const replaced = await store.read((db) => statFile(db, 't', '/notes/plan.md'))
      expect(replaced).toMatchObject({ size: 9, createdAt: NOW, updatedAt: NOW + 4, metadata: null })
      expect(await store.write((tx) => removeFile(tx, 't', '/notes/plan.md'))).toBe(true)
      expect(await store.write((tx) => removeFile(tx, 't', '/notes/plan.md'))).toBe(false)
    }),
  )

  test(
    'a copied file outlives its source',
    withStore(async (store) => {
      await put(store, '/report.pdf', { size: 100 * 1024 * 1024 })
      const copy = (fromPath: string) =>
        store.write((tx) =>
          copyFile(tx, {
            fromThreadId: 't',
            fromPath,
            toThreadId: 'child',
            toPath: '/attachments/report.pdf',
            now: NOW + 1,
          }),
        )
      const copied = await copy('/report.pdf')
      expect(copied).toMatchObject({ path: '/attachments/report.pdf', blob: DIGEST, createdAt: NOW + 1 })
      await store.write((tx) => removeFile(tx, 't', '/report.pdf'))
      expect(await store.read((db) => statFile(db, 'child', '/attachments/report.pdf'))).toEqual(copied)
      expect(await copy('/report.pdf')).toBeNull()
      await store.write((tx) => makeFolder(tx, { threadId: 't', path: '/folder', now: NOW }))
      expect(await copy('/folder')).toBeNull()
    }),
  )

  test(
    'clashing attachment names are numbered',
    withStore(async (store) => {
      expect(await attach(store, 'report.pdf')).toBe('/attachments/report.pdf')
      expect(await attach(store, 'report.pdf')).toBe('/attachments/report-2.pdf')
      expect(await attach(store, 'report.pdf')).toBe('/attachments/report-3.pdf')
      expect(await attach(store, 'report.txt')).toBe('/attachments/report.txt')
      expect(await attach(store, 'archive.tar.gz')).toBe('/attachments/archive.tar.gz')
      for (let n = 4; n < 40; n++)
        expect(await attach(store, 'report.pdf')).toBe(`/attachments/report-${n}.pdf`)
    }),
  )

  test(
    'an attachment name never leaves its folder',
    withStore(async (store) => {
      expect(await attach(store, '../../etc/passwd')).toBe('/attachments/passwd')
      expect(await attach(store, 'C:\\temp\\a.txt')).toBe('/attachments/a.txt')
      expect(await attach(store, '..')).toBe('/attachments/file')
      expect(await attach(store, '')).toBe('/attachments/file-2')
      expect(await attach(store, 'a\nb\u0000.txt')).toBe('/attachments/a-b-.txt')
      expect(await attach(store, '.env')).toBe('/attachments/.env')
      expect((await attach(store, 'x'.repeat(5000))).length).toBeLessThan(255)
      expect((await attach(store, '😀'.repeat(5000))).length).toBeLessThan(255)
    }),
  )

  test(
    'files are found by pattern and counted',
    withStore(async (store) => {
      for (const path of ['/a.md', '/notes/b.md', '/notes/deep/c.md', '/notes/b.txt']) await put(store, path)
      const find = (pattern: string) => store.read((db) => findFiles(db, 't', pattern))
      expect(await find('*.md')).toEqual(['/a.md', '/notes/b.md', '/notes/deep/c.md'])
      expect(await find('/*.md')).toEqual(['/a.md'])
      expect(await find('/notes/**')).toEqual(['/notes/b.md', '/notes/b.txt', '/notes/deep/c.md'])
      expect(await find('notes/*')).toEqual(['/notes/b.md', '/notes/b.txt'])
      expect(await find('nothing')).toEqual([])
      const stats = await store.read((db) => fileStats(db, 't'))
      expect(stats).toEqual({ fileCount: 4, directoryCount: 2, totalSize: 12 })
      const none = await store.read((db) => fileStats(db, 'nobody'))
      expect(none).toEqual({ fileCount: 0, directoryCount: 0, totalSize: 0 })
    }),
  )
}
