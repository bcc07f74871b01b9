import { describe, expect, test } from 'vitest'

import { nestedCallIdOf } from '../../src/protocol/ids.js'
import { closeOpenCalls } from '../../src/store/close-open-calls.js'
import { findOperation } from '../../src/store/operations.js'
import { listMessages } from '../../src/store/read-messages.js'
import { findToolCall } from '../../src/store/tool-calls.js'
import { failureOf } from './activity-desk.js'
import { answer, begin, frameOf } from './nested-step.js'
import { payloads, withOffice } from './office.js'
import type { Office } from './office.js'
import type { ExecuteToolInput } from '../../src/protocol/activities.js'
import { lastResult } from './tool-desk.js'

const rows = async (office: Office, maxDepth = 8) =>
  (await office.store.read((db) => listMessages(db, { threadId: 't', limit: 100, maxDepth }))).messages
const completed = (office: Office, input: ExecuteToolInput) =>
  office.complete(input, { kind: 'frame', frame: frameOf(input) })

/** A tool that does as its task says. */
const work = async (_state: unknown, args: Record<string, unknown>) => {
  if (args['task'] === 'fail') return { status: 'error', error: 'It broke.' }
  const attachments = [{ name: 'found.txt', mimeType: 'text/plain', data: 'aGk=' }]
  return {
    status: 'success',
    result: `did ${String(args['task'])}`,
    ...(args['task'] === 'file' ? { attachments } : {}),
  }
}

describe('a prompt as a tool begins', () => {
  test('with its arguments as the words of the user', () =>
    withOffice({}, async (office) => {
      const input = await office.call('digest', { text: 'Long story.' })
      expect(await begin(office, input)).toMatchObject({
        kind: 'begun',
        message: { text: 'Long story.', attachments: [] },
        args: { text: 'Long story.', tone: 'plain' },
      })
      expect(await payloads(office, 'tool.started')).toEqual([{ name: 'digest' }])
      expect(await office.store.read((db) => findOperation(db, 't', input.callId))).toMatchObject({
        state: 'started',
      })
    }))

  test('T4 a second attempt is given the same', () =>
    withOffice({}, async (office) => {
      const input = await office.call('digest', { text: 'Long story.' })
      const first = await begin(office, input)
      const events = await office.events()
      expect(await begin(office, input)).toEqual(first)
      expect(await office.events()).toEqual(events)
    }))

  test('with files of the thread', () =>
    withOffice(
      { work: async (state) => (await state.writeFile('/a.txt', 'hi', 'text/plain'), { status: 'success' }) },
      async (office) => {
        const [writing, digest] = await office.calls([
          { name: 'work' },
          { name: 'digest', args: { text: 'x', files: '/a.txt' } },
        ])
        await office.run(writing as ExecuteToolInput)
        expect(await begin(office, digest as ExecuteToolInput)).toMatchObject({
          message: { attachments: [{ path: '/a.txt', size: 2 }] },
        })
      },
    ))

  test.each<readonly [string, unknown, string]>([
    ['SA-R-05.2b arguments that do not fit', { text: 7 }, 'text: '],
    ['broken JSON', '{"text":', 'broken JSON'],
    ['a file that is not there', { text: 'x', files: '/no.txt' }, 'There is no file "/no.txt"'],
  ])('%s: refused before a model is asked', (_what, args, words) =>
    withOffice({}, async (office) => {
      const input = await office.call('digest', args)
      const refused = await begin(office, input)
      expect(refused).toMatchObject({
        kind: 'answered',
        answer: { type: 'refused', result: { outcome: 'failed' } },
      })
      expect((await lastResult(office))?.content).toContain(words)
      expect(await begin(office, input)).toEqual(refused)
    }),
  )

  test('T8 not on a terminated thread', () =>
    withOffice({}, async (office) => {
      const input = await office.call('digest', { text: 'x' })
      await office.store.write((tx) => tx.updateTable('threads').set({ terminate_requested_at: 1 }).execute())
      expect(await begin(office, input)).toEqual({ kind: 'answered', answer: { type: 'terminated' } })
    }))

  test('a prompt that this worker lacks is waited for', () =>
    withOffice({}, async (office) => {
      const input = await office.call('digest', { text: 'x' })
      const { registry } = office.dependencies
      const lacking = { ...office.dependencies, registry: { ...registry, prompt: () => undefined } }
      expect(await failureOf(begin(office, input, lacking))).toMatchObject({ type: 'Definition.Missing' })
    }))
})

describe('a prompt tool answers', () => {
  test('SA-R-05.3b with its words', () =>
    withOffice({}, async (office) => {
      const input = await office.call('digest', { text: 'Long story.' })
      await answer(office, input, { text: 'Short.' })
      expect(await completed(office, input)).toEqual({ type: 'result', outcome: 'succeeded' })
      expect(await lastResult(office)).toMatchObject({ content: 'Short.', name: 'digest', depth: 0 })
    }))

  test('with its calls and their results', () =>
    withOffice({ work }, async (office) => {
      const input = await office.call('digest', { text: 'x' })
      const calls = await answer(office, input, {
        text: 'Done.',
        calls: [{ name: 'work', args: { task: 'file' } }],
      })
      for (const call of calls) expect(await office.run(call)).toMatchObject({ outcome: 'succeeded' })
      await completed(office, input)
      const row = await lastResult(office)
      expect(row?.content).toContain('Done.')
      expect(row?.content).toContain('work({"task":"file"}):\ndid file')
      expect(row?.attachments).toMatchObject([{ path: '/attachments/found.txt' }])
    }))

  test('with an error when one of its calls failed', () =>
    withOffice({ work }, async (office) => {
      const input = await office.call('digest', { text: 'x' })
      const calls = await answer(office, input, {
        text: 'All is well.',
        calls: [
          { name: 'work', args: { task: 'sing' } },
          { name: 'work', args: { task: 'fail' } },
        ],
      })
      for (const call of calls) await office.run(call)
      expect(await completed(office, input)).toMatchObject({ outcome: 'failed' })
      const content = (await lastResult(office))?.content ?? ''
      expect(content).toBe(
        'Error: 1 of 2 tool calls failed.\nwork: It broke.\nOther tools that were called: work.',
      )
    }))

  test('with a sentence when it has nothing to say', () =>
    withOffice({}, async (office) => {
      const input = await office.call('digest', { text: 'x' })
      await answer(office, input, {})
      await completed(office, input)
      expect((await lastResult(office))?.content).toContain('nothing to report')
    }))

  test('below the row of its result', () =>
    withOffice({ work }, async (office) => {
      const input = await office.call('digest', { text: 'x' })
      const [call] = await answer(office, input, { calls: [{ name: 'work', args: { task: 'sing' } }] })
      await office.run(call as ExecuteToolInput)
      await completed(office, input)
      const all = await rows(office)
      const outer = all.find(({ tool_call_id: id }) => id === input.callId)
      const nested = all.filter(({ depth }) => depth === 1)
      expect(nested.map(({ role, parent_id: parent }) => [role, parent])).toEqual([
        ['assistant', outer?.id],
        ['tool', outer?.id],
      ])
    }))

  test('T4 a second completion finds the first, and so does the frame', () =>
    withOffice({}, async (office) => {
      const input = await office.call('digest', { text: 'x' })
      await answer(office, input, { text: 'Short.' })
      const first = await completed(office, input)
      expect(await completed(office, input)).toEqual(first)
      await office.store.write((tx) => closeOpenCalls(tx, { threadId: 't', now: 1, outcome: 'interrupted' }))
      expect(await begin(office, input)).toEqual({
        kind: 'answered',
        answer: { type: 'refused', result: first },
      })
    }))

  test('phases are those of the step alone', () =>
    withOffice({ work }, async (office) => {
      const input = await office.call('digest', { text: 'x' })
      const [call] = await answer(office, input, { calls: [{ name: 'work', args: {} }] })
      await office.run(call as ExecuteToolInput)
      const before = await payloads(office, 'step.phase')
      expect(before.filter(({ phase }) => Number(phase) > 4)).toEqual([])
      await completed(office, input)
      expect((await payloads(office, 'step.phase')).at(-1)).toMatchObject({ phase: 6 })
    }))

  test('a stop tool inside it says nothing for the side', () =>
    withOffice({}, async (office) => {
      const input = await office.call('digest', { text: 'x' })
      const [call] = await answer(office, input, { calls: [{ name: 'finish', args: { words: 'Bye.' } }] })
      expect(await office.run(call as ExecuteToolInput)).toEqual({ type: 'result', outcome: 'succeeded' })
      expect((await rows(office)).some(({ content }) => content === 'Bye.')).toBe(false)
    }))

  test('a session tool inside it ends no session', () =>
    withOffice({}, async (office) => {
      const input = await office.call('digest', { text: 'x' })
      const [call] = await answer(office, input, { calls: [{ name: 'close' }] })
      expect(await office.run(call as ExecuteToolInput)).toMatchObject({ outcome: 'succeeded' })
      const row = await office.store.read((db) => findToolCall(db, 't', call?.callId ?? ''))
      expect(row).toMatchObject({ status: 'succeeded', session: null })
    }))

  test('what it lists is what it may call', () =>
    withOffice({}, async (office) => {
      const input = await office.call('digest', { text: 'x' })
      const [call] = await answer(office, input, { calls: [{ name: 'set_status', args: { text: 'x' } }] })
      expect(await office.run(call as ExecuteToolInput)).toMatchObject({ outcome: 'failed' })
      expect((await rows(office)).at(-1)?.content).toContain(
        'The tools are: work, pay, finish, close, quiet.',
      )
    }))
})

describe('a prompt tool that executeTool is asked for', () => {
  test('is left to the workflow', () =>
    withOffice({}, async (office) => {
      const input = await office.call('digest', { text: 'x' })
      const kind = { type: 'kind', tool: { kind: 'prompt', prompt: 'digest' } }
      expect(await office.run(input)).toEqual(kind)
      expect(await office.run(input)).toEqual(kind)
    }))

  test('eight deep is an error result', () =>
    withOffice({}, async (office) => {
      const input = { ...(await office.call('digest', { text: 'x' })), depth: 8 }
      expect(await office.run(input)).toMatchObject({ outcome: 'failed' })
      expect((await lastResult(office))?.content).toContain('8 prompts deep')
    }))
})

test('T8 a run that is cut closes nested calls where they are', () =>
  withOffice({ work }, async (office) => {
    const input = await office.call('digest', { text: 'x' })
    await answer(office, input, { calls: [{ name: 'pay', args: { amount: 70 } }] })
    const nested = nestedCallIdOf(input.callId, 0)
    await office.run({ ...input, callId: nested, name: 'pay', depth: 1, promptPath: ['front', 'digest'] })
    await office.store.write((tx) => closeOpenCalls(tx, { threadId: 't', now: 1, outcome: 'interrupted' }))
    const all = await rows(office)
    const outer = all.find(({ tool_call_id: id }) => id === input.callId)
    expect(all.find(({ tool_call_id: id }) => id === nested)).toMatchObject({
      depth: 1,
      parent_id: outer?.id,
    })
    expect(await office.request(`approval_${nested}`)).toMatchObject({ status: 'closed' })
    expect(await office.store.read((db) => findToolCall(db, 't', nested))).toMatchObject({
      status: 'interrupted',
    })
    expect(await office.store.read((db) => findOperation(db, 't', nested))).toMatchObject({
      state: 'finished',
    })
  }))
