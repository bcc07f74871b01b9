import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { marked } from '../support/marker.js'
import { transcript } from '../support/thread-facts.js'
import { until } from '../support/until.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import { expectWholeLog } from './worker/whole-thread.js'

let fixture: Fixture
const address = inject('devServerAddress')
const run = promisify(execFile)

beforeAll(async () => {
  fixture = await createFixture()
  await fixture.startWorker()
})
afterAll(() => fixture.close())

test('a thread lives by the Temporal CLI alone', async () => {
  const id = `cli-${fixture.taskQueue}`
  const input = (value: object) => ['--input', JSON.stringify(value)]
  const start = { agent: 'clerk', message: { content: marked(`please book #${id}`) } }
  await temporal('start', id, ['--type', 'agentThread', '--task-queue', fixture.taskQueue, ...input(start)])
  const thread = fixture.threads.get(id)
  await until('the end of the first run', async () => (await snapshot(id)).lastRun?.runId === 'run_1')
  expect(await fixture.effects(id)).toMatchObject([{ tool: 'book', did: 'acted' }])

  const content = marked(`And the invoice? #${id}`)
  await temporal('signal', id, ['--name', 'queueMessage', ...input({ content })])
  await until('the end of the second run', async () => (await snapshot(id)).lastRun?.runId === 'run_2')
  const rows = await transcript(thread)
  expect(rows.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
    'user',
    'assistant',
  ])
  expect(rows.at(-2)).toMatchObject({ content, status: 'completed' })

  const hold = { content: marked(`please charge and hold #${id}`) }
  await temporal('signal', id, ['--name', 'queueMessage', ...input(hold)])
  await until('a running tool', async () => (await fixture.effects(id)).length === 2)
  expect(await snapshot(id)).toMatchObject({ status: 'running', run: { doing: 'tool charge' } })
  await temporal('signal', id, ['--name', 'stop'])
  await until('the stop', async () => (await snapshot(id)).status === 'stopped')

  await temporal('cancel', id)
  expect(await thread.waitUntilIdle()).toMatchObject({ status: 'terminated' })
  await until('the close', async () => (await thread.workflow.describe()).status.name === 'CANCELLED')
  expect(await snapshot(id)).toMatchObject({ status: 'terminated' })
  await expectWholeLog(thread)
  const { leaks } = await fixture.search([`${id}/start`, `${id}/queueMessage`])
  expect(leaks).toEqual([])
})

interface QueryAnswer {
  readonly status: string
  readonly run: object | null
  readonly lastRun: { readonly runId: string } | null
}

async function snapshot(id: string): Promise<QueryAnswer> {
  const answer = await temporal('query', id, ['--name', 'snapshot'])
  return (JSON.parse(answer) as { queryResult: [QueryAnswer] }).queryResult[0]
}

async function temporal(command: string, id: string, flags: readonly string[] = []): Promise<string> {
  const server = ['--address', address, '--output', 'json']
  const words = ['workflow', command, '--workflow-id', id, ...flags, ...server]
  return (await run(process.env['TEMPORAL_CLI_PATH'] ?? '', words)).stdout
}
