import { readFile } from 'node:fs/promises'

import { acceptedContent, inputRequired } from '@modelcontextprotocol/server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { serveMcp } from '../mcp/mcp-test-server.js'
import { createGate } from '../support/gate.js'
import { marked } from '../support/marker.js'
import { factsOf, toolResults } from '../support/thread-facts.js'
import { until } from '../support/until.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import { caseOf } from './worker/model-script.js'
import type { WorkerProcess } from './worker/run-worker.js'
import { expectWholeLog } from './worker/whole-thread.js'

let fixture: Fixture
let worker: WorkerProcess
let closeServer: () => Promise<void>
/** What the MCP server did, by case. */
const did: string[] = []
/** The calls of these cases are not answered. */
const held = new Set<string>()
const never = createGate()

const count = (what: string): number => did.filter((one) => one === what).length
const done = (text: string) => ({ content: [{ type: 'text' as const, text: marked(text) }] })
const size = {
  ...{ type: 'object' as const, properties: { size: { type: 'integer' as const } }, required: ['size'] },
}

beforeAll(async () => {
  const served = await serveMcp((server) => {
    for (const name of ['book', 'charge'])
      server.registerTool(
        name,
        { description: name, inputSchema: z.object({ task: z.string() }) },
        async ({ task }) => {
          did.push(task)
          if (held.delete(task)) await never.passed
          return done(`${name} done`)
        },
      )
    server.registerTool(
      'cut',
      { description: 'Cuts', inputSchema: z.object({ task: z.string() }) },
      async ({ task }, context) => {
        const responses = context.mcpReq.inputResponses
        if (responses === undefined)
          return inputRequired({
            inputRequests: {
              size: inputRequired.elicit({ message: marked('How long?'), requestedSchema: size }),
            },
            requestState: marked(task),
          })
        did.push(task)
        if (held.delete(task)) await never.passed
        return done(`cut to ${acceptedContent<{ size: number }>(responses, 'size')?.size}`)
      },
    )
  })
  closeServer = served.close
  fixture = await createFixture({
    ...{ desk: 'mcp', mcpUrl: served.url },
    answerer(messages) {
      const last = messages.at(-1)
      if (last?.role === 'tool') return { text: marked('Done') }
      const name = /please (\S+)/.exec(JSON.stringify(last?.content))?.[1] ?? ''
      const task = caseOf(messages)
      const input = name.startsWith('demo_') ? { duration: 20, steps: 2 } : { task }
      return { toolCalls: [{ name, input: JSON.stringify(input) }] }
    },
  })
  worker = await fixture.startWorker()
})
afterAll(async () => {
  await fixture.close()
  await closeServer()
})

const start = (id: string, tool: string) => fixture.create({ id, message: marked(`please ${tool} #${id}`) })

async function replaceWorker(): Promise<void> {
  await worker.kill()
  worker = await fixture.startWorker()
}

test('a call of an MCP tool that a killed worker leaves behind is unknown, and made once', async () => {
  const id = 'mcp-crash-book'
  held.add(id)
  const thread = await start(id, 'book')
  await until('a running call', async () => count(id) === 1)
  await replaceWorker()
  await thread.waitUntilIdle({ timeout: '100 s' })
  expect(await toolResults(thread)).toMatchObject([
    { tool_status: 'error', content: expect.stringContaining('unknown') },
  ])
  expect(count(id)).toBe(1)
  await expectWholeLog(thread)
})

test('a call that may be repeated is made again by the next worker', async () => {
  const id = 'mcp-crash-charge'
  held.add(id)
  const thread = await start(id, 'charge')
  await until('a running call', async () => count(id) === 1)
  await replaceWorker()
  await thread.waitUntilIdle({ timeout: '100 s' })
  expect(await toolResults(thread)).toMatchObject([
    { tool_status: 'success', content: marked('charge done') },
  ])
  expect(count(id)).toBe(2)
})

const answer = { result: { status: 'success', result: { size: 3 } } } as const

test('a worker that is killed while a server waits for a person loses nothing: the next one sends the answer, once', async () => {
  const id = 'mcp-crash-question'
  const thread = await start(id, 'cut')
  await until('a question', async () => (await thread.snapshot()).pending.length === 1)
  await worker.kill()
  const responding = thread.respond('call_1_1_0_input_1', answer)
  worker = await fixture.startWorker()
  await responding
  await thread.waitUntilIdle({ timeout: '100 s' })
  expect(await toolResults(thread)).toMatchObject([{ tool_status: 'success', content: marked('cut to 3') }])
  expect(count(id)).toBe(1)
  await expectWholeLog(thread)
})

test('a worker that is killed while it sends the answer of a person leaves an unknown outcome, and the answer in its row', async () => {
  const id = 'mcp-crash-answer'
  held.add(id)
  const thread = await start(id, 'cut')
  await until('a question', async () => (await thread.snapshot()).pending.length === 1)
  await thread.respond('call_1_1_0_input_1', answer)
  await until('a sent answer', async () => count(id) === 1)
  await replaceWorker()
  await thread.waitUntilIdle({ timeout: '100 s' })
  expect(await toolResults(thread)).toMatchObject([
    { tool_status: 'error', content: expect.stringContaining('unknown') },
  ])
  expect(count(id)).toBe(1)
  // The same answer again is known; another one is refused.
  const other = { result: { status: 'success', result: { size: 4 } } } as const
  await expect(thread.respond('call_1_1_0_input_1', other)).rejects.toThrow()
  await expectWholeLog(thread)
})

async function programs(): Promise<readonly number[]> {
  const text = await readFile(`${fixture.effectsFile}.pids`, 'utf8').catch(() => '')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map(Number)
    .filter(isAlive)
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('the server "everything" ends with a worker that is killed in its long-running tool, and its call is unknown', async () => {
  const id = 'mcp-crash-long'
  const thread = await start(id, 'demo_trigger-long-running-operation')
  await until('a running call', async () => {
    const types = (await factsOf(thread)).map(({ type }) => type)
    return types.includes('tool.started')
  })
  await until('a program', async () => (await programs()).length === 1)
  const [pid] = await programs()
  await replaceWorker()
  await until('the end of the program', async () => !(await programs()).includes(pid ?? 0))
  await thread.waitUntilIdle({ timeout: '100 s' })
  expect(await toolResults(thread)).toMatchObject([{ tool_status: 'error' }])
  await expectWholeLog(thread)
})

test('a worker that shuts down ends its programs', async () => {
  const thread = await start('mcp-crash-shutdown', 'book')
  await thread.waitUntilIdle({ timeout: '100 s' })
  await until('a program', async () => (await programs()).length === 1)
  await worker.shutDown()
  await worker.gone
  expect(await programs()).toEqual([])
  worker = await fixture.startWorker()
})

test('no text, argument or result of a server is in these histories', async () => {
  const { bytes, leaks } = await fixture.search()
  expect(leaks).toEqual([])
  expect(bytes).toBeGreaterThan(10_000)
})
