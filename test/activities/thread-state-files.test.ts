import { expect, test } from 'vitest'
import type { FileChunk } from '../../src/definitions/thread-state.js'
import { statFile, putFile } from '../../src/store/files/files.js'
import { listMessages } from '../../src/store/messages/transcript.js'
import type { Store } from '../../src/store/store.js'
import { NOW, withThread } from './buffered-call.js'

const decode = (data: ArrayBuffer | null) => (data === null ? null : new TextDecoder().decode(data))

async function piecesOf(stream: AsyncIterable<FileChunk> | null): Promise<readonly FileChunk[]> {
  const pieces: FileChunk[] = []
  for await (const piece of stream ?? []) pieces.push(piece)
  return pieces
}

/** What a client or a child does while a call runs. */
async function writeMeanwhile(store: Store, path: string, text: string): Promise<void> {
  const { digest: blob, size } = await store.blobs.write(Buffer.from(text))
  await store.write((tx) => putFile(tx, { threadId: 't', path, mimeType: 'text/plain', blob, size, now: 5 }))
}

test('T9 a file is seen by the call alone until its commit', () =>
  withThread(async ({ store, open, commit }) => {
    const call = await open()
    const options = { width: 4, height: 3, metadata: { by: 'tool' } }
    const record = await call.state.writeFile('/out/a.txt', 'first', 'text/plain', options)
    expect(record).toMatchObject({
      path: '/out/a.txt',
      name: 'a.txt',
      size: 5,
      storage: 'local',
      createdAt: NOW * 1000,
      ...options,
    })
    expect(record).not.toHaveProperty('blob')
    expect(decode(await call.state.readFile('/out/a.txt'))).toBe('first')
    expect(await call.state.statFile('/out/a.txt')).toEqual(record)
    expect(await call.state.statFile('/out')).toMatchObject({ isDirectory: true })
    expect(await store.read((db) => statFile(db, 't', '/out/a.txt'))).toBeNull()
    await commit(call)
    const next = await open('call_1_2_1')
    expect(await next.state.statFile('/out/a.txt')).toEqual(record)
    expect(decode(await next.state.readFile('/out/a.txt'))).toBe('first')
  }))

test('listings, searches and sums hold both sides', () =>
  withThread(async ({ store, open }) => {
    await writeMeanwhile(store, '/notes/old.md', 'old')
    await writeMeanwhile(store, '/notes/gone.md', 'gone')
    const { state } = await open()
    await state.writeFile('/notes/new.md', 'newer', 'text/markdown')
    await state.writeFile('/notes/old.md', 'changed', 'text/markdown')
    await state.unlinkFile('/notes/gone.md')
    await state.mkdirFile('/empty/inner')
    const names = async (path: string) => (await state.readdirFile(path)).entries.map(({ name }) => name)
    expect(await names('/')).toEqual(['empty', 'notes'])
    expect(await names('/notes')).toEqual(['new.md', 'old.md'])
    expect(await state.findFiles('/notes/*.md')).toEqual({ paths: ['/notes/new.md', '/notes/old.md'] })
    expect(await state.getFileStats()).toEqual({ fileCount: 2, directoryCount: 3, totalSize: 12 })
    expect(await state.readFile('/notes/gone.md')).toBeNull()
    expect(await state.readFileStream('/notes/gone.md')).toBeNull()
    expect(await state.readFile('/notes')).toBeNull()
    await expect(state.readdirFile('/nowhere')).rejects.toThrow('which is not there')
  }))

test('files and folders can take each others places', () =>
  withThread(async ({ open, commit }) => {
    const first = await open()
    await first.state.writeFile('/a', 'file', 'text/plain')
    await first.state.writeFile('/b/inner/c.txt', 'c', 'text/plain')
    await commit(first)
    const second = await open('call_1_2_1')
    await second.state.unlinkFile('/a')
    await second.state.writeFile('/a/deep/x.txt', 'x', 'text/plain')
    await second.state.unlinkFile('/b/inner/c.txt')
    await second.state.rmdirFile('/b/inner')
    await second.state.rmdirFile('/b')
    await second.state.writeFile('/b', 'file now', 'text/plain')
    await commit(second)
    const { state } = await open('call_1_2_2')
    expect(await state.findFiles('*')).toEqual({ paths: ['/a/deep/x.txt', '/b'] })
    expect(await state.getFileStats()).toMatchObject({ fileCount: 2, directoryCount: 2 })
  }))

test('what cannot be done is refused before the commit', () =>
  withThread(async ({ open }) => {
    const { state } = await open()
    await state.writeFile('/a/b.txt', 'b', 'text/plain')
    await expect(state.writeFile('/a', 'x', 'text/plain')).rejects.toThrow('got the folder /a')
    await expect(state.writeFile('/a/b.txt/c', 'x', 'text/plain')).rejects.toThrow('got the file /a/b.txt')
    await expect(state.writeFile('a.txt', 'x', 'text/plain')).rejects.toThrow('does not start with "/"')
    await expect(state.writeFile('/x/../y', 'x', 'text/plain')).rejects.toThrow('".."')
    await expect(state.writeFile('/c', 5 as never, 'text/plain')).rejects.toThrow('got a number')
    await expect(state.writeFile('/c', 'x', '')).rejects.toThrow('MIME type')
    await expect(state.rmdirFile('/a')).rejects.toThrow('1 entries in /a')
    await expect(state.rmdirFile('/a/b.txt')).rejects.toThrow('Expected a folder')
    await expect(state.unlinkFile('/a')).rejects.toThrow('rmdirFile')
    await expect(state.unlinkFile('/c')).rejects.toThrow('which is not there')
    await expect(state.statFile(undefined as never)).rejects.toThrow('got undefined')
    const clash = [state.writeFile('/p', '1', 'text/plain'), state.writeFile('/p/q', '2', 'text/plain')]
    expect((await Promise.allSettled(clash)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  }))

test('a file above 100 MB is refused', () =>
  withThread(async ({ open }) => {
    const { state } = await open()
    const large = new ArrayBuffer(100 * 1024 * 1024 + 1)
    await expect(state.writeFile('/large', large, 'application/octet-stream')).rejects.toThrow(
      'at most 100 MB',
    )
    expect(await state.statFile('/large')).toBeNull()
  }))

test('a stream gives the bytes in numbered pieces', () =>
  withThread(async ({ open }) => {
    const call = await open()
    const { state } = call
    const bytes = Uint8Array.from({ length: 600 * 1024 }, (_, index) => index % 251)
    await state.writeFile('/bytes', bytes, 'application/octet-stream')
    await state.writeFile('/none', '', 'text/plain')
    const pieces = await piecesOf(await state.readFileStream('/bytes'))
    expect(pieces.map(({ index, totalChunks, isLast }) => [index, totalChunks, isLast])).toEqual([
      [0, 3, false],
      [1, 3, false],
      [2, 3, true],
    ])
    expect(Buffer.concat(pieces.map(({ data }) => data)).equals(bytes)).toBe(true)
    const none = await piecesOf(await state.readFileStream('/none'))
    expect(none).toEqual([{ data: new Uint8Array(), index: 0, totalChunks: 1, isLast: true }])
    const late = await state.readFileStream('/bytes')
    call.close()
    await expect(piecesOf(late)).rejects.toThrow('has ended')
  }))

test('grep finds lines of text files and survives any pattern', () =>
  withThread(async ({ open }) => {
    const { state } = await open()
    await state.writeFile('/a.md', 'order A-17\r\nnothing\norder A-18', 'text/markdown; charset=utf-8')
    await state.writeFile('/b.json', '{"order":"A-19"}', 'application/json')
    await state.writeFile('/c.png', 'order A-20', 'image/png')
    await state.writeFile('/large.txt', `order A-21\n${'x'.repeat(1024 * 1024)}`, 'text/plain')
    expect(await state.grepFiles('A-\\d+')).toEqual([
      { path: '/a.md', matches: ['order A-17', 'order A-18'] },
      { path: '/b.json', matches: ['{"order":"A-19"}'] },
    ])
    await expect(state.grepFiles('(')).rejects.toThrow('Expected a regular expression')
    await state.writeFile('/trap.txt', `${'a'.repeat(40)}!`, 'text/plain')
    await expect(state.grepFiles('^(a+)+$')).rejects.toThrow('done in 2 s')
  }))

test('attachments of a queued message become files of the thread', () =>
  withThread(async ({ store, open, commit }) => {
    await writeMeanwhile(store, '/attachments/report.pdf', 'older')
    const call = await open()
    const { state } = call
    await state.writeFile('/out.txt', 'out', 'text/plain')
    const report = { name: 'report.pdf', mimeType: 'application/pdf', data: 'bmV3' }
    const other = { name: 'report.pdf', mimeType: 'application/pdf', data: new Uint8Array([1]), width: 2 }
    await state.queueMessage({ role: 'user', content: '', attachments: [report, other, '/out.txt'] })
    await expect(
      state.queueMessage({ role: 'user', content: 'x', attachments: ['/none.txt'] }),
    ).rejects.toThrow('got no such file')
    const broken = { ...report, data: 'not base64!' }
    await expect(state.queueMessage({ role: 'user', content: 'x', attachments: [broken] })).rejects.toThrow(
      'base64',
    )
    await commit(call)
    const { messages } = await store.read((db) => listMessages(db, { threadId: 't' }))
    const paths = ['/attachments/report-2.pdf', '/attachments/report-3.pdf', '/out.txt']
    expect(messages[0]?.attachments.map(({ path }) => path)).toEqual(paths)
    const next = await open('call_1_2_1')
    expect(decode(await next.state.readFile('/attachments/report-2.pdf'))).toBe('new')
    expect(await next.state.findFiles('/attachments/*')).toMatchObject({ paths: { length: 3 } })
  }))

test('an attachment gives way to a file that came meanwhile', () =>
  withThread(async ({ store, open, commit }) => {
    const call = await open()
    const photo = { name: 'photo.jpg', mimeType: 'image/jpeg', data: new Uint8Array([1, 2]) }
    const [result] = await call.attach([photo])
    await call.state.queueMessage({
      role: 'user',
      content: 'Look',
      attachments: [{ ...result!, description: 'a cat' }],
    })
    await writeMeanwhile(store, '/attachments/photo.jpg', 'theirs')
    const { moved } = await commit(call)
    expect([...moved]).toEqual([['/attachments/photo.jpg', '/attachments/photo-2.jpg']])
    const { messages } = await store.read((db) => listMessages(db, { threadId: 't' }))
    const reference = {
      id: '/attachments/photo-2.jpg',
      path: '/attachments/photo-2.jpg',
      name: 'photo-2.jpg',
    }
    expect(messages[0]?.attachments).toMatchObject([{ ...reference, description: 'a cat' }])
    const { state } = await open('call_1_2_1')
    expect(decode(await state.readFile('/attachments/photo.jpg'))).toBe('theirs')
    expect((await state.readFile('/attachments/photo-2.jpg'))?.byteLength).toBe(2)
  }))

test('a folder that was filled meanwhile is not removed', () =>
  withThread(async ({ store, open, commit }) => {
    const first = await open()
    await first.state.mkdirFile('/inbox')
    await commit(first)
    const second = await open('call_1_2_1')
    await second.state.rmdirFile('/inbox')
    await second.state.setValue('done', true)
    await writeMeanwhile(store, '/inbox/new.txt', 'new')
    await commit(second)
    const { state } = await open('call_1_2_2')
    expect(decode(await state.readFile('/inbox/new.txt'))).toBe('new')
    expect(await state.getValue('done')).toBe(true)
  }))
