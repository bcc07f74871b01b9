import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { defineAgent, defineModel, definePrompt, registry } from '../../src/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import { startDevServer } from '../support/servers.js'
import type { DevServer } from '../support/servers.js'
import { createWorkingFixture } from './working-fixture.js'
import type { WorkingFixture } from './working-fixture.js'

const HOOKS = new URL('../store/processes/resolve-typescript.ts', import.meta.url).pathname
const WITHOUT_BRIDGE = new URL('../support/without-bridge.ts', import.meta.url).pathname
const CLIENT_PROCESS = new URL('./live/client-process.ts', import.meta.url).pathname
const door = (path: string): string => new URL(path, import.meta.url).pathname

const chat = scriptedModel(() => ({ text: 'Done.' }))
const desk = registry({
  models: [defineModel({ name: 'chat', provider: { languageModel: () => chat }, model: 'x' })],
  prompts: [
    definePrompt({ name: 'clerk', toolDescription: 'x', prompt: 'x', model: 'chat', includeChat: true }),
  ],
  agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } })],
})

let server: DevServer
let fixture: WorkingFixture

beforeAll(async () => {
  server = await startDevServer()
  fixture = await createWorkingFixture({ registry: desk, server })
})
afterAll(async () => {
  await fixture.close()
  await server.stop()
})

function run(script: string, ...options: readonly string[]): Promise<{ readonly stdout: string }> {
  const hooks = ['--import', HOOKS, '--import', WITHOUT_BRIDGE]
  return promisify(execFile)(process.execPath, [...hooks, script, ...options])
}

test('a client works where no worker package is installed', async () => {
  const { place: store, taskQueue } = fixture
  const place = JSON.stringify({ address: server.address, taskQueue, store })
  const { stdout } = await run(CLIENT_PROCESS, place)
  expect(JSON.parse(stdout)).toMatchObject({ reply: 'Done.', status: 'idle', stale: false })
})

test.each(['../../src/client/index.ts', '../../src/server/index.ts', '../../src/index.ts'])(
  '%s loads nothing of a worker',
  async (path) => {
    await run(door(path))
  },
)

test('a worker does not load there, so that the test can fail', async () => {
  await expect(run(door('../../src/worker/index.ts'))).rejects.toThrow(/without-bridge/)
})
