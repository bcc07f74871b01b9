import { setImmediate } from 'node:timers/promises'
import { ActivityCancellationDetails } from '@temporalio/common'
import { describe, expect, test } from 'vitest'
import type { ToolCall, ToolResult } from '../../src/index.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { listErrors } from '../../src/store/errors.js'
import { createGate } from '../support/gate.js'
import { until } from '../support/until.js'
import {
  AFTER_A_MINUTE,
  attempt,
  failingStore,
  failureOf,
  loggingAttempt,
  runTool,
  withDesk,
} from './activity-desk.js'
import type { DeskParts } from './desk-registry.js'
import { lastResult, storedValue, success } from './tool-outcomes.js'

describe('a call', () => {
  test('SA-R-01.2 the result is stored with what the call did', () =>
    withDesk(
      {
        work: async (state, args) => {
          await state.setValue('seen', args['task'] as string)
          await state.queueMessage({ role: 'user', content: 'more' })
          return success('done')
        },
      },
      async (desk) => {
        const input = await desk.call('work')
        const answer = await desk.run(input)
        expect(answer).toMatchObject({
          type: 'result',
          outcome: 'succeeded',
          operations: [{ kind: 'queue_message', role: 'user' }],
        })
        expect(await lastResult(desk)).toMatchObject({
          content: 'done',
          tool_status: 'success',
          name: 'work',
          tool_call_id: input.callId,
        })
        expect(await storedValue(desk, 'seen')).toBe('none')
        expect((await desk.events()).slice(-4).map(({ type }) => type)).toEqual([
          'step.phase',
          'tool.started',
          'step.phase',
          'tool.result',
        ])
      },
    ))

  test('T5 the answer to the workflow holds no words', () =>
    withDesk({ work: () => success('secret words') }, async (desk) => {
      const answer = await desk.run(await desk.call('work', { task: 'secret' }))
      expect(answer).toEqual({ type: 'result', outcome: 'succeeded' })
      expect(JSON.stringify(await desk.events())).not.toContain('secret')
    }))

  test('E3 the stack of a tool that throws is in log and store', () => {
    const work = (): never => {
      throw new TypeError('Nothing has a "length".')
    }
    return withDesk({ work }, async (desk) => {
      const input = await desk.call('work')
      const { environment, lines } = loggingAttempt()
      const answer = await runTool(desk.dependencies, input, environment)
      const errorId = `t:${input.callId}`
      const stack = expect.stringMatching(/TypeError: Nothing has[^]+at .*execute-tool\.test/) as unknown
      const reason = 'Nothing has a "length".'
      expect(lines).toMatchObject([{ message: 'A tool failed.', tool: 'work', errorId, reason, stack }])
      expect((await desk.events()).at(-1)).toMatchObject({ type: 'tool.result', payload: { errorId } })
      const errors = await desk.store.read((db) => listErrors(db, { threadId: 't', limit: 9 }))
      expect(errors).toMatchObject([{ id: errorId, type: 'tool.threw', message: reason, stack }])
      expect(JSON.stringify(answer)).not.toContain('length')
    })
  })

  test('a tool may ask for the end of its thread', () =>
    withDesk({ work: async (state) => (await state.terminate(), success('bye')) }, async (desk) => {
      expect(await desk.run(await desk.call('work'))).toMatchObject({
        operations: [{ kind: 'terminate' }],
      })
    }))

  test.each<readonly [string, string, unknown, string]>([
    ['broken JSON', 'work', '{"task":', 'broken JSON'],
    ['arguments that fail the schema', 'work', { task: 7 }, 'task: '],
    ['a list of arguments', 'work', [1], 'got an array'],
    ['a name that nobody has', 'nothing', {}, 'There is no tool "nothing". The tools are: work'],
    ['a name of every object', 'constructor', {}, 'There is no tool "constructor"'],
    ['an empty answer', 'invalid_assistant_response', {}, 'Your last answer was empty'],
  ])('SA-R-05.2b %s is an error result', (_what, name, args, words) =>
    withDesk({}, async (desk) => {
      const answer = await desk.run(await desk.call(name, args))
      expect(answer).toMatchObject({ type: 'result', outcome: 'failed' })
      const row = await lastResult(desk)
      expect(row?.tool_status).toBe('error')
      expect(row?.content).toContain(words)
    }),
  )

  test('a terminated thread runs no tool', () =>
    withDesk({ work: () => success('done') }, async (desk) => {
      const input = await desk.call('work')
      await desk.store.write((tx) => tx.updateTable('threads').set({ terminate_requested_at: 1 }).execute())
      expect(await desk.run(input)).toEqual({ type: 'terminated' })
    }))

  test('a tool that this worker lacks is waited for', () =>
    withDesk({}, async (desk) => {
      const input = await desk.call('work')
      const lacking = {
        ...desk.dependencies,
        registry: { ...desk.dependencies.registry, tool: () => undefined },
      }
      expect(await failureOf(desk.run(input, lacking))).toMatchObject({
        type: 'Definition.Missing',
        nonRetryable: false,
      })
      const answer = await runTool(lacking, input, attempt(AFTER_A_MINUTE))
      expect(answer).toMatchObject({ outcome: 'failed' })
      expect((await lastResult(desk))?.content).toContain('is not available at the moment')
    }))
})

describe('T4 another attempt', () => {
  test('finds the outcome of the first', () => {
    let runs = 0
    return withDesk({ work: () => success(`run ${(runs += 1)}`) }, async (desk) => {
      const input = await desk.call('work')
      const first = await desk.run(input)
      expect(await desk.run(input)).toEqual(first)
      expect(runs).toBe(1)
    })
  })

  /** A tool whose first run hangs until the test lets it go on. */
  function hanging(): DeskParts & { readonly calls: ToolCall[]; open(): void } {
    const gate = createGate()
    const calls: ToolCall[] = []
    return {
      calls,
      open: gate.open,
      work: async (state, _args, call) => {
        calls.push(call)
        await state.setValue('by', call.attempt)
        if (call.attempt === 1) await gate.passed
        return success(`attempt ${call.attempt}`)
      },
    }
  }

  test('finds it started and calls the outcome unknown', () => {
    const tool = hanging()
    return withDesk(tool, async (desk) => {
      const input = await desk.call('work')
      const late = desk.run(input)
      await until('the first run', () => tool.calls.length === 1)
      const second = await desk.run(input)
      expect(second).toEqual({ type: 'result', outcome: 'unknown' })
      expect((await lastResult(desk))?.content).toContain('outcome of this call is unknown')
      tool.open()
      expect(await late).toEqual(second)
      expect(tool.calls).toHaveLength(1)
      // T9: what the late attempt did goes with its result.
      expect(await storedValue(desk, 'by')).toBeUndefined()
      expect((await desk.transcript()).filter(({ role }) => role === 'tool')).toHaveLength(1)
    })
  })

  test('runs an idempotent tool again under the same key', () => {
    const tool = hanging()
    return withDesk(tool, async (desk) => {
      const input = await desk.call('again')
      const late = desk.run(input)
      await until('the first run', () => tool.calls.length === 1)
      expect(await desk.run(input)).toMatchObject({ outcome: 'succeeded' })
      tool.open()
      expect(await late).toMatchObject({ outcome: 'succeeded' })
      expect(tool.calls.map(({ attempt: number }) => number)).toEqual([1, 2])
      expect(new Set(tool.calls.map(({ idempotencyKey }) => idempotencyKey))).toEqual(
        new Set([`t:${input.callId}`]),
      )
      expect((await lastResult(desk))?.content).toBe('attempt 2')
      expect(await storedValue(desk, 'by')).toBe(2)
    })
  })

  test.each(['work', 'again'])('T4 a call of %s that was ended from outside is unknown', (name) => {
    const tool = hanging()
    return withDesk(tool, async (desk) => {
      const input = await desk.call(name)
      const late = desk.run(input)
      await until('the first run', () => tool.calls.length === 1)
      const second = await desk.run({ ...input, failed: true })
      expect(second).toEqual({ type: 'result', outcome: 'unknown' })
      expect((await lastResult(desk))?.content).toContain('it was ended from outside before it answered')
      tool.open()
      expect(await late).toEqual(second)
      expect(tool.calls).toHaveLength(1)
    })
  })

  test('T4 a call that was ended from outside has the result of its row', () =>
    withDesk({ work: () => success('done') }, async (desk) => {
      const input = await desk.call('work')
      const answer = await desk.run(input)
      expect(await desk.run({ ...input, failed: true })).toEqual(answer)
      expect((await lastResult(desk))?.content).toBe('done')
    }))

  test.each(['work', 'pay'])('a call of %s that was ended before it began has done nothing', (name) => {
    let runs = 0
    return withDesk({ work: () => success(`run ${(runs += 1)}`) }, async (desk) => {
      const answer = await desk.run({ ...(await desk.call(name, { amount: 70 })), failed: true })
      expect(answer).toMatchObject({ type: 'result', outcome: 'failed' })
      expect((await lastResult(desk))?.content).toContain('before it began, so nothing has happened')
      expect(runs).toBe(0)
    })
  })

  test('a store that fails at the commit runs no tool twice', () => {
    let runs = 0
    return withDesk({ work: () => success(`run ${(runs += 1)}`) }, async (desk) => {
      const input = await desk.call('work')
      const store = failingStore(desk.store, (write) => write > 1 && write < 4)
      expect(await desk.run(input, { ...desk.dependencies, store })).toMatchObject({ outcome: 'succeeded' })
      expect([runs, store.writes]).toEqual([1, 4])
    })
  })

  test('a store that fails at the start runs no tool', () => {
    let runs = 0
    return withDesk({ work: () => success(`run ${(runs += 1)}`) }, async (desk) => {
      const input = await desk.call('work')
      const store = failingStore(desk.store, () => true)
      expect((await failureOf(desk.run(input, { ...desk.dependencies, store }))).message).toBe(
        'The disk is full.',
      )
      expect(runs).toBe(0)
      expect(await desk.run(input)).toMatchObject({ outcome: 'succeeded' })
    })
  })
})

describe('T9 what a call did', () => {
  test('a throw keeps it', () =>
    withDesk(
      {
        work: async (state) => {
          await state.setValue('kept', true)
          throw new Error('It went wrong.')
        },
      },
      async (desk) => {
        const answer = await desk.run(await desk.call('work'))
        expect(answer).toMatchObject({ outcome: 'failed', errorDigest: expect.any(String) as unknown })
        expect(await lastResult(desk)).toMatchObject({
          content: 'Error: It went wrong.',
          tool_status: 'error',
        })
        expect(await storedValue(desk, 'kept')).toBe(true)
      },
    ))

  test('a timeout keeps nothing, and its signal aborts', () => {
    let aborted = false
    return withDesk(
      {
        work: async (state) => {
          await state.setValue('kept', true)
          state.execution?.abortSignal.addEventListener('abort', () => (aborted = true))
          return new Promise(() => undefined)
        },
      },
      async (desk) => {
        const answer = await desk.run(await desk.call('slow'))
        expect(answer).toMatchObject({ outcome: 'failed' })
        expect((await lastResult(desk))?.content).toContain('did not answer within 0.05 seconds')
        expect(await storedValue(desk, 'kept')).toBeUndefined()
        expect(aborted).toBe(true)
      },
    )
  })

  /** A tool that runs until it is told to stop. */
  function endless(): DeskParts & { begun: boolean; failedAfter: Promise<unknown> } {
    let after: (error: unknown) => void = () => undefined
    const tool = {
      begun: false,
      failedAfter: new Promise((resolve) => (after = resolve)),
      work: async (state: Parameters<NonNullable<DeskParts['work']>>[0]): Promise<ToolResult> => {
        await state.setValue('kept', true)
        tool.begun = true
        await new Promise((resolve) => state.execution?.abortSignal.addEventListener('abort', resolve))
        // The call has ended by the next turn of the event loop.
        await setImmediate()
        await state.setValue('late', true).catch(after)
        return success('too late')
      },
    }
    return tool
  }

  test('PL-CX.12 a stop keeps nothing, and its result says interrupted', () => {
    const tool = endless()
    return withDesk(tool, async (desk) => {
      const environment = attempt()
      const running = runTool(desk.dependencies, await desk.call('work'), environment)
      await until('the tool', () => tool.begun)
      environment.cancel()
      expect(await running).toEqual({ type: 'result', outcome: 'interrupted' })
      expect(String(await tool.failedAfter)).toContain('has ended')
      expect(await storedValue(desk, 'kept')).toBeUndefined()
    })
  })

  test('SA-R-10.2 a terminate cancels the call', () => {
    const tool = endless()
    return withDesk(tool, async (desk) => {
      const environment = attempt()
      const running = runTool(desk.dependencies, await desk.call('work'), environment)
      await until('the tool', () => tool.begun)
      await desk.store.write((tx) => tx.updateTable('threads').set({ terminate_requested_at: 1 }).execute())
      environment.cancel()
      expect(await running).toEqual({ type: 'result', outcome: 'cancelled' })
    })
  })

  test('a worker that shuts down leaves the call without an outcome', () => {
    const tool = endless()
    return withDesk(tool, async (desk) => {
      const environment = attempt()
      const input = await desk.call('work')
      const failed = failureOf(runTool(desk.dependencies, input, environment))
      await until('the tool', () => tool.begun)
      environment.cancel('WORKER_SHUTDOWN', new ActivityCancellationDetails({ workerShutdown: true }))
      expect(await failed).toMatchObject({ type: 'Worker.Shutdown', nonRetryable: false })
      expect(String(await tool.failedAfter)).toContain('has ended')
      expect(await desk.store.read((db) => findToolCall(db, 't', input.callId))).toMatchObject({
        status: 'open',
      })
      expect(await desk.run(input)).toMatchObject({ outcome: 'unknown' })
    })
  })
})
