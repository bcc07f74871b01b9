import { describe, expect, test } from 'vitest'

import { scriptedModel } from '../../src/testing/index.js'
import { drainOf, modelInput, runModel, withDesk } from './activity-desk.js'

describe('what a prompt sees', () => {
  const script = () =>
    scriptedModel([{ toolCalls: [{ name: 'work' }], text: 'calling' }, { text: 'second run' }])

  test.each([
    [{ includeChat: true, includePastTools: true }, ['user', 'assistant', 'tool', 'user']],
    [{ includeChat: true, includePastTools: false }, ['user', 'assistant', 'user']],
    [{ includeChat: false, includePastTools: false }, ['user']],
  ])('%j', (memory, roles) => {
    const chat = script()
    return withDesk({ chat, memory }, async (desk) => {
      await runModel(desk.dependencies, modelInput({ drain: drainOf(await desk.send('one')) }))
      const drain = drainOf(await desk.send('two'))
      await runModel(desk.dependencies, modelInput({ run: 2, drain }))
      expect(chat.requests[1]?.messages.map(({ role }) => role)).toEqual(roles)
    })
  })
})
