import { describe, expect, test } from 'vitest'
import type { ExecuteToolInput } from '../../src/protocol/activities.js'
import { nestedCallIdOf } from '../../src/protocol/ids.js'
import { closeOpenCalls } from '../../src/store/calls/open-calls.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { listMessages } from '../../src/store/messages/transcript.js'
import { findOperation } from '../../src/store/operations.js'
import { failureOf, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { answer, begin, frameOf } from './nested-step.js'
import { lastResult } from './tool-outcomes.js'

const rows = async (desk: ActivityDesk, maxDepth = 8) =>
  (await desk.store.read((db) => listMessages(db, { threadId: 't', limit: 100, maxDepth }))).messages
const completed = (desk: ActivityDesk, input: ExecuteToolInput) =>
  desk.complete(input, { kind: 'frame', frame: frameOf(input) })

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
    withDesk({}, async (desk) => {
      const input = await desk.call('digest', { text: 'Long story.' })
      expect(await begin(desk, input)).toMatchObject({
        kind: 'begun',
        message: { text: 'Long story.', attachments: [] },
        args: { text: 'Long story.', tone: 'plain' },
      })
      expect(await desk.told('tool.started')).toEqual([{ name: 'digest' }])
      expect(await desk.store.read((db) => findOperation(db, 't', input.callId))).toMatchObject({
        state: 'started',
      })
    }))

  test('T4 a second attempt is given the same', () =>
    withDesk({}, async (desk) => {
      const input = await desk.call('digest', { text: 'Long story.' })
      const first = await begin(desk, input)
      const events = await desk.events()
      expect(await begin(desk, input)).toEqual(first)
      expect(await desk.events()).toEqual(events)
    }))

  test('with files of the thread', () =>
    withDesk(
      { work: async (state) => (await state.writeFile('/a.txt', 'hi', 'text/plain'), { status: 'success' }) },
      async (desk) => {
        const [writing, digest] = await desk.calls([
          { name: 'work' },
          { name: 'digest', args: { text: 'x', files: '/a.txt' } },
        ])
        await desk.run(writing as ExecuteToolInput)
        expect(await begin(desk, digest as ExecuteToolInput)).toMatchObject({
          message: { attachments: [{ path: '/a.txt', size: 2 }] },
        })
      },
    ))

  test.each<readonly [string, unknown, string]>([
    ['SA-R-05.2b arguments that do not fit', { text: 7 }, 'text: '],
    ['broken JSON', '{"text":', 'broken JSON'],
    ['a file that is not there', { text: 'x', files: '/no.txt' }, 'There is no file "/no.txt"'],
  ])('%s: refused before a model is asked', (_what, args, words) =>
    withDesk({}, async (desk) => {
      const input = await desk.call('digest', args)
      const refused = await begin(desk, input)
      expect(refused).toMatchObject({
        kind: 'answered',
        answer: { type: 'refused', result: { outcome: 'failed' } },
      })
      expect((await lastResult(desk))?.content).toContain(words)
      expect(await begin(desk, input)).toEqual(refused)
    }),
  )

  test('a refusal marks phase 6 when the workflow says that no call follows', () =>
    withDesk({}, async (desk) => {
      const [input] = await desk.calls([{ name: 'digest', args: { text: 7 } }, { name: 'work' }])
      if (input === undefined) throw new Error('Expected a call.')
      // A tool that a hook queued is the last one, whatever its id and whatever else the store has.
      await begin(desk, { ...input, last: true })
      expect((await desk.told('step.phase')).at(-1)).toMatchObject({ phase: 6 })
    }))

  test('T8 not on a terminated thread', () =>
    withDesk({}, async (desk) => {
      const input = await desk.call('digest', { text: 'x' })
      await desk.store.write((tx) => tx.updateTable('threads').set({ terminate_requested_at: 1 }).execute())
      expect(await begin(desk, input)).toEqual({ kind: 'answered', answer: { type: 'terminated' } })
    }))

  test('a prompt that this worker lacks is waited for', () =>
    withDesk({}, async (desk) => {
      const input = await desk.call('digest', { text: 'x' })
      const { registry } = desk.dependencies
      const lacking = { ...desk.dependencies, registry: { ...registry, prompt: () => undefined } }
      expect(await failureOf(begin(desk, input, lacking))).toMatchObject({ type: 'Definition.Missing' })
    }))
})

describe('a prompt tool answers', () => {
  test('SA-R-05.3b with its words', () =>
    withDesk({}, async (desk) => {
      const input = await desk.call('digest', { text: 'Long story.' })
      await answer(desk, input, { text: 'Short.' })
      expect(await completed(desk, input)).toEqual({ type: 'result', outcome: 'succeeded' })
      expect(await lastResult(desk)).toMatchObject({ content: 'Short.', name: 'digest', depth: 0 })
    }))

  test('with its calls and their results', () =>
    withDesk({ work }, async (desk) => {
      const input = await desk.call('digest', { text: 'x' })
      const calls = await answer(desk, input, {
        text: 'Done.',
        calls: [{ name: 'work', args: { task: 'file' } }],
      })
      for (const call of calls) expect(await desk.run(call)).toMatchObject({ outcome: 'succeeded' })
      await completed(desk, input)
      const row = await lastResult(desk)
      expect(row?.content).toContain('Done.')
      expect(row?.content).toContain('work({"task":"file"}):\ndid file')
      expect(row?.attachments).toMatchObject([{ path: '/attachments/found.txt' }])
    }))

  test('with an error when one of its calls failed', () =>
    withDesk({ work }, async (desk) => {
      const input = await desk.call('digest', { text: 'x' })
      const calls = await answer(desk, input, {
        text: 'All is well.',
        calls: [
          { name: 'work', args: { task: 'sing' } },
          { name: 'work', args: { task: 'fail' } },
        ],
      })
      for (const call of calls) await desk.run(call)
      expect(await completed(desk, input)).toMatchObject({ outcome: 'failed' })
      const content = (await lastResult(desk))?.content ?? ''
      expect(content).toBe(
        'Error: 1 of 2 tool calls failed.\nwork: It broke.\nOther tools that were called: work.',
      )
    }))

  test('with a sentence when it has nothing to say', () =>
    withDesk({}, async (desk) => {
      const input = await desk.call('digest', { text: 'x' })
      await answer(desk, input, {})
      await completed(desk, input)
      expect((await lastResult(desk))?.content).toContain('nothing to report')
    }))

  test('below the row of its result', () =>
    withDesk({ work }, async (desk) => {
      const input = await desk.call('digest', { text: 'x' })
      const [call] = await answer(desk, input, { calls: [{ name: 'work', args: { task: 'sing' } }] })
      await desk.run(call as ExecuteToolInput)
      await completed(desk, input)
      const all = await rows(desk)
      const outer = all.find(({ tool_call_id: id }) => id === input.callId)
      const nested = all.filter(({ depth }) => depth === 1)
      expect(nested.map(({ role, parent_id: parent }) => [role, parent])).toEqual([
        ['assistant', outer?.id],
        ['tool', outer?.id],
      ])
    }))

  test('T4 a second completion finds the first, and so does the frame', () =>
    withDesk({}, async (desk) => {
      const input = await desk.call('digest', { text: 'x' })
      await answer(desk, input, { text: 'Short.' })
      const first = await completed(desk, input)
      expect(await completed(desk, input)).toEqual(first)
      await desk.store.write((tx) => closeOpenCalls(tx, { threadId: 't', now: 1, outcome: 'interrupted' }))
      expect(await begin(desk, input)).toEqual({
        kind: 'answered',
        answer: { type: 'refused', result: first },
      })
    }))

  test('phases are those of the step alone', () =>
    withDesk({ work }, async (desk) => {
      const input = await desk.call('digest', { text: 'x' })
      const [call] = await answer(desk, input, { calls: [{ name: 'work', args: {} }] })
      await desk.run(call as ExecuteToolInput)
      const before = await desk.told('step.phase')
      expect(before.filter(({ phase }) => Number(phase) > 4)).toEqual([])
      await completed(desk, input)
      expect((await desk.told('step.phase')).at(-1)).toMatchObject({ phase: 6 })
    }))

  test('a stop tool inside it says nothing for the side', () =>
    withDesk({}, async (desk) => {
      const input = await desk.call('digest', { text: 'x' })
      const [call] = await answer(desk, input, { calls: [{ name: 'finish', args: { words: 'Bye.' } }] })
      expect(await desk.run(call as ExecuteToolInput)).toEqual({ type: 'result', outcome: 'succeeded' })
      expect((await rows(desk)).some(({ content }) => content === 'Bye.')).toBe(false)
    }))

  test('a session tool inside it ends no session', () =>
    withDesk({}, async (desk) => {
      const input = await desk.call('digest', { text: 'x' })
      const [call] = await answer(desk, input, { calls: [{ name: 'close_case' }] })
      expect(await desk.run(call as ExecuteToolInput)).toMatchObject({ outcome: 'succeeded' })
      const row = await desk.store.read((db) => findToolCall(db, 't', call?.callId ?? ''))
      expect(row).toMatchObject({ status: 'succeeded', session: null })
    }))

  test('what it lists is what it may call', () =>
    withDesk({}, async (desk) => {
      const input = await desk.call('digest', { text: 'x' })
      const [call] = await answer(desk, input, { calls: [{ name: 'set_status', args: { text: 'x' } }] })
      expect(await desk.run(call as ExecuteToolInput)).toMatchObject({ outcome: 'failed' })
      expect((await rows(desk)).at(-1)?.content).toContain(
        'The tools are: work, pay, finish, close_case, quiet.',
      )
    }))
})

describe('a prompt tool that executeTool is asked for', () => {
  test('is left to the workflow', () =>
    withDesk({}, async (desk) => {
      const input = await desk.call('digest', { text: 'x' })
      const kind = { type: 'kind', tool: { kind: 'prompt', prompt: 'digest' } }
      expect(await desk.run(input)).toEqual(kind)
      expect(await desk.run(input)).toEqual(kind)
    }))

  test('eight deep is an error result', () =>
    withDesk({}, async (desk) => {
      const input = { ...(await desk.call('digest', { text: 'x' })), depth: 8 }
      expect(await desk.run(input)).toMatchObject({ outcome: 'failed' })
      expect((await lastResult(desk))?.content).toContain('8 prompts deep')
    }))
})

test('T8 a run that is cut closes nested calls where they are', () =>
  withDesk({ work }, async (desk) => {
    const input = await desk.call('digest', { text: 'x' })
    await answer(desk, input, { calls: [{ name: 'pay', args: { amount: 70 } }] })
    const nested = nestedCallIdOf(input.callId, 0)
    await desk.run({ ...input, callId: nested, name: 'pay', depth: 1, promptPath: ['clerk', 'digest'] })
    await desk.store.write((tx) => closeOpenCalls(tx, { threadId: 't', now: 1, outcome: 'interrupted' }))
    const all = await rows(desk)
    const outer = all.find(({ tool_call_id: id }) => id === input.callId)
    expect(all.find(({ tool_call_id: id }) => id === nested)).toMatchObject({
      depth: 1,
      parent_id: outer?.id,
    })
    expect(await desk.request(`approval_${nested}`)).toMatchObject({ status: 'closed' })
    expect(await desk.store.read((db) => findToolCall(db, 't', nested))).toMatchObject({
      status: 'interrupted',
    })
    expect(await desk.store.read((db) => findOperation(db, 't', nested))).toMatchObject({
      state: 'finished',
    })
  }))
