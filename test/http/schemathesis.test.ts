import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import type { ThreadClient } from '../../src/client/index.js'
import { serveThreads } from '../../src/server/index.js'
import type { RequestEntry, ThreadServer } from '../../src/server/index.js'
import { createTestEnvironment, scriptedModel } from '../../src/testing/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { deskOfTests } from '../server/desk-of-tests.js'
import { OPERATOR } from '../server/server-fixture.js'
import { locatePython } from '../support/python.js'

let env: TestEnvironment
let server: ThreadServer
let folder: string
const logged: RequestEntry[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everthread-schemathesis-'))
  const chat = scriptedModel(() => ({ text: 'Hello' }))
  env = await createTestEnvironment({ registry: deskOfTests, models: { chat }, server: 'dev' })
  const tokens = [{ token: OPERATOR }]
  server = await serveThreads({
    client: env.threads as ThreadClient,
    ...{ tokens, port: 0, rateLimit: false, longestStream: 200, log: (entry) => logged.push(entry) },
  })
})
afterAll(async () => {
  await server.close()
  await env.close()
  await rm(folder, { recursive: true, force: true })
})

/** Of a thread that is there: otherwise nearly all answers would be 404. 431 is Node's refusal of a long header. */
const CONFIGURATION = `
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 429, 431]

[parameters]
"path.threadId" = "known"

[[operations]]
include-operation-id = ["deleteThread", "terminateThread"]
parameters = { "path.threadId" = "another" }
`

const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'negative_data_rejection',
  'ignored_auth',
]

test('all that the document allows, and more, is answered as the document says', async () => {
  const thread = await env.threads.create({ agent: 'support', id: 'known', message: 'Hello' })
  await env.threads.create({ agent: 'support', id: 'another' })
  await thread.writeFile('/notes/plan.md', 'x', 'text/markdown')
  await thread.waitUntilIdle()
  const configuration = join(folder, 'schemathesis.toml')
  await writeFile(configuration, CONFIGURATION)
  const { code, output } = await schemathesis([
    ...['--config-file', configuration, 'run', `${server.url}/openapi.json`],
    ...['--header', `Authorization: Bearer ${OPERATOR}`],
    ...['--checks', CHECKS.join(','), '--phases', 'examples,coverage,fuzzing', '--max-examples', '5'],
    ...[
      '--seed',
      '1',
      '--workers',
      '1',
      '--no-color',
      '--generation-database',
      'none',
      '--request-timeout',
      '20',
    ],
    ...['--max-time', '45', '--no-shrink', '--continue-on-failure'],
  ])
  expect(code, output).toBe(0)
  expect(output).toMatch(/Operations: +\d+ selected/)
  expect(logged.length).toBeGreaterThan(300)
  expect(logged.filter(({ status }) => status >= 500)).toEqual([])
})

function schemathesis(given: readonly string[]): Promise<{ readonly code: number; readonly output: string }> {
  const command = join(dirname(locatePython()), 'schemathesis')
  return new Promise((resolve) => {
    execFile(command, [...given], { cwd: folder, maxBuffer: 64 * 1024 * 1024 }, (error, output, problems) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
      resolve({ code, output: output + problems })
    })
  })
}
