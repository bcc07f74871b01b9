import { describe, expect, test } from 'vitest'
import {
  answered,
  endOf,
  idleControl,
  message,
  NOW,
  plan,
  started,
} from '../../test/support/control-states.js'
import type { Plan } from '../protocol/plan.js'
import { advance } from './advance.js'
import { applyToolKind } from './call-answers.js'
import type { ThreadControl } from './control.js'
import { switchAgent } from './facts.js'
import { applyModelAnswer } from './model-answers.js'
import { nextAction } from './next-action.js'
import { snapshotOf, taskQueueOf } from './snapshot.js'

const own = plan()
const clerk = own.prompts['clerk']
const writer = own.prompts['writer']
if (clerk === undefined || writer === undefined) throw new Error('Expected two prompts in the plan.')
const away: Plan = {
  ...own,
  prompts: {
    clerk: {
      ...clerk,
      taskQueue: 'models',
      tools: { ...clerk.tools, work: { kind: 'function', timeout: 1, taskQueue: 'gpu' } },
    },
    writer: { ...writer, taskQueue: 'writers' },
  },
}
const queueOf = (control: ThreadControl): string | null => taskQueueOf(control, nextAction(control))
const calling = (name: string, given: Plan): ThreadControl =>
  answered(started(), { calls: [{ id: 'c0', name }], plan: given })

describe('where an activity is scheduled', () => {
  test('what names no task queue is on that of the thread', () => {
    for (const name of ['work', 'draft', 'transfer', 'ask', 'nobody'])
      expect(queueOf(calling(name, own)), name).toBeNull()
  })

  test('a tool, a model and a prompt each have their own', () => {
    expect(queueOf(calling('work', away))).toBe('gpu')
    expect(queueOf(calling('draft', away))).toBe('writers')
    for (const name of ['transfer', 'ask', 'nobody']) expect(queueOf(calling(name, away)), name).toBeNull()
    expect(queueOf(started(idleControl({}, { plan: away })))).toBe('models')
  })

  test('a run that begins with a tool asks no model', () => {
    const tool = { kind: 'tool', id: 'q1', name: 'work', queuedAt: NOW } as const
    const begins = advance({ ...idleControl({}, { plan: away }), queue: [tool] })
    expect(nextAction(begins)).toMatchObject({ kind: 'callModel', toolFirst: true })
    expect(queueOf(begins)).toBeNull()
  })

  test('the first run of a thread, and one of a new agent, has no plan yet', () => {
    expect(queueOf(started())).toBeNull()
    expect(queueOf(switchAgent(started(idleControl({}, { plan: away })), 'boss', 'a'))).toBeNull()
  })

  test('a step that was sent to its model keeps what waits, and is sent once', () => {
    const first = started()
    const drain = first.queue
    const moved = applyModelAnswer(
      first,
      { side: 'a', asked: false, toolFirst: false, drain },
      { type: 'moved', plan: away },
      NOW,
    )
    expect(moved.queue).toEqual(drain)
    expect(moved.run).toMatchObject({ planning: 'moved', steps: 0 })
    expect(nextAction(moved)).toMatchObject({ kind: 'callModel', drain })
    expect(queueOf(moved)).toBe('models')
    const done = answered(moved, { text: true, plan: away })
    expect(done.run?.planning).toBe('known')
  })

  test('an activity may say where an unlisted name runs, once', () => {
    const tool = { kind: 'function', timeout: 5, taskQueue: 'gpu' } as const
    const known = applyToolKind(calling('nobody', own), 'c0', tool)
    expect(nextAction(known)).toMatchObject({ kind: 'executeTool', call: { id: 'c0', tool } })
    expect(queueOf(known)).toBe('gpu')
    expect(endOf(applyToolKind(known, 'c0', tool))).toMatchObject({ reason: 'blocked' })
  })

  test('the snapshot names it only while something is done there', () => {
    const at = { now: NOW, since: NOW }
    expect(snapshotOf(calling('work', away), at).run).toMatchObject({ doing: 'tool work', taskQueue: 'gpu' })
    expect(snapshotOf(calling('work', own), at).run).not.toHaveProperty('taskQueue')
    expect(snapshotOf(idleControl({}, { queue: [message('m')] }), at).run).toBeNull()
  })
})
