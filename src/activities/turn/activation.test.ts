import { expect, test } from 'vitest'

import type { CallModelInput } from '../../protocol/activities.js'
import { activationInput } from './activation.js'

const INPUT = { run: 2, step: 1, side: 'a', agent: 'boss' } as CallModelInput

test('T4 each activation of a run has an operation of its own', () => {
  const first = activationInput(INPUT).frame.callId
  expect(activationInput(INPUT).frame.callId).toBe(first)
  expect(activationInput({ ...INPUT, agent: 'clerk' }).frame.callId).not.toBe(first)
  expect(activationInput({ ...INPUT, activations: 1 }).frame.callId).not.toBe(first)
})
