import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { openApiText } from '../../scripts/open-api-text.js'
import { serveThreads } from '../../src/server/index.js'
import { ACME, serverFixture } from './server-fixture.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const published = join(root, 'docs/generated/openapi.json')

const server = serverFixture()

interface Operation {
  readonly operationId?: string
  readonly tags?: readonly string[]
  readonly security?: readonly unknown[]
  readonly responses: Readonly<Record<string, unknown>>
}

test('the published document is that of the routes', async () => {
  expect(await readFile(published, 'utf8'), 'run npm run openapi').toBe(await openApiText())
})

test('every route behind a token has a name, a tag and the common refusals', async () => {
  const { paths } = JSON.parse(await readFile(published, 'utf8')) as {
    paths: Record<string, Record<string, Operation>>
  }
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, route: `${method} ${path}` })),
  )
  const guarded = all.filter(({ security = [] }) => security.length > 0)
  expect(guarded.filter(({ route }) => route.includes('/tool-calls/{threadId}/{callId}/'))).toHaveLength(4)
  const bare = guarded.filter(
    ({ operationId, tags = [], responses }) =>
      operationId === undefined || tags.length === 0 || !responses['429'] || !responses['503'],
  )
  expect(bare.map(({ route }) => route)).toEqual([])
  const names = guarded.map(({ operationId }) => operationId)
  expect(new Set(names).size).toBe(names.length)
})

test('the document has no problem that its linter knows', async () => {
  const linted = run('npx', ['redocly', 'lint', published, '--format', 'json'], {
    cwd: root,
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  }).catch((failed: { stdout: string }) => failed)
  const { problems } = JSON.parse((await linted).stdout) as {
    problems: { ruleId: string; message: string }[]
  }
  expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([])
})

describe('a client made from the document', () => {
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'everthread-client-'))
    const generator = join(root, 'node_modules/@hey-api/openapi-ts/dist/run.mjs')
    const older = join(root, 'test/server/older-typescript.ts')
    const given = ['--silent', '-i', published, '-o', join(folder, 'client')]
    await run('node', ['--import', older, generator, ...given], { cwd: root })
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('compiles', async () => {
    const use = `import { createThread, followEvents, listMessages, sendMessage } from './client/index.js'
export async function use(): Promise<string> {
  const made = await createThread({ body: { agent: 'support', key: 'ticket-17' } })
  const threadId = made.data?.threadId ?? ''
  await sendMessage({ path: { threadId }, body: { content: 'Hello' } })
  const page = await listMessages({ path: { threadId }, query: { limit: 10 } })
  await followEvents({ path: { threadId }, query: { follow: 'false' } })
  return page.data?.messages[0]?.content ?? ''
}
`
    await writeFile(join(folder, 'use.ts'), use)
    const options = {
      module: 'esnext',
      moduleResolution: 'bundler',
      target: 'es2023',
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      lib: ['es2023', 'dom', 'dom.iterable'],
    }
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: options, files: ['use.ts'] }),
    )
    const { stdout } = await run('npx', ['tsc', '-p', folder], { cwd: root }).catch(
      (failed: { stdout: string }) => failed,
    )
    expect(stdout).toBe('')
  })

  test('makes a thread on a server that runs, and reads it', async () => {
    const { url, close } = await serveThreads({
      client: server.fixture.threads,
      tokens: [{ token: ACME, account: 'acme' }],
      port: 0,
    })
    const sdk = await import(pathToFileURL(join(folder, 'client/index.ts')).href)
    const { client } = await import(pathToFileURL(join(folder, 'client/client.gen.ts')).href)
    client.setConfig({ baseUrl: url, auth: () => ACME })
    const made = await sdk.createThread({ body: { agent: 'support', key: 'ticket-17' } })
    const path = { threadId: made.data.threadId }
    await sdk.sendMessage({ path, body: { content: 'Hello' } })
    const page = await sdk.listMessages({ path, query: { limit: 10 } })
    expect(page.data.messages).toMatchObject([{ content: 'Hello' }])
    const file = await sdk.uploadFile({ path, query: { path: '/a b/ü.txt' }, body: new Blob(['x']) })
    expect(file.data).toMatchObject({ path: '/a b/ü.txt', size: 1 })
    const unknown = await sdk.getThread({ path: { threadId: 'nobody' } })
    expect(unknown.error).toMatchObject({ error: { code: 'thread_not_found' } })
    await close()
  })
})
