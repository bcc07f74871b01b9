import { expect, test } from 'vitest'

import { waitingNote } from './lifecycle-tools.js'

test('a model is told whether the call of a subagent waits, and how the result comes', () => {
  const resumable = { receives_messages: 'side_a', parentCommunication: 'explicit' } as never
  expect(waitingNote({ blocking: true, resumable })).toContain('waits until the agent is done')
  expect(waitingNote({ blocking: false, resumable })).toContain('sends a message')
  expect(waitingNote({ blocking: false, resumable: null } as never)).toContain('comes later')
})
