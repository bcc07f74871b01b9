import { describe, expect, test } from 'vitest'

import type { ExecuteToolInput } from '../../src/protocol/activities.js'
import { AFTER_A_MINUTE, attempt, failureOf } from './activity-desk.js'
import { executeTool } from '../../src/activities/execute-tool/execute-tool.js'
import { withOffice } from './office.js'
import { lastResult } from './tool-desk.js'

const OPERATIONS = [{ kind: 'hand_off', agent: 'expert' }]

describe('a handoff', () => {
  test('SA-R-05.3c an ai_human agent takes over the same thread', () =>
    withOffice({}, async (office) => {
      const input = await office.call('expert', { question: 'Why?' })
      expect(await office.run(input)).toEqual({
        type: 'result',
        outcome: 'succeeded',
        operations: OPERATIONS,
      })
      const [result, message] = (await office.transcript()).slice(-2)
      expect(result).toMatchObject({ role: 'tool', content: '"The expert" takes over this conversation.' })
      expect(message).toMatchObject({ role: 'user', content: 'Why?', silent: false })
    }))

  test('T4 a second attempt finds the first', () =>
    withOffice({}, async (office) => {
      const input = await office.call('expert', { question: 'Why?' })
      const first = await office.run(input)
      const transcript = await office.transcript()
      expect(await office.run(input)).toEqual(first)
      expect(await office.transcript()).toEqual(transcript)
    }))

  test('passes files on by their paths', () =>
    withOffice(
      { work: async (state) => (await state.writeFile('/a.txt', 'hi', 'text/plain'), { status: 'success' }) },
      async (office) => {
        const [writing, handing] = await office.calls([
          { name: 'work' },
          { name: 'expert', args: { files: ['/a.txt'] } },
        ])
        await office.run(writing as ExecuteToolInput)
        await office.run(handing as ExecuteToolInput)
        expect((await office.transcript()).at(-1)).toMatchObject({
          role: 'user',
          content: '',
          attachments: [{ path: '/a.txt' }],
        })
      },
    ))

  test('without a message adds none', () =>
    withOffice({}, async (office) => {
      expect(await office.run(await office.call('broker'))).toMatchObject({
        operations: [{ kind: 'hand_off', agent: 'broker' }],
      })
      expect((await office.transcript()).at(-1)).toMatchObject({ role: 'tool' })
    }))

  test('the second of a step is an error result', () =>
    withOffice({}, async (office) => {
      const input = { ...(await office.call('expert', { question: 'Why?' })), handedOff: true }
      const answer = await office.run(input)
      expect(answer).toMatchObject({ outcome: 'failed' })
      expect(answer).not.toHaveProperty('operations')
      expect((await lastResult(office))?.content).toContain('takes over already')
    }))

  test('a thread that works for another one keeps its agent', () =>
    withOffice({}, async (office) => {
      const input = await office.call('expert', { question: 'Why?' })
      await office.store.write((tx) => tx.updateTable('threads').set({ parent_thread_id: 'p' }).execute())
      const answer = await office.run(input)
      expect(answer).toMatchObject({ outcome: 'failed' })
      expect(answer).not.toHaveProperty('operations')
      expect((await lastResult(office))?.content).toContain('talks to a person')
    }))

  test.each<readonly [string, unknown, string]>([
    ['arguments that do not fit', { question: 7 }, 'question: '],
    ['a file that is not there', { question: 'x', files: '/no.txt' }, 'There is no file'],
  ])('SA-R-05.2b %s: an error result', (_what, args, words) =>
    withOffice({}, async (office) => {
      const answer = await office.run(await office.call('expert', args))
      expect(answer).toMatchObject({ outcome: 'failed' })
      expect(answer).not.toHaveProperty('operations')
      expect((await lastResult(office))?.content).toContain(words)
    }),
  )

  test('an agent that this worker lacks is waited for', () =>
    withOffice({}, async (office) => {
      const input = await office.call('expert', { question: 'Why?' })
      const { registry } = office.dependencies
      const lacking = { ...office.dependencies, registry: { ...registry, agent: () => undefined } }
      expect(await failureOf(office.run(input, lacking))).toMatchObject({ type: 'Definition.Missing' })
      const later = attempt(AFTER_A_MINUTE)
      const answer = await later.run((given: ExecuteToolInput) => executeTool(lacking, given), input)
      expect(answer).toMatchObject({ outcome: 'failed' })
      expect(answer).not.toHaveProperty('operations')
    }))
})
