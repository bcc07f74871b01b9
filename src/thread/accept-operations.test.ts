import { describe, expect, test } from 'vitest'
import { idleControl, message, NOW, run, withCalls } from '../../test/support/control-states.js'
import type { ThreadControl } from './control.js'
import { acceptOperations } from './operations.js'

const accept = (control: ThreadControl, ...operations: readonly unknown[]): ThreadControl =>
  acceptOperations(control, { operations }, NOW)

describe('what another thread did to this one', () => {
  test('T3 it is applied in its order', () => {
    const control = accept(
      idleControl(),
      { kind: 'queue_message', id: 'a', role: 'user' },
      { kind: 'queue_message', id: 'b', role: 'assistant' },
      { kind: 'remove_queued', id: 'a' },
      { kind: 'schedule_effect', id: 'e', dueAt: NOW + 5 },
      { kind: 'schedule_effect', id: 'f', dueAt: NOW + 6 },
      { kind: 'remove_effect', id: 'e' },
    )
    expect(control.queue).toEqual([message('b', 'assistant')])
    expect(control.effects).toEqual([{ id: 'f', dueAt: NOW + 6 }])
  })

  test('none of it clears the stop flag', () => {
    const stopped = idleControl({}, { stopped: true })
    expect(accept(stopped, { kind: 'queue_message', id: 'a', role: 'user' })).toMatchObject({ stopped: true })
    expect(accept(stopped, { kind: 'set_env' })).toEqual(stopped)
  })

  test.each([
    ['during a step', withCalls('work')],
    ['at the end of a run', idleControl({}, { run: run({ stop: 'run' }) })],
    ['while idle', idleControl()],
  ])('a tool that comes %s waits in the inbox', (_when, control) => {
    const queued = accept(control, { kind: 'queue_tool', id: 't', name: 'work' })
    expect(queued.queue).toEqual([{ kind: 'tool', id: 't', name: 'work', queuedAt: NOW }])
    expect(queued.run).toBe(control.run)
  })

  test('T8 a thread may be terminated so', () => {
    expect(accept(withCalls('work'), { kind: 'terminate' }).terminating).toBe(true)
  })

  test.each([[undefined], [{ undecodable: true }], [{ operations: [{ kind: 'hand_off', agent: 'boss' }] }]])(
    'T10 %j is recorded and skipped',
    (input) => {
      const skipped = acceptOperations(idleControl(), input, NOW)
      expect(skipped).toEqual({ ...idleControl(), facts: skipped.facts })
      expect(skipped.facts).toMatchObject([{ payload: { code: 'operations_skipped' } }])
    },
  )
})
