import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { trace } from '@opentelemetry/api'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { MARKER, marked } from '../support/marker.js'
import type { PlainSpan } from '../support/plain-span.js'
import { recordSpans } from '../support/record-spans.js'
import { until } from '../support/until.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import type { WorkerProcess } from './worker/run-worker.js'

const PRELOAD = new URL('./worker/write-spans.ts', import.meta.url).href

let fixture: Fixture
let folder: string
let worker: WorkerProcess
const ours: PlainSpan[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everthread-spans-'))
  // Inherited by the worker process, whose spans are made with nothing of ours in memory.
  process.env['EVERTHREAD_TEST_SPANS'] = join(folder, 'spans.jsonl')
  recordSpans((span) => ours.push(span))
  fixture = await createFixture({ preload: PRELOAD })
  worker = await fixture.startWorker()
})
afterAll(async () => {
  await fixture.close()
  await rm(folder, { recursive: true, force: true })
})

const NOTES = { name: 'notes.txt', mimeType: 'text/plain', data: Buffer.from(marked('notes')) }
const RESEARCH = { content: marked('please research #traced'), attachments: [NOTES] }

async function spans(): Promise<readonly PlainSpan[]> {
  const text = await readFile(join(folder, 'spans.jsonl'), 'utf8').catch(() => '')
  const theirs = text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as PlainSpan]))
  return [...ours, ...theirs]
}

/** Those of the trace that a request of the test's own began, once the run of its thread has ended. */
async function traced(threadId: string, message: object | string): Promise<readonly PlainSpan[]> {
  const thread = await trace.getTracer('shop').startActiveSpan('POST /orders', async (span) => {
    const made = await fixture.create({ id: threadId, message })
    span.end()
    return made
  })
  await thread.waitUntilIdle({ timeout: '100 s' })
  const ofThread = ({ attributes }: PlainSpan): boolean => attributes['gen_ai.conversation.id'] === threadId
  const ended = ({ name }: PlainSpan): boolean => name === 'invoke_agent clerk'
  await until('the span of the run', async () => (await spans()).filter(ofThread).some(ended))
  const all = await spans()
  const traceId = all.find(ofThread)?.traceId
  return all.filter((span) => span.traceId === traceId)
}

/** Each span with those above it, the outermost first. */
function paths(all: readonly PlainSpan[]): readonly string[] {
  const byId = new Map(all.map((span) => [span.spanId, span]))
  const pathOf = ({ name, parentSpanId }: PlainSpan): string => {
    if (parentSpanId === null) return name
    const parent = byId.get(parentSpanId)
    return `${parent === undefined ? '(missing)' : pathOf(parent)} > ${name}`
  }
  return all.map(pathOf)
}

test('one trace goes from the client to the models of a tree of threads', async () => {
  const all = await traced('traced', RESEARCH)
  const sent = 'POST /orders > everthread.create > everthread.send'
  const step = `${sent} > thread.callModel`
  const child = `${step} > thread.prepareChild`
  expect(paths(all).toSorted()).toEqual(
    [
      'POST /orders',
      'POST /orders > everthread.create',
      sent,
      step,
      `${step} > chat mock`,
      child,
      `${child} > thread.callModel`,
      `${child} > thread.callModel > chat mock`,
      `${child} > thread.callModel > execute_tool deliver`,
      `${child} > thread.deliverReport`,
      `${child} > invoke_agent research`,
      `${step} > thread.completeCall`,
      step,
      `${step} > chat mock`,
      `${sent} > invoke_agent clerk`,
    ].toSorted(),
  )
  // Two processes that share nothing but the store.
  const isOurs = ({ pid }: PlainSpan): boolean => pid === process.pid
  expect(all.filter(isOurs)).toHaveLength(3)
  expect(new Set(all.map(({ pid }) => pid)).size).toBe(2)
  const chat = all.find(({ name }) => name === 'chat mock')
  expect(chat).toMatchObject({
    kind: 'CLIENT',
    failed: false,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'mock',
      'gen_ai.request.model': 'mock',
      'gen_ai.response.model': 'mock',
      'gen_ai.response.finish_reasons': ['tool-calls'],
      'gen_ai.usage.input_tokens': 20,
      'gen_ai.usage.output_tokens': 7,
      'gen_ai.conversation.id': 'traced',
      'gen_ai.agent.name': 'clerk',
    },
  })
  expect(all.find(({ name }) => name.startsWith('execute_tool'))?.attributes).toMatchObject({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'deliver',
    'gen_ai.tool.call.id': 'call_1_1_0',
  })
})

test('T5 nothing that was said is in a span', async () => {
  const text = JSON.stringify(await spans())
  expect(text).toContain('traced')
  expect(text).not.toContain(MARKER)
})

test('the worker that takes over goes on in the same trace', async () => {
  const held = fixture.model.hold('killed', 'before')
  const running = traced('killed', marked('please book #killed'))
  await held.arrived
  await worker.kill()
  worker = await fixture.startWorker()
  const all = await running
  // The first attempt died with its spans; what it was asked for is known by the rows alone.
  const steps = all.filter(({ name }) => name === 'thread.callModel')
  expect(steps.map(({ attributes }) => attributes['everthread.attempt'])).toEqual([2, 1])
  expect(new Set(all.map(({ traceId }) => traceId)).size).toBe(1)
  expect(paths(all)).toContain(
    'POST /orders > everthread.create > everthread.send > thread.callModel > execute_tool book',
  )
})
