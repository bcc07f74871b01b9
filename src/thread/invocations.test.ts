import { describe, expect, test } from 'vitest'
import { asked, idleControl, message, NOW, plan, run } from '../../test/support/control-states.js'
import { LIMITS } from '../protocol/limits.js'
import { carry, restore } from './continue-as-new.js'
import type { CarriedControl } from './continue-as-new.js'
import type { ThreadControl } from './control.js'
import { acceptMessage, removeItems, firstMessage, listInvocations, removeItem, withQueue } from './inbox.js'
import { applyModelAnswer } from './model-answers.js'
import { applyOperations } from './operations.js'

const PARENT = { parent: { threadId: 'p', callId: 'pc' } }
const ask = (id: string, invocation = `call-${id}`) =>
  ({ messageId: id, role: 'user', from: 'parent', invocation }) as const
const codes = (control: ThreadControl): readonly unknown[] =>
  control.facts.map(({ payload }) => ('code' in payload ? payload.code : undefined))
const accept = (control: ThreadControl, ...inputs: readonly unknown[]): ThreadControl =>
  inputs.reduce<ThreadControl>((next, input) => acceptMessage(next, input, NOW), control)
const child = (patch: Partial<ThreadControl> = {}): ThreadControl => idleControl(PARENT, patch)

describe('a message that the parent waits for', () => {
  test('the first message of a child belongs to the call that started it', () => {
    const first = firstMessage(child(), { messageId: 'm' })
    expect(accept(child(), first).queue).toMatchObject([{ id: 'm', invocation: 'pc' }])
    expect(firstMessage(child(), { content: 'hello' })).toEqual({ content: 'hello' })
    expect(firstMessage(idleControl(), { messageId: 'm' })).toEqual({ messageId: 'm' })
  })

  test.each([
    ['of somebody else', child(), { ...ask('m'), from: 'tool' }],
    ['of nobody', child(), { messageId: 'm', invocation: 'c' }],
    ['to a thread without a parent', idleControl(), ask('m')],
  ])('an invocation %s is passed over', (_whose, control, input) => {
    expect(accept(control, input).queue[0]).toEqual(message('m'))
  })

  test('T7 it clears the stop flag, whatever its role', () => {
    const stopped = child({ stopped: true })
    expect(accept(stopped, { ...ask('m'), role: 'assistant' }).stopped).toBe(false)
    expect(accept(stopped, { messageId: 'm', from: 'parent' }).stopped).toBe(true)
    expect(accept(stopped, { messageId: 'm', from: 'child' }).stopped).toBe(true)
  })

  test('T3 it is carried with its invocation', () => {
    const control = accept(child(), ask('m'), { ...ask('n'), role: 'assistant' })
    const carried = restore(JSON.parse(JSON.stringify(carry(control))) as CarriedControl, control.start)
    expect(carried.queue).toEqual(control.queue)
  })
})

describe('an invocation whose message leaves the queue', () => {
  const queued = accept(child(), ask('m'), ask('n'))

  test('T7 a drained one is remembered', () => {
    expect(removeItems(queued, queued.queue.slice(0, 1)).invocations).toEqual(['call-m'])
    expect(removeItems(queued, queued.queue).invocations).toEqual(['call-m', 'call-n'])
  })

  test('T7 a removed one is remembered', () => {
    expect(removeItem(queued, 'message', 'n')).toMatchObject({
      invocations: ['call-n'],
      queue: [{ id: 'm' }],
    })
    const taken = applyOperations(queued, [{ kind: 'remove_queued', id: 'm' }], NOW)
    expect(taken.invocations).toEqual(['call-m'])
  })

  test('T7 one that a full queue refused is remembered', () => {
    const queue = Array.from({ length: LIMITS.queuesAdmitted * LIMITS.queuedItems }, (_, index) => ({
      kind: 'message' as const,
      id: `x${index}`,
      role: 'user' as const,
      queuedAt: NOW,
    }))
    const full = { ...child(), queue }
    const refused = accept(full, ask('m'))
    expect([refused.invocations, codes(refused)]).toEqual([['call-m'], ['queue_full']])
  })

  test('one that several messages carry is remembered once', () => {
    const twice = accept(child(), ask('m', 'c'), ask('n', 'c'))
    expect(removeItems(twice, twice.queue).invocations).toEqual(['c'])
  })

  test('T7 a run without a definition has taken its messages', () => {
    const answer = { type: 'end', reason: 'definition_missing', outcome: 'failed' } as const
    const control = { ...queued, run: run({ planning: 'unknown', steps: 0 }) }
    const ended = applyModelAnswer(control, { ...asked(), drain: queued.queue }, answer, NOW)
    expect(ended).toMatchObject({ invocations: ['call-m', 'call-n'], queue: [] })
  })

  test('T7 a run whose only message was refused ends, and does not vanish', () => {
    const control = { ...queued, run: run({ steps: 0 }) }
    const answer = { type: 'nothing_to_do', plan: plan() } as const
    const refused = applyModelAnswer(control, { ...asked(), drain: queued.queue.slice(0, 1) }, answer, NOW)
    expect(refused).toMatchObject({
      run: { phase: { ending: { reason: 'hook_blocked', outcome: 'failed' } } },
      invocations: ['call-m'],
      queue: [{ id: 'n' }],
    })
  })
})

describe('more of them than are carried', () => {
  const calls = Array.from({ length: LIMITS.invocations }, (_, index) => ask(`m${index}`))

  test('T7 the newest are kept, wherever they are', () => {
    const full = accept(child(), ...calls)
    const half = removeItems(full, full.queue.slice(0, 10))
    for (const control of [full, half]) {
      const more = accept({ ...control, stopped: true }, ask('more'))
      const kept = [...more.invocations, ...listInvocations(more.queue)]
      expect(kept).toEqual([...calls.slice(1).map(({ invocation }) => invocation), 'call-more'])
      expect([more.stopped, more.queue.length]).toEqual([false, control.queue.length + 1])
      expect(more.queueBytes).toBe(withQueue(more, more.queue).queueBytes)
    }
  })

  test('one that is known already pushes none out', () => {
    const again = accept(accept(child(), ...calls), ask('again', 'call-m3'))
    expect(again.queue.at(-1)).toMatchObject({ invocation: 'call-m3' })
    expect(again.queue[0]).toMatchObject({ invocation: 'call-m0' })
  })

  test('all that are remembered take a small share of the carried state', () => {
    const longest = calls.map((call, index) => ({ ...call, invocation: `${index}`.padEnd(96, 'x') }))
    const full = accept(child(), ...longest)
    const json = JSON.stringify(removeItems(full, full.queue).invocations)
    expect(json.length).toBeLessThan(7 * 1024)
  })
})
