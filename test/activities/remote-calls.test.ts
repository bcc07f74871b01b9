import { randomBytes } from 'node:crypto'
import { context, trace } from '@opentelemetry/api'
import { afterEach, expect, test } from 'vitest'
import { createActivities } from '../../src/activities/index.js'
import type { ClientContext } from '../../src/client/client-context.js'
import type { ClaimedCall, RemoteCalls } from '../../src/client/index.js'
import { remoteCalls } from '../../src/client/remote-calls.js'
import type { ExecuteToolInput } from '../../src/protocol/activities.js'
import { ACTIVITIES } from '../../src/protocol/answer-problem.js'
import { findRemoteCall } from '../../src/store/calls/remote-calls.js'
import { rotateSecrets } from '../../src/store/threads/variables.js'
import type { PlainSpan } from '../support/plain-span.js'
import { recordSpans } from '../support/record-spans.js'
import { attempt, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { lastResult } from './tool-outcomes.js'

const SECRET = 'nightingale-of-the-service'
const KEY = { threadId: 't', callId: 'call_1_1_0' } as const

/** A call of the remote tool `work`, sent and claimed. */
interface Claimed {
  readonly desk: ActivityDesk
  readonly input: ExecuteToolInput
  readonly calls: RemoteCalls
  readonly call: ClaimedCall
}

async function withClaimed(work: (claimed: Claimed) => Promise<void>): Promise<void> {
  const secretKey = randomBytes(32).toString('base64')
  await withDesk({ remote: true, secretKey }, async (desk) => {
    const input = await desk.call('work')
    const execute = createActivities({ ...desk.dependencies, env: { API_KEY: SECRET } })[
      ACTIVITIES.executeTool
    ]
    const sent = await attempt().run(async (given: ExecuteToolInput) => execute(given), input)
    expect(sent).toMatchObject({ type: 'remote', taskQueue: 'q' })
    const calls = remoteCalls({ store: async () => desk.store } as unknown as ClientContext)
    const call = await calls.claim({ ...KEY, claimId: 'one', taskQueues: ['q'] })
    expect(call.variables).toEqual({ API_KEY: SECRET })
    await work({ desk, input, calls, call })
  })
}

const rowOf = ({ store }: ActivityDesk) => store.read((db) => findRemoteCall(db, KEY))

test('T5 secrets of a remote call are forgotten with its result', () =>
  withClaimed(async ({ desk, input, calls, call }) => {
    const held = { ...KEY, token: call.token }
    const answer = { status: 'success', result: `With ${SECRET}.` }
    await calls.answer(held, answer)
    expect(await rowOf(desk)).toMatchObject({ answer: { result: { sealed: {} } } })
    const completed = await desk.complete(input, { kind: 'remote' })
    expect(completed).toMatchObject({ type: 'result', outcome: 'succeeded' })
    expect((await lastResult(desk))?.content).toBe('With [secret API_KEY].')
    expect(await rowOf(desk)).toMatchObject({ variables: {}, answer: { type: 'answered', result: null } })
    expect(JSON.stringify(await rowOf(desk))).not.toContain('keyId')
    expect(await rotateSecrets(desk.store)).toBe(0)
    // The same answer again is the same answer; so is the same completion.
    await calls.answer(held, answer)
    expect(await desk.complete(input, { kind: 'remote' })).toEqual(completed)
  }))

test('T5 a secret in the path of a remote file is in no row', () =>
  withClaimed(async ({ desk, input, calls, call }) => {
    const held = { ...KEY, token: call.token }
    const path = `/notes/${SECRET}/of ${SECRET}.txt`
    const data = Buffer.from('one')
    const kept = '/notes/[secret API_KEY]/of [secret API_KEY].txt'
    const written = await calls.writeFile(held, { path, mimeType: `text/${SECRET}`, data })
    expect(written).toMatchObject({ path: kept, mimeType: 'text/[secret API_KEY]' })
    // The call finds its file by either path.
    for (const named of [path, kept]) expect(await calls.readFile(held, named)).toMatchObject({ size: 3 })
    const file = { path }
    await calls.answer(held, { status: 'success', result: 'Done.', attachments: [file] })
    expect(JSON.stringify(await rowOf(desk))).not.toContain(SECRET)
    expect(await desk.complete(input, { kind: 'remote' })).toMatchObject({ outcome: 'succeeded' })
    expect((await lastResult(desk))?.attachments).toMatchObject([{ path: kept }])
    const listed = await desk.store.read((db) => db.selectFrom('files').selectAll().execute())
    expect(listed.map((row) => row.path)).toContain(kept)
    expect(JSON.stringify(listed)).not.toContain(SECRET)
  }))

test('T5 secrets of a remote call without an answer are forgotten', () =>
  withClaimed(async ({ desk, input }) => {
    expect(await desk.complete(input, { kind: 'remote' })).toMatchObject({ outcome: 'unknown' })
    expect(await rowOf(desk)).toMatchObject({ variables: {}, answer: { type: 'unanswered' } })
    expect(JSON.stringify(await rowOf(desk))).not.toContain('keyId')
  }))

test('T5 secrets of a remote call whose files do not fit are forgotten', () =>
  withClaimed(async ({ desk, input, calls, call }) => {
    const held = { ...KEY, token: call.token }
    const data = Buffer.from('one')
    await calls.writeFile(held, { path: '/made', mimeType: 'text/plain', data })
    await calls.writeFile(held, { path: '/made/below.txt', mimeType: 'text/plain', data })
    await calls.answer(held, { status: 'success' })
    expect(await desk.complete(input, { kind: 'remote' })).toMatchObject({ outcome: 'failed' })
    expect(JSON.stringify(await rowOf(desk))).not.toContain('keyId')
  }))

afterEach(() => {
  trace.disable()
  context.disable()
})

test('AR-RM.10 a remote call has its step, its key, and the trace of whoever asked for it', async () => {
  const spans: PlainSpan[] = []
  recordSpans((span) => spans.push(span))
  await trace.getTracer('shop').startActiveSpan('POST /orders', async (span) => {
    await withClaimed(async ({ call }) => {
      const sent = spans.find(({ name }) => name === 'execute_tool work')
      expect(sent?.traceId).toBe(span.spanContext().traceId)
      expect(call.traceparent).toBe(`00-${sent?.traceId}-${sent?.spanId}-01`)
      expect(call).toMatchObject({ stepId: 'step_1_1', idempotencyKey: 't:call_1_1_0' })
    })
    span.end()
  })
})

test('a remote call that nobody traces names no trace', () =>
  withClaimed(async ({ call }) => expect(call.traceparent).toBeNull()))
