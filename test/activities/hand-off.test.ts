import { describe, expect, test } from 'vitest'
import { executeTool } from '../../src/activities/tool/execute-tool.js'
import type { ExecuteToolInput } from '../../src/protocol/activities.js'
import { AFTER_A_MINUTE, attempt, failureOf, withDesk } from './activity-desk.js'
import { lastResult } from './tool-outcomes.js'

const OPERATIONS = [{ kind: 'hand_off', agent: 'expert' }]

describe('a handoff', () => {
  test('SA-R-05.3c an ai_human agent takes over the same thread', () =>
    withDesk({}, async (desk) => {
      const input = await desk.call('expert', { question: 'Why?' })
      expect(await desk.run(input)).toEqual({
        type: 'result',
        outcome: 'succeeded',
        operations: OPERATIONS,
      })
      const [result, message] = (await desk.transcript()).slice(-2)
      expect(result).toMatchObject({ role: 'tool', content: '"The expert" takes over this conversation.' })
      expect(message).toMatchObject({ role: 'user', content: 'Why?', silent: false })
    }))

  test('T4 a second attempt finds the first', () =>
    withDesk({}, async (desk) => {
      const input = await desk.call('expert', { question: 'Why?' })
      const first = await desk.run(input)
      const transcript = await desk.transcript()
      expect(await desk.run(input)).toEqual(first)
      expect(await desk.transcript()).toEqual(transcript)
    }))

  test('passes files on by their paths', () =>
    withDesk(
      { work: async (state) => (await state.writeFile('/a.txt', 'hi', 'text/plain'), { status: 'success' }) },
      async (desk) => {
        const [writing, handing] = await desk.calls([
          { name: 'work' },
          { name: 'expert', args: { files: ['/a.txt'] } },
        ])
        await desk.run(writing as ExecuteToolInput)
        await desk.run(handing as ExecuteToolInput)
        expect((await desk.transcript()).at(-1)).toMatchObject({
          role: 'user',
          content: '',
          attachments: [{ path: '/a.txt' }],
        })
      },
    ))

  test('without a message adds none', () =>
    withDesk({}, async (desk) => {
      expect(await desk.run(await desk.call('broker'))).toMatchObject({
        operations: [{ kind: 'hand_off', agent: 'broker' }],
      })
      expect((await desk.transcript()).at(-1)).toMatchObject({ role: 'tool' })
    }))

  test('the second of a step is an error result', () =>
    withDesk({}, async (desk) => {
      const input = { ...(await desk.call('expert', { question: 'Why?' })), handedOff: true }
      const answer = await desk.run(input)
      expect(answer).toMatchObject({ outcome: 'failed' })
      expect(answer).not.toHaveProperty('operations')
      expect((await lastResult(desk))?.content).toContain('takes over already')
    }))

  test('a session of one side goes on with the agent that takes over', () =>
    withDesk({}, async (desk) => {
      const input = await desk.call('expert', { question: 'Why?' })
      await desk.store.write((tx) => tx.updateTable('threads').set({ parent_thread_id: 'p' }).execute())
      expect(await desk.run(input)).toMatchObject({ outcome: 'succeeded', operations: OPERATIONS })
    }))

  test('a session of two sides keeps its agent', () =>
    withDesk({}, async (desk) => {
      const input = await desk.call('expert', { question: 'Why?' })
      await desk.store.write(async (tx) => {
        await tx.updateTable('threads').set({ parent_thread_id: 'p' }).execute()
        const { content } = await tx.selectFrom('plans').select('content').executeTakeFirstOrThrow()
        await tx
          .updateTable('plans')
          .set({ content: content.replace('"type":"ai_human"', '"type":"dual_ai"') })
          .execute()
      })
      // A worker that has not read the plan yet.
      const dependencies = { ...desk.dependencies, registry: { ...desk.dependencies.registry } }
      const answer = await desk.run(input, dependencies)
      expect(answer).toMatchObject({ outcome: 'failed' })
      expect(answer).not.toHaveProperty('operations')
      expect((await lastResult(desk))?.content).toContain('talks to a person')
    }))

  test.each<readonly [string, unknown, string]>([
    ['arguments that do not fit', { question: 7 }, 'question: '],
    ['a file that is not there', { question: 'x', files: '/no.txt' }, 'There is no file'],
  ])('SA-R-05.2b %s: an error result', (_what, args, words) =>
    withDesk({}, async (desk) => {
      const answer = await desk.run(await desk.call('expert', args))
      expect(answer).toMatchObject({ outcome: 'failed' })
      expect(answer).not.toHaveProperty('operations')
      expect((await lastResult(desk))?.content).toContain(words)
    }),
  )

  test('an agent that this worker lacks is waited for', () =>
    withDesk({}, async (desk) => {
      const input = await desk.call('expert', { question: 'Why?' })
      const { registry } = desk.dependencies
      const lacking = { ...desk.dependencies, registry: { ...registry, agent: () => undefined } }
      expect(await failureOf(desk.run(input, lacking))).toMatchObject({ type: 'Definition.Missing' })
      const later = attempt(AFTER_A_MINUTE)
      const answer = await later.run((given: ExecuteToolInput) => executeTool(lacking, given), input)
      expect(answer).toMatchObject({ outcome: 'failed' })
      expect(answer).not.toHaveProperty('operations')
    }))
})
