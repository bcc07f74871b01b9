import { expect, test } from 'vitest'

import { assertEvents } from './assert-events.js'

const thread = {
  async *events() {
    for (const type of ['run.started', 'step.started', 'step.completed', 'run.completed']) yield { type }
  },
}

test('events in order pass with others between them', async () => {
  await assertEvents(thread, ['run.started', 'step.completed', 'run.completed'])
  await assertEvents(thread, [])
})

test('an event out of order fails and shows what came', async () => {
  await expect(assertEvents(thread, ['step.completed', 'step.started'])).rejects.toThrow(
    'Expected the events step.completed, step.started in this order, got no "step.started" after "step.completed". ' +
      'These came: run.started, step.started, step.completed, run.completed.',
  )
})

test('an event is not counted twice', async () => {
  await expect(assertEvents(thread, ['run.started', 'run.started'])).rejects.toThrow('no "run.started"')
})
