import { describe, expect, test } from 'vitest'

import { idleControl, message, NOW, plan, started } from '../../test/support/control-states.js'
import { advance } from './advance.js'
import { carry, restore } from './continue-as-new.js'
import type { ThreadControl } from './control.js'
import { acceptMessage, acceptStop, acceptTool, listDrainable } from './inbox.js'
import { beginModelCall } from './model-answers.js'
import { nextAction } from './next-action.js'
import { promoteQueuedItem, promotionRefusal } from './operations.js'
import { endingOf, endRun } from './run.js'

const ids = (control: ThreadControl): readonly string[] => control.queue.map(({ id }) => id)
const drained = (control: ThreadControl): readonly string[] => listDrainable(control).map(({ id }) => id)
const sent = (control: ThreadControl, ...given: readonly (readonly [string, string?])[]): ThreadControl =>
  given.reduce<ThreadControl>(
    (next, [messageId, deliver]) =>
      acceptMessage(next, { messageId, ...(deliver !== undefined && { deliver }) }, NOW),
    control,
  )

/** A run that has begun with its first message. */
function working(): ThreadControl {
  const { run, ...control } = started()
  if (run === null) throw new Error('Expected a run.')
  return {
    ...control,
    queue: [],
    plan: plan(),
    facts: [],
    run: { ...run, began: 'with_step', planning: 'known' },
  }
}

describe('a message for the next turn', () => {
  test('T3 it waits for the end of the run, and so does what is behind it', () => {
    const busy = sent(working(), ['joins'], ['turn', 'next_turn'], ['behind'])
    expect(drained(busy)).toEqual(['joins'])
    expect(drained({ ...busy, queue: busy.queue.slice(1) })).toEqual([])
  })

  test('T3 a run begins with it, and takes what is behind it up to the next one', () => {
    const idle = sent(
      idleControl(),
      ['one', 'next_turn'],
      ['with one'],
      ['two', 'next_turn'],
      ['three', 'next_turn'],
    )
    expect(drained(advance(idle))).toEqual(['one', 'with one'])
    const first = sent(idleControl(), ['zero'], ['one', 'next_turn'])
    expect(drained(advance(first))).toEqual(['zero'])
  })

  test('a run that a tool has begun takes none', () => {
    const tool = acceptTool(working(), { toolCallId: 'tool', name: 'work' }, NOW)
    const begun = advance(sent(tool, ['turn', 'next_turn']))
    expect(nextAction(begun)).toMatchObject({ kind: 'executeTool' })
    expect(drained(begun)).toEqual([])
  })

  test('T3 how an item is delivered is carried over continue-as-new', () => {
    const inline = acceptMessage(idleControl(), { content: 'now', deliver: 'preempt' }, NOW)
    const control = sent(inline, ['turn', 'next_turn'], ['usual'])
    expect(restore(carry(control), control.start).queue).toEqual(control.queue)
    expect(carry(control).queue.at(-1)).toEqual(['m', 'usual', 0, NOW])
  })

  test('T10 an unknown way is recorded and skipped', () => {
    const control = sent(working(), ['m', 'reject'])
    expect(control).toMatchObject({ queue: [], facts: [{ payload: { code: 'message_skipped' } }] })
  })

  test('T8 a thread that closes after its session has one run, which takes all', () => {
    const control = sent(idleControl({ resumable: false }), ['a'], ['b', 'next_turn'], ['c', 'preempt'])
    expect(ids(control)).toEqual(['a', 'b', 'c'])
    expect(drained(advance(control))).toEqual(['a', 'b', 'c'])
  })
})

describe('a message that preempts', () => {
  test('KP-07.2 it goes before everything that waits, and ends the run without parking the thread', () => {
    const busy = sent(working(), ['waits'], ['turn', 'next_turn'], ['now', 'preempt'])
    expect(ids(busy)).toEqual(['now', 'waits', 'turn'])
    expect(busy.stopped).toBe(false)
    expect(endingOf(busy)).toEqual({ reason: 'preempted', outcome: 'cancelled', sessionCall: null })
  })

  test('T3 messages that preempt keep their order', () => {
    expect(ids(sent(working(), ['a'], ['b', 'preempt'], ['c'], ['d', 'preempt']))).toEqual([
      'b',
      'd',
      'a',
      'c',
    ])
  })

  test('one that waits already does not end the run that takes it', () => {
    const taking = advance(sent(idleControl(), ['now', 'preempt']))
    expect(endingOf(sent(taking, ['now', 'preempt']))).toBeNull()
  })

  test('one that comes again does not end the run that has taken it, also after a continue-as-new', () => {
    const preempted = sent(working(), ['now', 'preempt'])
    const taken = { ...preempted, queue: [], run: working().run }
    for (const later of [taken, restore(carry(taken), taken.start)]) {
      const again = sent(later, ['now', 'preempt'])
      expect(endingOf(again)).toBeNull()
      expect(again.queue).toMatchObject([{ id: 'now' }])
      expect(endingOf(sent(again, ['another', 'preempt']))?.reason).toBe('preempted')
    }
  })

  test('a run that ends by itself keeps its end', () => {
    const { run, ...control } = working()
    if (run === null) throw new Error('Expected a run.')
    const ending = { reason: 'stop_on_response', outcome: 'completed', sessionCall: null } as const
    expect(endingOf(sent({ ...control, run: endRun(run, ending) }, ['now', 'preempt']))).toEqual(ending)
  })

  test('the first of a stop and a message that preempts names the reason, and a later stop parks the thread', () => {
    const stopped = sent(acceptStop(working(), undefined), ['now', 'preempt'])
    expect(stopped.stopped).toBe(false)
    expect(endingOf(stopped)?.reason).toBe('stopped')
    const parked = acceptStop(sent(working(), ['now', 'preempt']), undefined)
    expect(parked.stopped).toBe(true)
    expect(endingOf(parked)?.reason).toBe('preempted')
  })

  test('an item that leaves the queue with a stop is not what the thread parks for', () => {
    const waiting = sent(idleControl(), ['a'], ['b'])
    expect(acceptStop(waiting, { removed: ['a', 'b'] })).toMatchObject({ queue: [], stopped: false })
    expect(acceptStop(waiting, { removed: ['a'] })).toMatchObject({ queue: [{ id: 'b' }], stopped: true })
    const goesOn = acceptStop(sent(working(), ['a']), { parks: false })
    expect(goesOn.stopped).toBe(false)
    expect(endingOf(goesOn)?.reason).toBe('stopped')
  })
})

describe('a promotion', () => {
  test('AR-CP.9 the item goes before everything that waits, and the others keep their order', () => {
    const busy = { ...sent(working(), ['a'], ['b', 'preempt'], ['c'], ['d']), facts: [] }
    expect(promotionRefusal(busy, { id: 'd' })).toBeNull()
    const promoted = promoteQueuedItem(busy, { id: 'd' })
    expect(ids(promoted)).toEqual(['d', 'b', 'a', 'c'])
    expect(promoted.facts).toEqual([{ type: 'queue.changed', payload: { waiting: 4, promoted: ['d'] } }])
    expect(promoteQueuedItem(promoted, { id: 'd' })).toBe(promoted)
  })

  test('AR-CP.9 what is unknown, no message or tool, or taken by a model call is refused', () => {
    const begun = advance(sent(idleControl(), ['a'], ['b', 'next_turn']))
    const action = nextAction(begun)
    if (action.kind !== 'callModel') throw new Error('Expected a model call.')
    const taking = { ...beginModelCall(begun, action), queue: [...begun.queue, message('c')] }
    expect(promotionRefusal(taking, { id: 'a' })).toBe('Item.NotFound')
    expect(promotionRefusal(taking, { id: 'b' })).toBeNull()
    expect(promotionRefusal(taking, { id: 'nothing' })).toBe('Item.NotFound')
    expect(promotionRefusal(taking, {})).toBe('Item.Invalid')
    expect(promotionRefusal({ ...taking, terminating: true }, { id: 'b' })).toBe('Item.NotFound')
    const effect = { ...taking, queue: [{ kind: 'effect', id: 'e', queuedAt: NOW } as const] }
    expect(promotionRefusal(effect, { id: 'e' })).toBe('Item.NotFound')
  })
})
