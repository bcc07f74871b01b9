import { expect, test } from 'vitest'
import { idleControl, message, NOW, run } from '../../test/support/control-states.js'
import type { QueueEntry } from './control.js'
import { acceptMessage } from './inbox.js'
import { removeQueuedItem, removalRefusal } from './operations.js'

const tool: QueueEntry = { kind: 'tool', id: 'queued_1', name: 'work', queuedAt: NOW }
const effect: QueueEntry = { kind: 'effect', id: 'e', queuedAt: NOW }
const report: QueueEntry = { kind: 'report', id: 'r', queuedAt: NOW }
const waiting = idleControl(
  {},
  { queue: [message('m'), tool, effect, report], effects: [{ id: 'later', dueAt: NOW + 9 }] },
)

test.each(['m', 'queued_1', 'e'])('T3 %s leaves the queue, and the others keep their order', (id) => {
  expect(removalRefusal(waiting, { id })).toBeNull()
  const left = removeQueuedItem(waiting, { id })
  expect(left.queue).toEqual(waiting.queue.filter((entry) => entry.id !== id))
  expect(left.facts).toEqual([])
  expect(removalRefusal(left, { id })).toBe('Item.NotFound')
})

test('an effect that is not due is taken back too', () => {
  expect(removalRefusal(waiting, { id: 'later' })).toBeNull()
  expect(removeQueuedItem(waiting, { id: 'later' })).toEqual({ ...waiting, effects: [] })
})

test('T10 what is no item, a report or malformed is refused by its own name', () => {
  expect(removalRefusal(waiting, { id: 'r' })).toBe('Item.NotFound')
  expect(removalRefusal(waiting, { id: 'nothing' })).toBe('Item.NotFound')
  expect(removalRefusal(waiting, {})).toBe('Item.Invalid')
  expect(removalRefusal(waiting, undefined)).toBe('Item.Invalid')
  expect(removalRefusal({ ...waiting, terminating: true }, { id: 'm' })).toBe('Item.NotFound')
})

test('T3 an inline message is taken back only where no run delivers it', () => {
  const inline = acceptMessage(
    idleControl({}, { stopped: true }),
    { content: 'hello', role: 'assistant' },
    NOW,
  )
  const item = { id: 'everthread:item:1' }
  expect(removalRefusal({ ...inline, run: run() }, item)).toBe('Item.NotFound')
  expect(removalRefusal(inline, item)).toBeNull()
  const left = removeQueuedItem({ ...inline, facts: [] }, item)
  expect(left).toMatchObject({ queue: [], facts: [{ type: 'queue.changed', payload: { waiting: 0 } }] })
})

test('T3 a repeated removal is taken once, and one that was refused is refused again', () => {
  const inline = acceptMessage(idleControl({}, { stopped: true }), { content: 'hello' }, NOW)
  const item = { id: 'everthread:item:1', commandId: 'once' }
  expect(removalRefusal({ ...inline, run: run() }, item)).toBe('Item.NotFound')
  const left = removeQueuedItem(inline, item)
  expect(removalRefusal(left, item)).toBeNull()
  expect(removeQueuedItem(left, item)).toBe(left)
  expect(removalRefusal(left, { ...item, commandId: 'another' })).toBe('Item.NotFound')
})

test('T7 the call that a removed message belongs to is answered with the next report', () => {
  const asked = acceptMessage(
    idleControl({ parent: { threadId: 'p', callId: 'c' } }),
    { messageId: 'm', from: 'parent', invocation: 'call-m' },
    NOW,
  )
  expect(removeQueuedItem(asked, { id: 'm' }).invocations).toEqual(['call-m'])
})
