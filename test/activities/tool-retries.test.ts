import { describe, expect, test } from 'vitest'
import { executeTool } from '../../src/activities/tool/execute-tool.js'
import type { ToolCall } from '../../src/index.js'
import type { ExecuteToolInput } from '../../src/protocol/activities.js'
import { until } from '../support/until.js'
import { attempt, withDesk } from './activity-desk.js'
import type { DeskParts } from './desk-registry.js'
import { lastResult, storedValue } from './tool-outcomes.js'

const QUICK = { maximumAttempts: 3, initialInterval: 1 }

/** A tool that throws as often as it is told to. */
function flaky(failures: number, retry: DeskParts['retry'] = QUICK): DeskParts & { calls: ToolCall[] } {
  const parts = {
    retry,
    calls: [] as ToolCall[],
    work: async (...[state, , call]: Parameters<NonNullable<DeskParts['work']>>) => {
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
    return withDesk(parts, async (desk) => {
      const answer = await desk.run(await desk.call('work'))
      expect(answer).toMatchObject({ outcome: 'succeeded' })
      expect(answer).toHaveProperty('operations.length', 1)
      expect(await storedValue(desk, 'try 1')).toBeUndefined()
      expect(await storedValue(desk, 'try 3')).toBe(true)
      expect(parts.calls.map((call) => call.attempt)).toEqual([1, 2, 3])
      expect(new Set(parts.calls.map((call) => call.idempotencyKey)).size).toBe(1)
    })
  })

  test('gives up with the words of the last throw', () => {
    const parts = flaky(9)
    return withDesk(parts, async (desk) => {
      expect(await desk.run(await desk.call('work'))).toMatchObject({ outcome: 'failed' })
      expect((await lastResult(desk))?.content).toBe('Error: Failure 3.')
      expect(await storedValue(desk, 'try 3')).toBe(true)
      expect(await storedValue(desk, 'try 2')).toBeUndefined()
    })
  })

  test('is not asked again for an error that it returned', () => {
    let runs = 0
    const work = () => ({ status: 'error', error: `No ${(runs += 1)}.` })
    return withDesk({ work, retry: QUICK }, async (desk) => {
      await desk.run(await desk.call('work'))
      expect((await lastResult(desk))?.content).toBe('Error: No 1.')
    })
  })

  test('is stopped between two tries', () => {
    const parts = flaky(9, { maximumAttempts: 3, initialInterval: 60_000 })
    return withDesk(parts, async (desk) => {
      const environment = attempt()
      const input = await desk.call('work')
      const running = environment.run(
        (given: ExecuteToolInput) => executeTool(desk.dependencies, given),
        input,
      )
      await until('the first try', () => parts.calls.length === 1)
      environment.cancel()
      expect(await running).toMatchObject({ outcome: 'interrupted' })
      expect(parts.calls).toHaveLength(1)
    })
  })
})
