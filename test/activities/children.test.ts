import { describe, expect, test } from 'vitest'
import { deliverReport } from '../../src/activities/subagents/deliver-report.js'
import { prepareChild } from '../../src/activities/subagents/prepare-child.js'
import { completeCall } from '../../src/activities/tool/complete-call.js'
import { executeTool } from '../../src/activities/tool/execute-tool.js'
import type {
  CompleteCallInput,
  Completion,
  ExecuteToolInput,
  PrepareChildAnswer,
} from '../../src/protocol/activities.js'
import type { DeliverReportAnswer, DeliverReportInput } from '../../src/protocol/end-activities.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { statFile, putFile } from '../../src/store/files/files.js'
import { findMessage } from '../../src/store/messages/transcript.js'
import { findChild, listChildren } from '../../src/store/threads/children.js'
import { findThread } from '../../src/store/threads/threads.js'
import { scriptedModel } from '../../src/testing/index.js'
import {
  AFTER_A_MINUTE,
  attempt,
  drainOf,
  failureOf,
  modelInput,
  NOW,
  PLAIN_CALL,
  runModel,
  withDesk,
} from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'

async function writeFile(desk: ActivityDesk, path: string, threadId = 't'): Promise<void> {
  const { digest: blob, size } = await desk.store.blobs.write(Buffer.from('bytes'))
  await desk.store.write((tx) =>
    putFile(tx, { threadId, path, mimeType: 'text/plain', size, blob, now: NOW }),
  )
}

async function childCall(desk: ActivityDesk, args: unknown): Promise<ExecuteToolInput> {
  const [input] = await desk.calls([{ name: 'pair', args }])
  if (input === undefined) throw new Error('Expected a call.')
  return input
}

function prepare(
  desk: ActivityDesk,
  input: ExecuteToolInput,
  { children = 0, open = 0, environment = attempt() } = {},
): Promise<PrepareChildAnswer> {
  return environment.run(
    (given: ExecuteToolInput) => prepareChild(desk.dependencies, { ...given, children, open }),
    input,
  )
}

async function prepared(desk: ActivityDesk, args: unknown = { task: 'Look.' }) {
  const input = await childCall(desk, args)
  const answer = await prepare(desk, input)
  if (answer.type !== 'children') throw new Error(`Expected a child, got ${answer.type}.`)
  const [child] = answer.children
  if (child === undefined) throw new Error('Expected a child, got none.')
  return { input, ...child }
}

const result = async (desk: ActivityDesk) => (await desk.transcript()).findLast(({ role }) => role === 'tool')

describe('a child is prepared', () => {
  test('SA-R-08.1a SA-R-08.1b its files have paths of its own', () =>
    withDesk({}, async (desk) => {
      await writeFile(desk, '/notes/a.txt')
      const { reference, messageId, input } = await prepared(desk, { task: 'Look.', files: ['/notes/a.txt'] })
      expect(await desk.store.read((db) => findThread(db, reference))).toMatchObject({
        agent: 'pair',
        parent_thread_id: 't',
        parent_call_id: input.callId,
        root_thread_id: 't',
        depth: 1,
        resumable: false,
      })
      const [first] = await desk.transcript(reference)
      expect(first).toMatchObject({ id: messageId, role: 'user', content: 'Look.', position: null })
      expect(first?.attachments).toMatchObject([{ path: '/attachments/a.txt' }])
      expect(await desk.store.read((db) => statFile(db, reference, '/attachments/a.txt'))).toMatchObject({
        size: 5,
      })
      expect(await desk.store.read((db) => statFile(db, reference, '/notes/a.txt'))).toBeNull()
      expect(await desk.store.read((db) => findChild(db, 't', reference))).toMatchObject({
        status: 'running',
        call_id: input.callId,
      })
    }))

  test('T4 a retry finds the same child', () =>
    withDesk({}, async (desk) => {
      const input = await childCall(desk, { task: 'Look.' })
      const first = await prepare(desk, input)
      expect(await prepare(desk, input)).toEqual(first)
      expect(await desk.store.read((db) => listChildren(db, 't'))).toHaveLength(1)
    }))

  test('T5 the answer to the workflow holds no words', () =>
    withDesk({}, async (desk) => {
      const { input: _input, ...answer } = await prepared(desk, { task: 'secret' })
      expect(JSON.stringify(answer)).not.toContain('secret')
    }))

  test.each<readonly [string, unknown, string]>([
    ['a file that is missing', { task: 'x', files: '/missing.txt' }, 'There is no file "/missing.txt"'],
    ['a path that is no text', { task: 'x', files: [1] }, 'files'],
    ['arguments that fail the schema', { files: '/a' }, 'task: '],
    ['broken JSON', '{"task"', 'broken JSON'],
  ])('%s is an error result', (_what, args, words) =>
    withDesk({}, async (desk) => {
      expect(await prepare(desk, await childCall(desk, args))).toMatchObject({
        type: 'result',
        outcome: 'failed',
      })
      expect((await result(desk))?.content).toContain(words)
      expect(await desk.store.read((db) => listChildren(db, 't'))).toEqual([])
    }),
  )

  test('a child may be seven deep and no deeper', () =>
    withDesk({}, async (desk) => {
      const input = await childCall(desk, { task: 'x' })
      await desk.store.write((tx) => tx.updateTable('threads').set({ depth: 7 }).execute())
      expect(await prepare(desk, input)).toMatchObject({ type: 'result', outcome: 'failed' })
      expect((await result(desk))?.content).toContain('nested 8 deep')
    }))

  test('a thread has ten thousand children in all', () =>
    withDesk({}, async (desk) => {
      expect(await prepare(desk, await childCall(desk, { task: 'x' }), { children: 10_000 })).toMatchObject({
        outcome: 'failed',
      })
    }))

  test('an agent that this worker lacks is waited for', () =>
    withDesk({}, async (desk) => {
      const input = await childCall(desk, { task: 'x' })
      const { registry } = desk.dependencies
      const lacking = {
        ...desk,
        dependencies: { ...desk.dependencies, registry: { ...registry, agent: () => undefined } },
      }
      expect(await failureOf(prepare(lacking, input))).toMatchObject({ type: 'Definition.Missing' })
      expect(await prepare(lacking, input, { environment: attempt(AFTER_A_MINUTE) })).toMatchObject({
        outcome: 'failed',
      })
    }))

  test('T8 a terminated thread prepares no child', () =>
    withDesk({}, async (desk) => {
      const input = await childCall(desk, { task: 'x' })
      await desk.store.write((tx) => tx.updateTable('threads').set({ terminate_requested_at: 1 }).execute())
      expect(await prepare(desk, input)).toEqual({ type: 'terminated' })
      expect(await desk.store.read((db) => listChildren(db, 't'))).toEqual([])
    }))
})

/** The child's session as it ended: by its session tool, with a file. */
async function endedSession(
  desk: ActivityDesk,
  { reference, messageId }: { readonly reference: string; readonly messageId: string },
): Promise<string> {
  await writeFile(desk, '/out/b.txt', reference)
  const chat = scriptedModel([
    { toolCalls: [{ name: 'close_case', args: { summary: 'Found it.', files: '/out/b.txt' } }] },
  ])
  const work = () => ({ status: 'success' }) as const
  const input = modelInput({ threadId: reference, agent: 'clerk', drain: drainOf([messageId]) })
  const answer = await runModel(desk.with({ chat }), input)
  if (answer.type !== 'answered') throw new Error(`Expected an answer, got ${answer.type}.`)
  const [call] = answer.calls
  if (call === undefined) throw new Error('Expected a call.')
  const made = {
    ...input,
    plan: answer.plan?.digest ?? '',
    callId: call.id,
    name: call.name,
    sideSteps: { a: 1, b: 0 },
    ...PLAIN_CALL,
    first: true,
    last: true,
  }
  await attempt().run((given: ExecuteToolInput) => executeTool(desk.with({ work }), given), made)
  return call.id
}

function reportInput(
  reference: string,
  callId: string,
  patch: Partial<DeliverReportInput> = {},
): DeliverReportInput {
  return {
    level: 1,
    threadId: reference,
    now: NOW,
    run: 1,
    facts: [],
    parent: { threadId: 't', callId },
    report: 1,
    invocations: [callId],
    closes: true,
    kind: 'result',
    reason: 'session_stop',
    sessionCall: null,
    ...patch,
  }
}

function deliver(desk: ActivityDesk, input: DeliverReportInput): Promise<DeliverReportAnswer> {
  return attempt().run((given: DeliverReportInput) => deliverReport(desk.dependencies, given), input)
}

function complete(
  desk: ActivityDesk,
  input: ExecuteToolInput,
  ...reports: Extract<Completion, { readonly kind: 'children' }>['reports']
) {
  return attempt().run((given: CompleteCallInput) => completeCall(desk.dependencies, given), {
    ...input,
    by: { kind: 'children', reports } as const,
  })
}

describe('a call gets what its child reported', () => {
  test('T7 the report becomes the result of the call', () =>
    withDesk({}, async (desk) => {
      const child = await prepared(desk)
      const { reference, input } = child
      const sessionCall = await endedSession(desk, child)
      const delivered = await deliver(desk, reportInput(reference, input.callId, { sessionCall }))
      const messageId = delivered.type === 'delivered' ? (delivered.messageId ?? '') : ''
      const report = { reference, report: { kind: 'result', messageId } } as const
      const answer = await complete(desk, input, report)
      expect(answer).toEqual({ type: 'result', outcome: 'succeeded' })
      expect(await result(desk)).toMatchObject({
        id: messageId,
        role: 'tool',
        content: 'Found it.',
        silent: false,
        tool_call_id: input.callId,
      })
      expect(await desk.store.read((db) => findToolCall(db, 't', input.callId))).toMatchObject({
        status: 'succeeded',
        result_message_id: messageId,
      })
      // T4
      expect(await complete(desk, input, report)).toEqual(answer)
      expect((await desk.transcript()).filter(({ role }) => role === 'tool')).toHaveLength(1)
    }))

  test('T10 a report that no child sent is an error result', () =>
    withDesk({}, async (desk) => {
      const { reference, input } = await prepared(desk)
      const [messageId = ''] = await desk.send('A message of the user')
      const answer = await complete(desk, input, { reference, report: { kind: 'result', messageId } })
      expect(answer).toMatchObject({ outcome: 'failed' })
      expect((await result(desk))?.content).toBe('Error: The subagent sent no report.')
      expect(await desk.store.read((db) => findMessage(db, 't', messageId))).toMatchObject({
        role: 'user',
        status: 'pending',
      })
    }))

  test('T7 a failure is an error result', () =>
    withDesk({}, async (desk) => {
      const { reference, input } = await prepared(desk)
      const delivered = await deliver(
        desk,
        reportInput(reference, input.callId, { kind: 'failure', reason: 'max_steps' }),
      )
      const messageId = delivered.type === 'delivered' ? (delivered.messageId ?? '') : ''
      expect(
        await complete(desk, input, { reference, report: { kind: 'failure', messageId } }),
      ).toMatchObject({ outcome: 'failed' })
      expect((await result(desk))?.content).toContain('Error: The session ended without a result (max_steps)')
    }))

  test('T7 a child that closed without a report is a failure', () =>
    withDesk({}, async (desk) => {
      const { reference, input } = await prepared(desk)
      const report = { kind: 'closed', status: 'terminated' } as const
      expect(await complete(desk, input, { reference, report })).toMatchObject({ outcome: 'failed' })
      expect((await result(desk))?.content).toContain('closed without a report (terminated)')
      expect(await desk.store.read((db) => findChild(db, 't', reference))).toMatchObject({
        status: 'terminated',
      })
    }))
})
