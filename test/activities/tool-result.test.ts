import { describe, expect, test } from 'vitest'
import type { ToolResult } from '../../src/index.js'
import type { ExecuteToolInput } from '../../src/protocol/activities.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { statFile } from '../../src/store/files/files.js'
import { withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import type { DeskParts } from './desk-registry.js'
import { lastResult, success } from './tool-outcomes.js'

describe('what a tool answers', () => {
  const LONG = `head ${'x'.repeat(90_000)} tail`

  test.each<readonly [string, NonNullable<DeskParts['work']>]>([
    ['a result', () => success(LONG)],
    ['an error', () => ({ status: 'error', error: LONG })],
    [
      'a throw',
      () => {
        throw new Error(LONG)
      },
    ],
  ])('%s above 64 KB is shown by head, tail and path', (_what, work) =>
    withDesk({ work }, async (desk) => {
      const input = await desk.call('work')
      await desk.run(input)
      const content = (await lastResult(desk))?.content ?? ''
      const path = `/results/${input.callId}.txt`
      expect(content.length).toBeLessThan(9000)
      expect(content).toMatch(/^(Error: )?head x/)
      expect(content).toMatch(/x tail$/)
      expect(content).toContain(path)
      expect(await desk.store.read((db) => statFile(db, 't', path))).toMatchObject({ size: LONG.length })
    }),
  )

  test.each<readonly [unknown, string]>([
    [undefined, 'The tool call succeeded.'],
    [null, 'null'],
    ['done', 'done'],
    [7, '7'],
    [{}, '{}'],
    [[new Date(0)], '["1970-01-01T00:00:00.000Z"]'],
    [{ status: 'shipped', by: undefined }, '{"status":"shipped"}'],
    [{ status: 'pending', order: 'A-17' }, '{"status":"pending","order":"A-17"}'],
    [{ status: 'success', order: 'A-17' }, '{"status":"success","order":"A-17"}'],
  ])('a tool that answers %j, which is no result, has succeeded with it', (answered, content) =>
    withDesk({ work: () => answered }, async (desk) => {
      expect(await desk.run(await desk.call('work'))).toMatchObject({ outcome: 'succeeded' })
      expect((await lastResult(desk))?.content).toBe(content)
    }),
  )

  test('an object with an error status and no reason is an error with all that it has', () =>
    withDesk({ work: () => ({ status: 'error', order: 'A-17' }) }, async (desk) => {
      expect(await desk.run(await desk.call('work'))).toMatchObject({ outcome: 'failed' })
      expect((await lastResult(desk))?.content).toBe('Error: {"status":"error","order":"A-17"}')
    }))

  test.each([[() => undefined], [7n], [Symbol('x')]])('a value that JSON lacks is no result', (answered) =>
    withDesk({ work: () => answered }, async (desk) => {
      expect(await desk.run(await desk.call('work'))).toMatchObject({ outcome: 'failed' })
      expect((await lastResult(desk))?.content).toContain('something that is not a result')
    }),
  )

  test.each<readonly [string, unknown]>([
    ['"error" that is not a text', { status: 'error', error: { text: 'no' } }],
    ['"error_code" that is not a text', { status: 'error', error: 'no', error_code: 7 }],
    ['"attachments" that are not a list', { status: 'success', attachments: 'a.txt' }],
    ['a "result" that is not JSON', { status: 'success', result: 7n }],
  ])('T4 %s is an error result, not a failed activity', (words, answered) =>
    withDesk({ work: () => answered as ToolResult }, async (desk) => {
      const answer = await desk.run(await desk.call('work'))
      expect(answer).toMatchObject({ outcome: 'failed' })
      expect((await lastResult(desk))?.content).toContain(words)
    }),
  )

  test('a call queues fifty messages at most', () =>
    withDesk(
      {
        work: async (state) => {
          for (let number = 0; number < 51; number += 1)
            await state.queueMessage({ role: 'user', content: `message ${number}` })
          return success('never')
        },
      },
      async (desk) => {
        const answer = await desk.run(await desk.call('work'))
        expect(answer).toMatchObject({ outcome: 'failed' })
        expect((await lastResult(desk))?.content).toContain('at most 50 messages of one call')
      },
    ))

  test.each<readonly [ToolResult, string]>([
    [{ status: 'success' }, 'The tool call succeeded.'],
    [{ status: 'success', result: { a: 1 } }, '{"a":1}'],
    [{ status: 'error' }, 'Error: The tool failed without a reason.'],
    [{ status: 'error', error: 'No.', error_code: 'nope' }, 'Error: No.'],
    [{ status: 'error', result: 'as a result' }, 'Error: as a result'],
  ])('%j reads %s', (answered, words) =>
    withDesk({ work: () => answered }, async (desk) => {
      await desk.run(await desk.call('work'))
      expect((await lastResult(desk))?.content).toBe(words)
    }),
  )

  test('new attachments are files of the thread', () =>
    withDesk(
      {
        work: () => ({
          status: 'success',
          attachments: [{ name: 'a.txt', mimeType: 'text/plain', data: 'aGk=' }],
        }),
      },
      async (desk) => {
        await desk.run(await desk.call('work'))
        expect((await lastResult(desk))?.attachments).toMatchObject([{ path: '/attachments/a.txt', size: 2 }])
        expect(await desk.store.read((db) => statFile(db, 't', '/attachments/a.txt'))).toMatchObject({
          size: 2,
        })
      },
    ))

  test('an attachment that throws when it is read fails the call, not its activity', () =>
    withDesk(
      {
        work: () => ({
          status: 'success',
          attachments: [
            {
              name: 'a.txt',
              mimeType: 'text/plain',
              get data(): string {
                throw new Error('of a trap')
              },
            },
          ],
        }),
      },
      async (desk) => {
        await desk.run(await desk.call('work'))
        expect(await lastResult(desk)).toMatchObject({ tool_status: 'error', content: 'Error: of a trap' })
      },
    ))

  test('an attachment that is not there fails the call', () =>
    withDesk(
      { work: () => ({ status: 'success', attachments: [{ path: '/nothing' } as never] }) },
      async (desk) => {
        await desk.run(await desk.call('work'))
        expect((await lastResult(desk))?.content).toContain('no such file')
      },
    ))
})

describe('a tool that ends the session', () => {
  const session = async (desk: ActivityDesk, { callId }: ExecuteToolInput) =>
    (await desk.store.read((db) => findToolCall(db, 't', callId)))?.session

  test.each([
    ['close_case', 'stop'],
    ['give_up', 'fail'],
  ])('%s carries its mapped payload', (name, kind) =>
    withDesk(
      { work: async (state) => (await state.writeFile('/a.txt', 'hi', 'text/plain'), success('own words')) },
      async (desk) => {
        const input = await desk.call(name, { summary: 'All done.', files: '/a.txt' })
        expect(await desk.run(input)).toEqual({ type: 'result', outcome: 'succeeded' })
        expect(await session(desk, input)).toMatchObject({
          kind,
          message: 'All done.',
          attachments: [{ path: '/a.txt' }],
        })
      },
    ),
  )

  test('without a mapped text the result is the payload', () =>
    withDesk({ work: () => success('own words') }, async (desk) => {
      const input = await desk.call('close_case')
      await desk.run(input)
      expect(await session(desk, input)).toMatchObject({ message: 'own words' })
    }))

  test('K-30 a path that does not exist fails the call', () =>
    withDesk({ work: () => success('done') }, async (desk) => {
      const input = await desk.call('close_case', { summary: 'x', files: ['/missing.txt'] })
      expect(await desk.run(input)).toMatchObject({ outcome: 'failed' })
      expect(await session(desk, input)).toBeNull()
    }))

  test('an error result ends no session', () =>
    withDesk({ work: () => ({ status: 'error', error: 'No.' }) }, async (desk) => {
      const input = await desk.call('close_case', { summary: 'x' })
      await desk.run(input)
      expect(await session(desk, input)).toBeNull()
    }))
})
