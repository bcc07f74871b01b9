import { describe, expect, test } from 'vitest'

import type { ToolCall } from '../../src/index.js'
import { executeTool } from '../../src/activities/execute-tool/execute-tool.js'
import type { ExecuteToolInput } from '../../src/protocol/activities.js'
import { until } from '../support/until.js'
import { attempt } from './activity-desk.js'
import { withOffice } from './office.js'
import type { OfficeParts } from './office.js'
import { lastResult, storedValue } from './tool-desk.js'

const QUICK = { maximumAttempts: 3, initialInterval: 1 }

/** A tool that throws as often as it is told to. */
function flaky(failures: number, retry: OfficeParts['retry'] = QUICK): OfficeParts & { calls: ToolCall[] } {
  const parts = {
    retry,
    calls: [] as ToolCall[],
    work: async (...[state, , call]: Parameters<NonNullable<OfficeParts['work']>>) => {
      parts.calls.push(call)
      await state.setValue(`try ${parts.calls.length}`, true)
      await state.queueMessage({ role: 'user', content: `try ${parts.calls.length}` })
      if (parts.calls.length <= failures) throw new Error(`Failure ${parts.calls.length}.`)
      return { status: 'success', result: 'done' }
    },
  }
  return parts
}

describe('a tool that asks for retries', () => {
  test('T9 keeps only what its last try did', () => {
    const parts = flaky(2)
    return withOffice(parts, async (office) => {
      const answer = await office.run(await office.call('work'))
      expect(answer).toMatchObject({ outcome: 'succeeded' })
      expect(answer).toHaveProperty('operations.length', 1)
      expect(await storedValue(office, 'try 1')).toBeUndefined()
      expect(await storedValue(office, 'try 3')).toBe(true)
      expect(parts.calls.map((call) => call.attempt)).toEqual([1, 2, 3])
      expect(new Set(parts.calls.map((call) => call.idempotencyKey)).size).toBe(1)
    })
  })

  test('gives up with the words of the last throw', () => {
    const parts = flaky(9)
    return withOffice(parts, async (office) => {
      expect(await office.run(await office.call('work'))).toMatchObject({ outcome: 'failed' })
      expect((await lastResult(office))?.content).toBe('Error: Failure 3.')
      expect(await storedValue(office, 'try 3')).toBe(true)
      expect(await storedValue(office, 'try 2')).toBeUndefined()
    })
  })

  test('is not asked again for an error that it returned', () => {
    let runs = 0
    const work = () => ({ status: 'error', error: `No ${(runs += 1)}.` })
    return withOffice({ work, retry: QUICK }, async (office) => {
      await office.run(await office.call('work'))
      expect((await lastResult(office))?.content).toBe('Error: No 1.')
    })
  })

  test('is stopped between two tries', () => {
    const parts = flaky(9, { maximumAttempts: 3, initialInterval: 60_000 })
    return withOffice(parts, async (office) => {
      const environment = attempt()
      const input = await office.call('work')
      const running = environment.run(
        (given: ExecuteToolInput) => executeTool(office.dependencies, given),
        input,
      )
      await until('the first try', () => parts.calls.length === 1)
      environment.cancel()
      expect(await running).toMatchObject({ outcome: 'interrupted' })
      expect(parts.calls).toHaveLength(1)
    })
  })
})
