import { writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serveThreads } from '../../src/server/index.js'
import type { ThreadServer } from '../../src/server/index.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { createClientFixture } from '../client/client-fixture.js'
import type { ClientFixture } from '../client/client-fixture.js'
import { ACME, GLOBEX } from '../server/server-fixture.js'

/** Nowhere but in files that the caller may not read. */
const CANARY = 'canary-that-nobody-may-hear'

let fixture: ClientFixture
let server: ThreadServer
let folder: string
let digest: string

beforeAll(async () => {
  fixture = await createClientFixture()
  for (const [id, account] of [
    ['mine', 'globex'],
    ['theirs', 'acme'],
  ] as const)
    await fixture.store.write((tx) => insertThread(tx, { id, account, agent: 'support', created_at: 1 }))
  await fixture.threads.get('theirs').writeFile('/notes/secret.txt', CANARY, 'text/plain')
  await fixture.threads.get('mine').writeFile('/notes/own.txt', 'own', 'text/plain')
  digest = (await fixture.store.blobs.write(Buffer.from(CANARY))).digest
  folder = dirname(fixture.blobFolder)
  await writeFile(join(folder, 'canary.txt'), CANARY)
  const tokens = [
    { token: GLOBEX, account: 'globex' },
    { token: ACME, account: 'acme' },
  ]
  server = await serveThreads({ client: fixture.threads, tokens, port: 0, rateLimit: false })
})
afterAll(async () => {
  await server.close()
  await fixture.close()
})

test('the canaries can be heard by whoever may', async () => {
  const own = await ask('/threads/theirs/files/content?path=%2Fnotes%2Fsecret.txt', ACME)
  expect(own).toEqual([200, CANARY])
  expect(await ask('/threads/mine/files/content?path=%2Fnotes%2Fown.txt', GLOBEX)).toEqual([200, 'own'])
})

test('of 1,000 paths that lead elsewhere none reads anything foreign', async () => {
  const statuses = new Set<number>()
  const path = fc.oneof(filePaths(), threadPaths())
  await fc.assert(
    fc.asyncProperty(path, async (asked) => {
      const [status, text] = await ask(asked, GLOBEX)
      statuses.add(status)
      expect(text).not.toContain(CANARY)
      expect(text).not.toContain('root:')
      expect(status).toBeLessThan(500)
    }),
    { numRuns: 1000 },
  )
  // Refused in several ways, so they got as far as the routes.
  expect([...statuses]).toEqual(expect.arrayContaining([400, 404]))
})

/** The path of a file, in the query. */
function filePaths(): fc.Arbitrary<string> {
  return fc
    .tuple(wayOut(), form(), fc.constantFrom('/files/content', '/files'))
    .map(([way, written, route]) => `/threads/mine${route}?path=${written(way)}`)
}

/** A path that leaves the thread, in the path of the URL. */
function threadPaths(): fc.Arbitrary<string> {
  const query = fc.constantFrom('', '?path=/notes/secret.txt', '?path=%2Fnotes%2Fsecret.txt')
  return fc
    .tuple(wayOut(), form(), fc.constantFrom('/threads/', '/threads/mine/', '/threads/mine/files/'), query)
    .map(([way, written, route, rest]) => `${route}${written(way)}${rest}`)
}

/** Up, and down again to something that is there. */
function wayOut(): fc.Arbitrary<string> {
  const up = fc.constantFrom('../', '..//', './../', '....//', '..;/', '/', '')
  const target = fc.constantFrom(
    'theirs/files/content',
    'theirs/notes/secret.txt',
    'notes/secret.txt',
    '../theirs',
    'etc/passwd',
    'canary.txt',
    'threads.db',
    'FOLDER/canary.txt',
    'file:FOLDER/canary.txt',
    'blobs/DIGEST',
    'DIGEST',
  )
  return fc
    .tuple(fc.array(up, { maxLength: 8 }), target, fc.constantFrom('', '\0', '\0.txt', ' ', '.', '/'))
    .map(([ups, end, tail]) => ups.join('') + end + tail)
}

type Form = (path: string) => string

/** How a path is written into a URL. */
function form(): fc.Arbitrary<Form> {
  const blob = (path: string): string =>
    path.replace('FOLDER', folder).replace('DIGEST', `${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`)
  const plain = (path: string): string => blob(path).replaceAll('\0', '%00').replaceAll(' ', '%20')
  const encoded = (path: string): string => encodeURIComponent(blob(path))
  const allEncoded = (path: string): string =>
    [...Buffer.from(blob(path))].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
  return fc.constantFrom<Form>(
    plain,
    (path) => `/${plain(path)}`,
    encoded,
    (path) => `%2F${encoded(path)}`,
    allEncoded,
    (path) => allEncoded(path).replaceAll('%', '%25'),
    (path) => plain(path).replaceAll('/', '%5C'),
    (path) => plain(path).replaceAll('/', '\\'),
    // What looks like a slash or a dot, or decodes to one where nobody checks.
    (path) => plain(path).replaceAll('/', '%EF%BC%8F').replaceAll('.', '%EF%BC%8E'),
    (path) => plain(path).replaceAll('/', '%C0%AF').replaceAll('.', '%C0%AE'),
    (path) => plain(path).replaceAll('.', '%E2%80%A4'),
    (path) => plain(path).replaceAll('/', '%u2215'),
  )
}

/** As it is: `fetch` and URL would resolve the dots. */
function ask(path: string, token: string): Promise<readonly [number, string]> {
  const { hostname, port } = new URL(server.url)
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    request({ hostname, port, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve([response.statusCode ?? 0, Buffer.concat(chunks).toString()]))
    })
      .on('error', reject)
      .end()
  })
}
