import { describe, expect, test } from 'vitest'
import { idleControl, message, NOW, run } from '../../test/support/control-states.js'
import { LIMITS } from '../protocol/limits.js'
import { utf8Length } from '../protocol/values.js'
import { carry, restore } from './continue-as-new.js'
import type { CarriedControl } from './continue-as-new.js'
import type { ThreadControl } from './control.js'
import {
  acceptContinue,
  goOn,
  acceptMessage,
  acceptSetEnv,
  acceptStop,
  acceptTool,
  acceptUnknownSignal,
  listDrainable,
  removeItems,
  enqueue,
  removeItem,
} from './inbox.js'

const ids = (control: ThreadControl): readonly string[] => control.queue.map(({ id }) => id)
const codes = (control: ThreadControl): readonly unknown[] =>
  control.facts.map(({ payload }) => ('code' in payload ? payload.code : undefined))
const accept = (control: ThreadControl, ...given: readonly unknown[]): ThreadControl =>
  given.reduce<ThreadControl>((next, input) => acceptMessage(next, input, NOW), control)

describe('messages', () => {
  test('T3 messages keep the order in which they came', () => {
    expect(ids(accept(idleControl(), { messageId: 'b' }, { messageId: 'a' }, { messageId: 'c' }))).toEqual([
      'b',
      'a',
      'c',
    ])
  })

  test('T3 a message that waits already is not queued twice', () => {
    expect(ids(accept(idleControl(), { messageId: 'a' }, { messageId: 'a' }))).toEqual(['a'])
  })

  test('an inline message gets an id of the thread', () => {
    const control = accept(idleControl(), { content: 'hello', silent: true }, { content: 'hello' })
    expect(control.queue).toMatchObject([
      { id: 'everthread:item:1', role: 'user', inline: { content: 'hello', role: 'user', silent: true } },
      { id: 'everthread:item:2', inline: { silent: false } },
    ])
  })

  test('the role of a message is kept', () => {
    expect(accept(idleControl(), { messageId: 'a', role: 'assistant' }).queue).toMatchObject([
      { role: 'assistant' },
    ])
  })

  test('a queued message is told by its count', () => {
    expect(accept(idleControl(), { messageId: 'a' }).facts).toEqual([
      { type: 'queue.changed', payload: { waiting: 1, added: [{ id: 'a', kind: 'message' }] } },
    ])
  })

  test.each([
    ['nothing', undefined],
    ['what cannot be decoded', { undecodable: true }],
    ['a list', ['a']],
    ['an unknown role', { messageId: 'a', role: 'system' }],
    ['an empty text', { content: '' }],
    ['a text above 4 KiB', { content: 'é'.repeat(2049) }],
    ['an id that is too long', { messageId: 'a'.repeat(257) }],
  ])('T10 %s is recorded and skipped', (_what, input) => {
    const control = accept(idleControl(), input)
    expect(control.queue).toEqual([])
    expect(codes(control)).toEqual(['message_skipped'])
  })

  test('T5 a skipped message leaves no words of its own', () => {
    const control = accept(
      idleControl(),
      { content: 'secret '.repeat(900) },
      { messageId: 'secret'.repeat(50) },
    )
    expect(JSON.stringify(control)).not.toContain('secret')
  })

  test('T11 a signal of an unknown name is recorded and skipped', () => {
    const control = acceptUnknownSignal(idleControl())
    expect(control.queue).toEqual([])
    expect(codes(control)).toEqual(['signal_unknown'])
  })
})

describe('bounds', () => {
  test('an item without a row finds no room behind a thousand, and is refused with a warning', () => {
    const full = accept(
      idleControl(),
      ...Array.from({ length: LIMITS.queuedItems }, (_, index) => ({ messageId: `m${index}` })),
    )
    const refused = accept({ ...full, facts: [] }, { content: 'x' })
    expect(ids(refused).at(-1)).toBe('m999')
    expect(refused.facts).toMatchObject([{ type: 'runtime.warning', payload: { code: 'queue_full' } }])
  })

  test('T7 what answers for a child finds room in a full queue', () => {
    const full = accept(
      idleControl(),
      ...Array.from({ length: 1000 }, (_, index) => ({ messageId: `m${index}` })),
    )
    const report = { kind: 'report', id: 'r', queuedAt: NOW } as const
    const closed = { kind: 'child_closed', id: 'c', reference: 'k', status: 'failed', queuedAt: NOW } as const
    expect(ids(enqueue(enqueue(full, report), closed)).slice(-2)).toEqual(['r', 'c'])
  })

  test.each([
    ['plain', 'x'],
    ['wide', '\u{1f600}'],
    ['escaped', '\u0001'],
    ['cut in half', '\ud800'],
  ])('%s inline texts fill the queue by their bytes', (_kind, character) => {
    const content = character.repeat(Math.floor(4096 / utf8Length(character)))
    const control = accept(idleControl(), ...Array.from({ length: 200 }, () => ({ content })))
    const bytes = Buffer.byteLength(JSON.stringify(control.queue))
    expect(control.queue.length).toBeLessThan(200)
    expect(bytes).toBeLessThan(LIMITS.queueBytes + 2 * LIMITS.queuedItems)
  })

  test('ids that are escaped in JSON fill the queue by their bytes', () => {
    const given = Array.from({ length: 1000 }, (_, index) => ({
      messageId: `${index}${'\u0001'.repeat(250)}`,
    }))
    const bytes = Buffer.byteLength(JSON.stringify(accept(idleControl(), ...given).queue))
    expect(bytes).toBeLessThan(LIMITS.queueBytes + 2 * LIMITS.queuedItems)
  })

  test('what was drained makes room again', () => {
    const control = accept(idleControl(), { content: 'x'.repeat(4000) }, { messageId: 'a' })
    const emptied = removeItems(control, control.queue)
    expect(emptied.queueBytes).toBe(0)
    expect(emptied.queue).toEqual([])
  })
})

describe('tools and variables', () => {
  test('a queued tool waits with its name, and behind the stop flag', () => {
    const stopped = idleControl({}, { stopped: true })
    expect(acceptTool(stopped, { toolCallId: 't', name: 'work' }, NOW)).toMatchObject({
      stopped: true,
      queue: [{ kind: 'tool', id: 't', name: 'work' }],
    })
  })

  test('a message and a tool of one id are two items', () => {
    const both = acceptTool(accept(idleControl(), { messageId: 'x' }), { toolCallId: 'x', name: 'work' }, NOW)
    expect(both.queue).toHaveLength(2)
    expect(removeItem(both, 'message', 'x').queue).toMatchObject([{ kind: 'tool' }])
    expect(acceptTool(both, { toolCallId: 'x', name: 'work' }, NOW).queue).toHaveLength(2)
  })

  test('a refused tool names its call', () => {
    const queue = Array.from({ length: LIMITS.queuesAdmitted * LIMITS.queuedItems }, (_, index) => ({
      kind: 'message' as const,
      id: `m${index}`,
      role: 'user' as const,
      queuedAt: NOW,
    }))
    const full = idleControl({}, { queue })
    expect(acceptTool(full, { toolCallId: 't', name: 'work' }, NOW).facts).toMatchObject([
      { scope: { toolCallId: 't' }, payload: { code: 'queue_full' } },
    ])
  })

  test.each([[undefined], [{ undecodable: true }], [{ toolCallId: '' }], [{ names: 'A' }]])(
    'T10 %j is recorded and skipped as tool and as variables',
    (input) => {
      expect(codes(acceptTool(idleControl(), input, NOW))).toEqual(['tool_skipped'])
      expect(codes(acceptSetEnv(idleControl(), input, NOW))).toEqual(['set_env_skipped'])
    },
  )

  test('many names ask once', () => {
    const blocked = idleControl(
      {},
      { request: { id: 'v', kind: 'variables', toolName: null, requestedAt: NOW } },
    )
    const twice = acceptSetEnv(acceptSetEnv(blocked, { names: ['A'] }, NOW), { names: ['B'] }, NOW)
    expect(twice.queue).toHaveLength(1)
  })
})

describe('draining', () => {
  test('T3 a model call takes what waits before a tool only', () => {
    const control = acceptTool(
      accept(idleControl(), { messageId: 'a' }),
      { toolCallId: 't', name: 'work' },
      NOW,
    )
    const queued = accept(control, { messageId: 'b' })
    expect(listDrainable(queued)).toMatchObject([{ id: 'a' }])
    expect(listDrainable(idleControl())).toEqual([])
  })

  test('T3 what came during the step stays in order', () => {
    const control = accept(idleControl(), { messageId: 'a' }, { messageId: 'b' })
    const later = accept(control, { messageId: 'c' })
    expect(ids(removeItems(later, control.queue))).toEqual(['c'])
  })
})

describe('stop and continue', () => {
  const running = idleControl({}, { run: run(), runs: 1 })

  test('a stop ends the current run and parks the thread', () => {
    expect(acceptStop(running, undefined)).toMatchObject({ stopped: true, run: { stop: 'run_and_children' } })
  })

  test('a stop of another run changes nothing', () => {
    expect(acceptStop(running, { runId: 'run_2' })).toBe(running)
    expect(acceptStop(running, { runId: 'run_1' }).stopped).toBe(true)
  })

  test('a stop of an idle thread changes nothing', () => {
    const idle = idleControl()
    expect(acceptStop(idle, undefined)).toBe(idle)
  })

  test('a stop parks what waits for its first step', () => {
    const waiting = idleControl({}, { queue: [message('a')] })
    expect(acceptStop(waiting, null).stopped).toBe(true)
    expect(acceptStop(waiting, { runId: 'run_1' })).toBe(waiting)
  })

  test.each([[{ undecodable: true }], ['now'], [{ runId: 1 }]])('T10 stop with %j is skipped', (input) => {
    const control = acceptStop(running, input)
    expect(control.stopped).toBe(false)
    expect(codes(control)).toEqual(['stop_skipped'])
  })

  test.each([
    ['of a user', { messageId: 'a' }, false],
    ['of the command line', { content: 'a' }, false],
    ['of the parent', { messageId: 'a', from: 'parent' }, true],
    ['of a tool', { messageId: 'a', from: 'tool' }, true],
    ['of an assistant', { messageId: 'a', role: 'assistant' }, true],
  ])('a message %s meets the stop flag', (_who, input, stays) => {
    expect(accept(idleControl({}, { stopped: true }), input).stopped).toBe(stays)
  })

  test('a report does not clear the stop flag', () => {
    const report = { kind: 'report', id: 'r', queuedAt: NOW } as const
    expect(enqueue(idleControl({}, { stopped: true }), report).stopped).toBe(true)
  })

  test('AR-CC.1 a stop or continue that is repeated with its id does nothing, also in the next Temporal run', () => {
    const stop = { commandId: 'a' }
    const busy = idleControl({}, { run: run() })
    const next = { ...acceptStop(busy, stop), stopped: false, run: busy.run }
    expect(acceptStop(next, stop)).toBe(next)
    const start = next.start
    const restored = restore(JSON.parse(JSON.stringify(carry(next))) as CarriedControl, start)
    expect(acceptStop(restored, stop)).toBe(restored)
    expect(acceptContinue(restored, stop, NOW)).toBe(restored)
    expect(acceptStop(restored, { commandId: 'b' })).toMatchObject({ stopped: true })
    expect(acceptStop(restored, {})).toMatchObject({ stopped: true })
    const many = Array.from({ length: 100 }, (_, index) => ({ commandId: String(index) }))
    const control = many.reduce((one, input) => acceptContinue(one, input, NOW), restored)
    expect(control.commands).toHaveLength(LIMITS.commandIds)
    expect(acceptContinue(restored, { commandId: 'x'.repeat(41) }, NOW).commands).toEqual(restored.commands)
  })

  test('continue goes on with a full queue, and many ask once', () => {
    const full = accept(
      idleControl({}, { stopped: true }),
      ...Array.from({ length: 1000 }, (_, index) => ({ messageId: `m${index}`, from: 'tool' })),
    )
    expect(goOn({ ...full, stopped: true }, NOW)).toMatchObject({ stopped: false })
    const twice = goOn(goOn(idleControl(), NOW), NOW)
    expect(twice.queue).toHaveLength(1)
  })

  test('continue clears the flag and asks for a step', () => {
    const control = goOn(idleControl({}, { stopped: true }), NOW)
    expect(control).toMatchObject({ stopped: false, queue: [{ kind: 'continue', id: 'everthread:item:1' }] })
  })

  test('T8 what comes while the thread closes is refused by another settle', () => {
    const closing = { outcome: 'completed', reason: 'session_stop', cascade: [], settled: true } as const
    expect(accept(idleControl({}, { closing }), { messageId: 'a' }).closing?.settled).toBe(false)
  })
})
