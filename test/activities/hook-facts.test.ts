import { describe, expect, test } from 'vitest'

import { factsOfRun } from '../../src/activities/hooks/hook-facts.js'
import type { HookRun } from '../../src/activities/hooks/hook-facts.js'
import { callHook } from '../../src/activities/hooks/hook-call.js'
import type { ThreadState } from '../../src/definitions/thread-state.js'
import { findError } from '../../src/store/errors.js'
import { attempt, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'

const SCOPE = { runId: 'run_1', stepId: 'step_1_1', messageId: 'm1', toolCallId: 'call_1_1_0' }

const completed = (more: object = {}): HookRun['end'] => ({
  ...{ kind: 'completed', decision: 'none', isStopped: false, isChanged: false, added: [] },
  ...more,
})

const run = (more: Partial<HookRun>): HookRun => ({
  ...{ hook: 'h', point: 'before_create_message', scope: SCOPE, timeout: 30_000, duration: 7 },
  end: completed(),
  ...more,
})

async function payloadsOf(desk: ActivityDesk, hookRun: HookRun) {
  const place = { threadId: 't', now: 1 }
  return desk.store.write((tx) => factsOfRun(tx, hookRun, place))
}

describe('the facts of a run of a hook', () => {
  test.each([
    ['after_system_message', 'system:step_1_1'],
    ['filter_messages', 'messages:step_1_1'],
    ['prefilter_llm_history', 'request:step_1_1'],
    ['before_create_message', 'message:m1'],
    ['before_update_message', 'message:m1'],
    ['before_tool_call', 'arguments:call_1_1_0'],
    ['before_store_tool_result', 'result:call_1_1_0'],
    ['after_tool_call_success', 'result:call_1_1_0'],
    ['after_tool_call_failure', 'result:call_1_1_0'],
  ] as const)('%s names what it has changed as %s', (point, updated) =>
    withDesk({}, async (desk) => {
      const end = completed({ decision: 'change', isChanged: true, added: ['m2'] })
      expect(await payloadsOf(desk, run({ point, end }))).toEqual([
        { type: 'hook.started', payload: { hook: 'h', point, timeout: 30_000 }, scope: SCOPE },
        {
          type: 'hook.completed',
          payload: {
            ...{ hook: 'h', point, status: 'completed', decision: 'change', duration: 7 },
            ...{ added: ['m2'], updated: [updated] },
          },
          scope: SCOPE,
        },
      ])
    }),
  )

  test.each([
    ['threw', true],
    ['timeout', true],
    ['invalid_answer', false],
    ['missing', false],
    ['blocked', false],
  ] as const)('a failure by %s says whether it may pass, and what became of its matter', (code, retryable) =>
    withDesk({}, async (desk) => {
      for (const isClosed of [true, false]) {
        const failure = { code, error: new Error('broken by hand') }
        const end = { kind: 'failed', failure, isClosed } as const
        const [began, failed] = await payloadsOf(desk, run({ end }))
        expect(began?.type).toBe('hook.started')
        const fails = isClosed ? 'closed' : 'open'
        expect(failed).toMatchObject({ type: 'hook.failed', payload: { code, retryable, fails } })
        const errorId = failed?.type === 'hook.failed' ? failed.payload.errorId : ''
        expect(await desk.store.read((db) => findError(db, errorId))).toMatchObject({
          ...{ type: `hook.${code}`, message: 'broken by hand' },
        })
      }
    }),
  )

  test('a stopped run says so, and a hook that no worker has did not begin', () =>
    withDesk({}, async (desk) => {
      const [, stopped] = await payloadsOf(desk, run({ end: completed({ isStopped: true }) }))
      expect(stopped?.payload).toMatchObject({ status: 'stopped', decision: 'none' })
      const failure = { code: 'missing', error: new Error('none') } as const
      const end = { kind: 'failed', failure, isClosed: false } as const
      const facts = await payloadsOf(desk, run({ point: null, timeout: null, end }))
      expect(facts.map(({ type }) => type)).toEqual(['hook.failed'])
    }))
})

type Calling = Parameters<typeof callHook<'after_thread_created', string>>[0]

describe('the call of a hook ends in time and throws nothing', () => {
  const hook = { hook: 'after_thread_created', id: 'h', execute: () => undefined, timeout: 20 } as const
  const hangs = { call: (): unknown => new Promise(() => undefined) }
  const throws = (): never => {
    throw new Error('broken by hand')
  }
  const calling = (use: Calling['use']): Calling => ({ hook, state: {} as ThreadState, value: 'a', use })

  test.each<[string, Calling['use'], object]>([
    ['answers', { call: () => 'b', accept: String }, { kind: 'taken', value: 'b', isStopped: false }],
    ['answers nothing', { call: () => undefined }, { kind: 'taken', value: 'a' }],
    ['throws', { call: throws }, { kind: 'failed', failure: { code: 'threw' } }],
    ['hangs', hangs, { kind: 'failed', failure: { code: 'timeout' } }],
    ['is refused', { call: () => 1, accept: throws }, { failure: { code: 'invalid_answer' } }],
  ])('where it %s', async (_what, use, result) => {
    const called = await attempt().run(async (): Promise<unknown> => callHook(calling(use)))
    expect(called).toMatchObject({ ...result, duration: expect.any(Number) })
  })

  test('where a stop comes first, it is no more awaited', async () => {
    const environment = attempt()
    environment.cancel()
    const call = calling({ ...hangs, interruptible: true })
    const called = await environment.run(async (): Promise<unknown> => callHook(call))
    expect(called).toMatchObject({ kind: 'taken', value: 'a', isStopped: true })
  })
})
