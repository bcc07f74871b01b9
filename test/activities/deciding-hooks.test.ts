import { describe, expect, test } from 'vitest'

import { defineHook } from '../../src/definitions/hook.js'
import type { AnyHook, HookPoint, HookPoints } from '../../src/definitions/hook.js'
import type { ThreadState } from '../../src/index.js'
import { findError } from '../../src/store/errors.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import type { Store } from '../../src/store/store.js'
import { scriptedModel } from '../../src/testing/index.js'
import {
  AFTER_A_MINUTE,
  attempt,
  drainOf,
  failingStore,
  failureOf,
  modelInput,
  runModel,
  runTool,
  withDesk,
} from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import type { DeskParts } from './desk-registry.js'
import { hookFailures } from './hook-batch.js'
import { lastResult, success } from './tool-outcomes.js'

/** The points whose hooks answer with another value. */
const VALUE_POINTS = [
  ...(['after_system_message', 'filter_messages', 'prefilter_llm_history'] as const),
  ...(['before_create_message', 'before_update_message', 'before_store_tool_result'] as const),
  ...(['after_tool_call_success', 'after_tool_call_failure'] as const),
]

const guard = (execute: HookPoints['before_tool_call'], id = 'guard') =>
  defineHook({ hook: 'before_tool_call', id, execute })
const standIn = defineHook({
  hook: 'before_permission_request',
  id: 'stand_in',
  execute: (_state) => ({ effect: 'allow' }),
})

function counting(more: DeskParts): DeskParts & { runs: number } {
  const parts: DeskParts & { runs: number } = {
    ...more,
    runs: 0,
    work: () => success(`done ${(parts.runs += 1)}`),
  }
  return parts
}

const decisionOf = async (desk: ActivityDesk, callId: string) =>
  (await desk.store.read((db) => findToolCall(db, 't', callId)))?.decision

describe('a hook that this worker lacks', () => {
  test.each([
    ['work', guard(() => null)],
    ['pay', standIn],
  ] as const)('AR-HP.8 denies %s, after a minute in which another worker may have it', (name, hook) => {
    const parts = counting({ hooks: [hook] })
    return withDesk(parts, async (desk) => {
      const input = await desk.call(name, name === 'pay' ? { amount: 1 } : {})
      const other = desk.with({ ...parts, hooks: [] })
      const early = attempt({ scheduledTimestampMs: 1, currentAttemptScheduledTimestampMs: 2 })
      expect(await failureOf(runTool(other, input, early))).toMatchObject({ type: 'Definition.Missing' })
      const late = await runTool(other, input, attempt(AFTER_A_MINUTE))
      expect(late).toMatchObject({ type: 'result', outcome: 'denied' })
      expect(parts.runs).toBe(0)
      expect(await decisionOf(desk, input.callId)).toMatchObject({
        ...{ decision: 'denied', source: 'hook', hook: hook.id },
      })
      expect(await hookFailures(desk)).toEqual([
        [hook.id, hook.hook, 'missing', expect.stringContaining(`Expected the hook "${hook.id}"`)],
      ])
    })
  })
})

describe('the state of a hook that decides', () => {
  const CHANGES: readonly (readonly [string, (state: ThreadState) => unknown])[] = [
    ['setValue', (state) => state.setValue('a', 1)],
    ['setEnv', (state) => state.setEnv('a', 'b')],
    ['injectMessage', (state) => state.injectMessage({ role: 'user', content: 'words' })],
    ['queueTool', (state) => state.queueTool('work', {})],
    ['invokeTool', (state) => state.invokeTool('work', {})],
    [
      'writeFile',
      (state) => state.writeFile('/a.txt', Buffer.from('a'), { mimeType: 'text/plain' } as never),
    ],
    ['terminate', (state) => state.terminate()],
    ['stop', (state) => state.execution?.stop()],
    ['forceTurn', (state) => state.execution?.forceTurn('a')],
    ['the context', (state) => Object.assign(state.context, { a: 1 })],
  ]
  test.each(CHANGES)(
    'refuses %s, so that nothing is lost in silence: the call is denied',
    (_name, change) => {
      const hook = guard(async (state) => {
        await change(state)
        return null
      })
      return withDesk({ work: () => success('done'), hooks: [hook] }, async (desk) => {
        const input = await desk.call('work')
        expect(await desk.run(input)).toEqual({ type: 'result', outcome: 'denied' })
        const [failed] = await hookFailures(desk)
        expect(failed?.slice(0, 3)).toEqual(['guard', 'before_tool_call', 'threw'])
        expect(failed?.[3]).toMatch(/A hook that decides changes nothing|not extensible/)
      })
    },
  )

  test('reads the thread, and emits facts of its own', () => {
    const seen: unknown[] = []
    const hook = guard(async (state, { name }) => {
      const { messages } = await state.getMessages()
      seen.push(
        messages.map(({ role }) => role),
        await state.getValue('limit'),
        { ...state.context },
      )
      state.emit('audited', { name })
      return { effect: 'allow' }
    })
    return withDesk({ work: () => success('done'), hooks: [hook] }, async (desk) => {
      expect(await desk.run(await desk.call('work'))).toMatchObject({ outcome: 'succeeded' })
      expect(seen).toEqual([['user', 'assistant'], null, {}])
      expect(await desk.told('custom')).toEqual([{ name: 'audited', data: { name: 'work' } }])
    })
  })

  test('T5 keeps secrets out of reasons and errors', () => {
    const hook = guard(async (state, { name }) => {
      const key = await state.env('API_KEY')
      if (name === 'again') throw new Error(`broken with ${key}`)
      return { effect: 'deny', reason: `not with ${key}` }
    })
    return withDesk({ hooks: [hook] }, async (desk) => {
      const worker = { ...desk.dependencies, env: { API_KEY: 'nightingale' } }
      const [first, second] = await desk.calls([{ name: 'work' }, { name: 'again' }])
      if (first === undefined || second === undefined) throw new Error('Expected two calls.')
      await desk.run(first, worker)
      expect((await lastResult(desk))?.content).toContain('The reason: not with ')
      await desk.run(second, worker)
      const kept = JSON.stringify([
        await desk.transcript(),
        await desk.events(),
        await hookFailures(desk),
        await decisionOf(desk, first.callId),
      ])
      expect(kept).toContain('broken with ')
      expect(kept).not.toContain('nightingale')
    })
  })
})

describe('several hooks of one point', () => {
  test('run in their order until one denies, and the strictest counts', () => {
    const seen: string[] = []
    const says = (id: string, effect: 'allow' | 'require_approval' | 'deny' | null) =>
      guard(() => {
        seen.push(id)
        return effect === null ? null : { effect }
      }, id)
    const hooks = [says('a', null), says('b', 'require_approval'), says('c', 'allow')]
    return withDesk({ hooks: [...hooks, says('d', 'deny'), says('e', 'allow')] }, async (desk) => {
      const input = await desk.call('work')
      await desk.run(input)
      expect(seen).toEqual(['a', 'b', 'c', 'd'])
      expect(await decisionOf(desk, input.callId)).toMatchObject({ source: 'hook', hook: 'd' })
    })
  })

  test('what changes in the arguments of one hook reaches no other, and not the tool', () => {
    const seen: unknown[] = []
    const spoils = guard((_state, { arguments: args }) => {
      Object.assign(args, { task: 'spoilt' })
      return null
    }, 'spoils')
    const looks = guard((_state, { arguments: args }) => void seen.push(args), 'looks')
    const work: DeskParts['work'] = (_state, args) => {
      seen.push(args)
      return success('done')
    }
    return withDesk({ work, hooks: [spoils, looks] }, async (desk) => {
      await desk.run(await desk.call('work', { task: 'mine' }))
      expect(seen).toEqual([{ task: 'mine' }, { task: 'mine' }])
    })
  })
})

describe('attempts', () => {
  test('AR-HP.8 a denial of which the result was not stored stands, whatever the hook says by then', () => {
    let effect: 'deny' | 'allow' = 'deny'
    const asked: string[] = []
    const hook = guard((_state, { id }) => {
      asked.push(id)
      return { effect }
    })
    const parts = counting({ hooks: [hook] })
    return withDesk(parts, async (desk) => {
      const input = await desk.call('work')
      let writes = 0
      const store: Store = {
        ...desk.store,
        write: (work) =>
          (writes += 1) === 2 ? Promise.reject(new Error('The attempt dies.')) : desk.store.write(work),
      }
      await failureOf(desk.run(input, { ...desk.dependencies, store }))
      effect = 'allow'
      expect(await desk.run(input)).toEqual({ type: 'result', outcome: 'denied' })
      expect([parts.runs, asked]).toEqual([0, [input.callId]])
      expect(await desk.told('hook.started', 'hook.completed')).toHaveLength(2)
    })
  })

  test('an attempt that dies before its transaction leaves no fact, and the hook is asked again', () => {
    const asked: string[] = []
    const hook = guard((_state, { id }) => void asked.push(id))
    const parts = counting({ hooks: [hook] })
    return withDesk(parts, async (desk) => {
      const input = await desk.call('work')
      const store = failingStore(desk.store, (write) => write === 1)
      await failureOf(desk.run(input, { ...desk.dependencies, store }))
      expect(await desk.run(input)).toMatchObject({ outcome: 'succeeded' })
      expect([parts.runs, asked.length]).toEqual([1, 2])
      expect(await desk.told('hook.started', 'hook.completed')).toHaveLength(2)
    })
  })

  test('a failure has one record of its error', () =>
    withDesk({ hooks: [guard(() => Promise.reject(new Error('no rules')))] }, async (desk) => {
      await desk.run(await desk.call('work'))
      const [failed] = await desk.told('hook.failed')
      const error = await desk.store.read((db) => findError(db, String(failed?.['errorId'])))
      expect(error).toMatchObject({ type: 'hook.threw', message: 'no rules' })
    }))
})

describe('an answer that its point does not know', () => {
  // What comes from a person is kept: a hook that fails before it is stored refuses it.
  const answer = (_state: unknown, given: unknown) =>
    typeof given === 'object' && given !== null && 'role' in given && given.role === 'user' ? undefined : 42
  const wrong = (hook: HookPoint) => ({ hook, id: hook, execute: answer }) as unknown as AnyHook
  const work: DeskParts['work'] = async (state, _args, { id }) => {
    const { messages } = await state.getMessages()
    // A message of the step in flight is not changed, but its hooks are asked.
    await state.updateMessage(messages[0]?.id ?? '', { content: 'changed' }).catch(() => undefined)
    return id === 'call_1_1_0' ? success('done') : { status: 'error', error: 'broken' }
  }
  const chat = () => scriptedModel([{ text: 'The end.' }])

  test.each<readonly [string, readonly HookPoint[]]>([
    ['about messages, requests and results', VALUE_POINTS],
    ['about calls', ['before_tool_call']],
    ['in the place of a person', ['before_permission_request']],
  ])(
    'AR-HP.6 an unknown answer is a failure of each hook, and nothing of it is used: hooks %s',
    (_what, points) =>
      withDesk({ work, hooks: [...points, 'before_run_end' as const].map(wrong) }, async (desk) => {
        const calls = await desk.calls([
          { name: 'work' },
          { name: 'again' },
          { name: 'pay', args: { amount: 1 } },
        ])
        for (const call of calls) await desk.run(call)
        const drain = drainOf(await desk.send('two'))
        await runModel(desk.with({ chat: chat() }), modelInput({ step: 2, drain }))
        const failed = (await hookFailures(desk)).map(([hook, , code]) => [hook, code])
        const expected = [...points, 'before_run_end'].map((point) => [point, 'invalid_answer'])
        expect([...new Set(failed.map((one) => one.join()))].toSorted()).toEqual(
          expected.map((one) => one.join()).toSorted(),
        )
      }),
  )
})
