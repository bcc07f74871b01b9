import { randomUUID } from 'node:crypto'
import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { anyFact } from '../support/any-fact.js'
import { appendEvents, readEvents } from '../../src/store/events.js'
import { openStore, prepareStore } from '../../src/store/open-store.js'
import { openSqlite } from '../../src/store/sqlite/sqlite-database.js'
import { StoreError } from '../../src/store/store-error.js'
import { findThread, updateThread } from '../../src/store/threads/threads.js'
import { pipeline } from '../../src/store/transaction.js'
import { makeThread } from './conformance/with-store.js'

let folder = ''
const place = (name: string) => join(folder, name)
const open = (name = 'threads.db') => openStore({ database: place(name), blobs: place('blobs') })

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everthread-disks-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** The error of an opening that must fail: a StoreError of one line. */
async function refusal(opening: Promise<unknown>): Promise<StoreError> {
  const error: unknown = await opening.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!StoreError.isInstance(error)) throw new Error('Expected a StoreError', { cause: error })
  expect(error.message).not.toContain('\n')
  return error
}

test('missing folders are made', async () => {
  const store = await open('not/there/yet/threads.db')
  await makeThread(store, 't')
  await store.close()
  const again = await open('not/there/yet/threads.db')
  expect((await again.read((db) => findThread(db, 't')))?.id).toBe('t')
  await again.close()
})

test('a path under a regular file is refused', async () => {
  await writeFile(place('file'), 'x')
  expect((await refusal(open('file/threads.db'))).message).toMatch(/a part of its path is a file/)
  const blobs = openStore({ database: place('threads.db'), blobs: place('file/blobs') })
  expect((await refusal(blobs)).message).toMatch(/blob folder .* a part of its path is a file/)
})

test('a folder in the place of the file is refused', async () => {
  await mkdir(place('threads.db'))
  expect((await refusal(open())).message).toMatch(/Expected the database .* to be a file/)
})

test.runIf(process.platform === 'linux')('a place that takes no files is refused', async () => {
  const error = await refusal(openStore({ database: '/proc/everthread/threads.db', blobs: place('b') }))
  expect(error.code).toBe('unavailable')
  expect(error.message).toContain('/proc/everthread/threads.db')
})

test('a file that is no database is refused and kept', async () => {
  const text = 'these are my notes, and not a database at all\n'.repeat(50)
  await writeFile(place('threads.db'), text)
  const error = await refusal(open())
  expect([error.code, error.message]).toEqual([
    'incompatible',
    expect.stringMatching(/not a SQLite database/),
  ])
  expect(await readFile(place('threads.db'), 'utf8')).toBe(text)
})

test("another program's database is refused and kept", async () => {
  const other = new DatabaseSync(place('threads.db'))
  other.exec('create table threads (mine text)')
  other.close()
  const error = await refusal(open())
  expect([error.code, error.message]).toEqual(['incompatible', expect.stringMatching(/another program/)])
})

test.each([
  ['operations', 'run'],
  ['schema_info', 'store_id'],
])('a store from before the first release, without %s.%s, is refused', async (table, column) => {
  await (await open()).close()
  const old = new DatabaseSync(place('threads.db'))
  old.exec(`alter table ${table} drop column ${column}`)
  old.close()
  const error = await refusal(open())
  expect([error.code, error.message]).toEqual([
    'incompatible',
    expect.stringMatching(/before its first release.* make the store anew/),
  ])
})

test('a store keeps its id until it is given another', async () => {
  const options = { database: place('threads.db'), blobs: place('blobs') }
  const { id } = await prepareStore(options)
  expect(await prepareStore(options)).toMatchObject({ id })
  const renewed = await prepareStore(options, { newId: true })
  expect(renewed.id).not.toBe(id)
  const store = await open()
  expect(store.id).toBe(renewed.id)
  await store.close()
})

test('a newer schema is used only if it allows it', async () => {
  await (await open()).close()
  const setInfo = (version: number, oldest: number) => {
    const database = new DatabaseSync(place('threads.db'))
    database.exec(`update schema_info set version = ${version}, oldest_code = ${oldest}`)
    database.close()
  }
  setInfo(8, 1)
  await (await open()).close()
  setInfo(8, 7)
  const error = await refusal(open())
  expect(error.code).toBe('incompatible')
  expect(error.message).toMatch(/got schema version 8, which needs at least 7: install a newer version/)
})

test('a database locked for good is reported as such', async () => {
  const holder = new DatabaseSync(place('threads.db'))
  holder.exec('begin exclusive')
  const error = await refusal(openSqlite(place('threads.db'), 300))
  expect(error.code).toBe('busy')
  expect(error.message).toMatch(/is locked by another process; end it or try again/)
  holder.close()
})

test('opening waits for a process that is making the file', async () => {
  await (await open()).close()
  const maker = new DatabaseSync(place('threads.db'))
  maker.exec('pragma journal_mode = delete; begin exclusive')
  setTimeout(() => maker.close(), 300)
  await (await open()).close()
})

test('a disk that is full in the midst of a transaction leaves nothing of it', async () => {
  const store = await open()
  await makeThread(store, 't')
  await store.write(async (tx) => {
    const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(tx)
    await sql.raw(`pragma max_page_count = ${(rows[0]?.page_count ?? 0) + 2}`).execute(tx)
  })
  const filling = store.write(async (tx) => {
    // SQLite rolls back by itself at that, and would run what follows as if nothing had been.
    pipeline(tx, updateThread(tx, 't', { title: 'x'.repeat(200_000) }))
    await appendEvents(tx, { threadId: 't', events: [anyFact('one', {})], now: 1 })
  })
  expect((await refusal(filling)).message).toContain('full disk')
  expect(await store.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 10 }))).toEqual([])
  expect((await store.read((db) => findThread(db, 't')))?.last_sequence).toBe(0)
  await store.close()
})

const pathOf = (digest: string) => join('blobs', digest.slice(0, 2), digest.slice(2, 4), digest)

test('a damaged blob is noticed, whole and streamed', async () => {
  const store = await open()
  const { digest } = await store.blobs.write(new Uint8Array([1, 2, 3]))
  const path = place(join('blobs', digest.slice(0, 2), digest.slice(2, 4), digest))
  await writeFile(path, new Uint8Array([1, 2, 4]))
  expect((await refusal(store.blobs.read(digest))).code).toBe('corrupt')
  let taken = 0
  const drain = async () => {
    for await (const chunk of (await store.blobs.stream(digest)) ?? []) taken += chunk.length
  }
  expect((await refusal(drain())).code).toBe('corrupt')
  expect(taken).toBe(0)
  expect(await readdir(dirname(path))).toEqual([digest])
  expect(await readdir(place('blobs/tmp'))).toEqual([])
  await store.close()
})

test('bytes written again, whole or in chunks, repair a damaged blob', async () => {
  const store = await open()
  const bytes = new Uint8Array([1, 2, 3])
  const { digest } = await store.blobs.write(bytes)
  for (const given of [bytes, [bytes] as never]) {
    await writeFile(place(pathOf(digest)), new Uint8Array([1, 2, 4]))
    await store.blobs.write(given)
    expect(Buffer.from((await store.blobs.read(digest)) ?? [])).toEqual(Buffer.from(bytes))
  }
  await store.close()
})

test('no part of a damaged blob is given out', async () => {
  const store = await open()
  const { digest, size } = await store.blobs.write(new Uint8Array([1, 2, 3]))
  const part = { start: 0, end: 2 }
  const read = () => store.blobs.stream(digest, part)
  await writeFile(place(pathOf(digest)), new Uint8Array([1, 2, 4]))
  expect((await refusal(read())).code).toBe('corrupt')
  await store.blobs.write(new Uint8Array([1, 2, 3]))
  expect(await read()).not.toBeNull()
  expect((await refusal(store.blobs.stream(digest, { ...part, size: size + 1 }))).code).toBe('corrupt')
  // Also after it was found to be whole.
  await writeFile(place(pathOf(digest)), new Uint8Array([1, 2, 3, 4]))
  expect((await refusal(read())).code).toBe('corrupt')
  await store.close()
})

test('a symbolic link in the blob folder is no blob, and stays unread', async () => {
  const store = await open()
  const bytes = new Uint8Array([1, 2, 3])
  const { digest } = await store.blobs.write(bytes)
  const [link, outside] = [place(pathOf(digest)), place('outside')]
  await writeFile(outside, bytes)
  await rm(link)
  await symlink(outside, link)
  const yesterday = new Date(Date.now() - 86_400_000)
  await utimes(outside, yesterday, yesterday)
  expect(await store.blobs.read(digest)).toBeNull()
  expect(await store.blobs.stream(digest)).toBeNull()
  expect(await store.blobs.stream(digest, { start: 0, end: 2 })).toBeNull()
  expect(await store.blobs.delete(digest)).toBe(false)
  for await (const listed of store.blobs.list()) expect(listed.digest).not.toBe(digest)
  await store.blobs.write(bytes)
  expect((await lstat(link)).isFile()).toBe(true)
  expect((await stat(outside)).mtimeMs).toBe(yesterday.getTime())
  await store.close()
})

test('bytes written again are as young as new ones', async () => {
  const store = await open()
  const bytes = new Uint8Array([1, 2, 3])
  const { digest } = await store.blobs.write(bytes)
  const path = place(join('blobs', digest.slice(0, 2), digest.slice(2, 4), digest))
  const yesterday = new Date(Date.now() - 86_400_000)
  const hourAgo = Date.now() - 3_600_000
  await utimes(path, yesterday, yesterday)
  await store.blobs.write(bytes)
  expect(await store.blobs.delete(digest, hourAgo)).toBe(false)
  await utimes(path, yesterday, yesterday)
  expect(await store.blobs.delete(digest, hourAgo)).toBe(true)
  await store.close()
})

test('old drafts and strange files are no blobs', async () => {
  const store = await open()
  await writeFile(place(`blobs/tmp/${randomUUID()}`), 'half')
  await writeFile(place('blobs/tmp/report.pdf'), 'mine')
  await mkdir(place('blobs/tmp/mine'))
  await writeFile(place('blobs/notes.txt'), 'mine')
  await mkdir(place('blobs/aa'))
  await writeFile(place('blobs/aa/bb'), 'mine')
  for await (const blob of store.blobs.list()) expect(blob).toBeUndefined()
  expect(await store.blobs.deleteDrafts(Date.now() + 3_600_000)).toBe(1)
  expect((await readdir(place('blobs/tmp'))).toSorted()).toEqual(['mine', 'report.pdf'])
  expect(await readdir(place('blobs/aa'))).toEqual(['bb'])
  await store.close()
})

test('opening a store prints no warning', async () => {
  const warnings: string[] = []
  const note = (warning: Error) => warnings.push(String(warning))
  process.on('warning', note)
  await (await open()).close()
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', note)
  expect(warnings).toEqual([])
})
