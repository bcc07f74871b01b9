/** What a call says of its failure, when its code runs again, and what takes the place of a failure. */
import { describe, expect, test } from 'vitest'
import { executeTool } from '../../src/activities/tool/execute-tool.js'
import { ToolError } from '../../src/index.js'
import type { ToolErrorHandler } from '../../src/index.js'
import type { ExecuteToolInput } from '../../src/protocol/activities.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { until } from '../support/until.js'
import { attempt, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import type { DeskParts } from './desk-registry.js'
import { lastResult, storedValue, success } from './tool-outcomes.js'

const QUICK = { maximumAttempts: 3, initialInterval: 1 }

type Traits = NonNullable<DeskParts['traits']>

/** A tool that throws these, one in each run, and then answers. */
function throwing(errors: readonly unknown[], given: Pick<DeskParts, 'retry' | 'traits'> = {}) {
  const parts = {
    ...given,
    runs: 0,
    work: () => {
      const error = errors[parts.runs]
      parts.runs += 1
      // oxlint-disable-next-line typescript/only-throw-error -- tools throw anything
      if (error !== undefined) throw error
      return success('done')
    },
  } satisfies DeskParts & { runs: number }
  return parts
}

const unavailable = () => new ToolError('The service is not there.', { status: 503 })

/** The failure of the one call: in its event, and in its row. */
async function failureOf(desk: ActivityDesk, { callId }: ExecuteToolInput) {
  const [told] = await desk.told('tool.result')
  const row = await desk.store.read((db) => findToolCall(db, 't', callId))
  if (row?.failure != null) expect(told?.['failure']).toEqual(row.failure)
  return told?.['failure']
}

describe('an automatic try again', () => {
  test('KP-04.6 503 and then 200 is one result of two attempts, 400 is not tried again, a hanging tool fails by its timeout', async () => {
    const twice = throwing([unavailable()], { traits: { readOnly: true } })
    await withDesk(twice, async (desk) => {
      const input = await desk.call('work')
      expect(await desk.run(input)).toMatchObject({ outcome: 'succeeded' })
      expect((await lastResult(desk))?.content).toBe('done')
      expect(twice.runs).toBe(2)
      expect(await desk.told('tool.result')).toHaveLength(1)
      expect(await failureOf(desk, input)).toEqual({
        ...{ category: 'transient', isRetryable: true, attempts: 2, status: 503, recovery: 'retry' },
      })
    })
    const bad = throwing([new ToolError('No such field.', { status: 400 })], { traits: { readOnly: true } })
    await withDesk(bad, async (desk) => {
      const input = await desk.call('work')
      expect(await desk.run(input)).toMatchObject({ outcome: 'failed' })
      expect(bad.runs).toBe(1)
      expect(await failureOf(desk, input)).toEqual({
        ...{ category: 'invalid', isRetryable: false, attempts: 1, status: 400 },
      })
    })
    await withDesk({ work: () => new Promise(() => undefined) }, async (desk) => {
      const input = await desk.call('slow')
      expect(await desk.run(input)).toMatchObject({ outcome: 'failed' })
      expect((await lastResult(desk))?.content).toContain('did not answer within 0.05 seconds')
      expect(await failureOf(desk, input)).toEqual({ category: 'timeout', isRetryable: true, attempts: 1 })
    })
  })

  test.each<[string, Traits, DeskParts['retry'], number]>([
    ['reads only', { readOnly: true }, undefined, 3],
    ['can be repeated', { idempotent: true }, undefined, 3],
    ['reads only, and refuses', { readOnly: true }, false, 1],
    ['changes something', {}, undefined, 1],
    ['changes something, and asks for it', {}, QUICK, 3],
    ['asks for it after rate limits only', {}, { ...QUICK, on: ['rate_limit'] }, 1],
    ['is destructive', { destructive: true, idempotent: true }, undefined, 1],
  ])('of a tool that %s', async (_kind, traits, retry, runs) => {
    const quick = new ToolError('Busy.', { category: 'transient', retryAfter: 0.001 })
    const parts = throwing([quick, quick, quick, quick], { traits, ...(retry !== undefined && { retry }) })
    await withDesk(parts, async (desk) => {
      await desk.run(await desk.call('work'))
      expect(parts.runs).toBe(runs)
    })
  })

  test('is refused for a destructive tool', () =>
    expect(withDesk({ retry: QUICK, traits: { destructive: true } }, async () => undefined)).rejects.toThrow(
      'tool \'work\' is destructive and has "retry"',
    ))

  test('waits as long as the service wants', async () => {
    const parts = throwing([new ToolError('Later.', { status: 429, retryAfter: 60 })], { retry: QUICK })
    await withDesk(parts, async (desk) => {
      const input = await desk.call('work')
      const environment = attempt()
      const running = environment.run(
        (given: ExecuteToolInput) => executeTool(desk.dependencies, given),
        input,
      )
      await until('the first try', () => parts.runs === 1)
      expect(await Promise.race([running, new Promise((resolve) => setTimeout(resolve, 300, 'waits'))])).toBe(
        'waits',
      )
      environment.cancel('CANCELLED')
      await running.catch(() => undefined)
      expect(parts.runs).toBe(1)
    })
  })
})

/** It throws when it is read. */
const trap = Object.defineProperty({}, 'status', {
  enumerable: true,
  get() {
    throw new Error('Not me.')
  },
})

test('an answer that cannot be read is an error result', () =>
  withDesk({ work: () => trap, traits: { onError: { fallback: 'Something.' } } }, async (desk) => {
    const input = await desk.call('work')
    expect(await desk.run(input)).toMatchObject({ outcome: 'failed' })
    expect(await desk.told('tool.result')).toMatchObject([{ errorCode: 'invalid_result' }])
  }))

test.each([
  ['a refused connection', Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), 'transient'],
  [
    'fetch',
    new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'EAI_AGAIN' }) }),
    'transient',
  ],
  ['an error with a status', Object.assign(new Error('x'), { status: 403 }), 'permission'],
  ['an error of a client', Object.assign(new Error('x'), { statusCode: 404 }), 'not_found'],
  ['an abort by time', Object.assign(new Error('x'), { name: 'TimeoutError' }), 'timeout'],
  ['any error', new Error('x'), 'unknown'],
  ['a text', 'x', 'unknown'],
  ['a status that is none', Object.assign(new Error('x'), { status: 4030 }), 'unknown'],
  [
    'a value that throws when it is read',
    new Proxy(
      {},
      {
        get() {
          throw new Error('Not me.')
        },
      },
    ),
    'unknown',
  ],
  ['a category that there is not', new ToolError('x', { category: 'evil' as never }), 'unknown'],
])('%s has its category', (_name, error, category) =>
  withDesk(throwing([error]), async (desk) => {
    const input = await desk.call('work')
    expect(await desk.run(input)).toMatchObject({ outcome: 'failed' })
    expect(await failureOf(desk, input)).toMatchObject({ category })
  }),
)

test('a code of an error is that of the result', () =>
  withDesk(throwing([new ToolError('x', { code: 'sold_out', category: 'conflict' })]), async (desk) => {
    const input = await desk.call('work')
    await desk.run(input)
    expect(await desk.told('tool.result')).toMatchObject([{ errorCode: 'sold_out' }])
  }))

describe('what takes the place of a failure', () => {
  const failing = (onError: ToolErrorHandler, more: Traits = {}) =>
    throwing(Array.from({ length: 9 }, unavailable), { retry: QUICK, traits: { onError, ...more } })

  test('KP-04.5 two tries and then an answer, a fallback, and a person', async () => {
    const third = throwing([unavailable(), unavailable()], { retry: QUICK })
    await withDesk(third, async (desk) => {
      await desk.run(await desk.call('work'))
      expect([third.runs, (await lastResult(desk))?.content]).toEqual([3, 'done'])
    })
    await withDesk(failing({ fallback: 'Nobody knows.' }), async (desk) => {
      const input = await desk.call('work')
      expect(await desk.run(input)).toMatchObject({ outcome: 'succeeded' })
      expect((await lastResult(desk))?.content).toBe('Nobody knows.')
      expect(await failureOf(desk, input)).toMatchObject({ attempts: 3, recovery: 'fallback', status: 503 })
    })
    const form = { type: 'object', properties: { found: { type: 'boolean' } }, required: ['found'] }
    await withDesk(failing({ escalate: true, form }), async (desk) => {
      const input = await desk.call('work')
      const asked = { type: 'pending', kind: 'call', requestId: input.callId, status: 'waiting_input' }
      expect(await desk.run(input)).toMatchObject(asked)
      const request = await desk.request(input.callId)
      expect(request?.detail).toMatchObject({ form, failure: { category: 'transient', attempts: 3 } })
      await desk.decide(input.callId, { answer: { status: 'success', result: { found: true } }, by: 'ann' })
      expect(await desk.complete(input, { kind: 'response', requestId: input.callId })).toMatchObject({
        outcome: 'succeeded',
      })
      expect((await lastResult(desk))?.content).toBe('{"found":true}')
      expect(await failureOf(desk, input)).toMatchObject({ category: 'transient', recovery: 'person' })
    })
  })

  test('code gets the failure with its advice, and only its writes are kept', () =>
    withDesk(
      {
        retry: QUICK,
        work: async (state) => {
          await state.setValue('tried', true)
          throw unavailable()
        },
        traits: {
          onError: {
            async fallback(state, _args, failure) {
              await state.setValue('stood in', failure as never)
              return 'By hand.'
            },
          },
        },
      },
      async (desk) => {
        await desk.run(await desk.call('work'))
        expect((await lastResult(desk))?.content).toBe('By hand.')
        expect(await storedValue(desk, 'tried')).toBeUndefined()
        expect(await storedValue(desk, 'stood in')).toEqual({
          ...{ message: 'The service is not there.', category: 'transient' },
          advice: 'Try the same call again later.',
        })
      },
    ))

  test('another tool runs with the same arguments', () => {
    const seen: unknown[] = []
    const parts: DeskParts = {
      work: (_state, args) => {
        seen.push(args)
        if (seen.length === 1) throw unavailable()
        return success('by the other')
      },
      traits: { onError: { tool: 'again' } },
    }
    return withDesk(parts, async (desk) => {
      const input = await desk.call('work', { task: 'dig' })
      await desk.run(input)
      expect((await lastResult(desk))?.content).toBe('by the other')
      expect(seen).toHaveLength(2)
      expect(await failureOf(desk, input)).toMatchObject({ recovery: 'fallback' })
    })
  })

  test('an error that the tool returns is a failure, too', () =>
    withDesk(
      {
        work: () => ({ status: 'error', error: 'Nothing.' }),
        traits: { onError: { fallback: 'Something.' } },
      },
      async (desk) => {
        await desk.run(await desk.call('work'))
        expect((await lastResult(desk))?.content).toBe('Something.')
      },
    ))

  test.each<[string, ToolErrorHandler]>([
    ['a fallback that throws', { fallback: () => Promise.reject(new Error('Worse.')) }],
    ['a fallback that is an error', { fallback: () => ({ status: 'error', error: 'Worse.' }) }],
    ['a fallback that cannot be read', { fallback: () => trap as never }],
    ['a tool that is denied', { tool: 'pay' }],
  ])('%s leaves the first failure', (_name, onError) =>
    withDesk(failing(onError), async (desk) => {
      const input = await desk.call('work')
      expect(await desk.run(input)).toMatchObject({ outcome: 'failed' })
      expect((await lastResult(desk))?.content).toBe('Error: The service is not there.')
      expect(await failureOf(desk, input)).not.toHaveProperty('recovery')
    }),
  )

  test('T4 a second attempt does nothing again', () => {
    const parts = failing({ fallback: 'Nobody knows.' })
    return withDesk(parts, async (desk) => {
      const input = await desk.call('work')
      const first = await desk.run(input)
      const events = await desk.events()
      expect(await desk.run(input)).toEqual(first)
      expect([parts.runs, await desk.events()]).toEqual([3, events])
    })
  })
})
