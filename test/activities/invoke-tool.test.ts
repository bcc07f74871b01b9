import { describe, expect, test } from 'vitest'

import type { ToolResult } from '../../src/index.js'
import { sumThreadUsage } from '../../src/store/threads/thread-usage.js'
import { scriptedModel } from '../../src/testing/index.js'
import { createInPlaceLog } from '../../src/activities/tool/in-place-log.js'
import { listDecidedCalls } from '../../src/store/calls/tool-calls.js'
import { readShownMessages } from '../../src/store/messages/shown-messages.js'
import { withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import type { DeskParts } from './desk-registry.js'
import { lastResult, storedValue } from './tool-outcomes.js'

type Work = NonNullable<DeskParts['work']>

/** The tool `work` invokes another one; that one is `inner`. */
function invoking(name: string, args: Record<string, unknown>, inner: Work = () => ({ status: 'success' })) {
  const seen: ToolResult[] = []
  let depth = 0
  const work: Work = async (state, given, call) => {
    depth += 1
    if (depth > 1) return inner(state, given, call)
    seen.push(await state.invokeTool(name, args))
    return { status: 'success', result: 'outer' }
  }
  return { work, seen }
}

describe('a tool that invokes another', () => {
  test('T9 their writes are committed together', () => {
    const keys: string[] = []
    const { work, seen } = invoking('loose', { n: 2 }, async (state, args, call) => {
      keys.push(call.idempotencyKey)
      await state.setValue('inner', args['n'] as number)
      return { status: 'success', result: 'inner' }
    })
    return withDesk({ work }, async (desk) => {
      expect(await desk.run(await desk.call('work'))).toMatchObject({ outcome: 'succeeded' })
      expect(seen).toEqual([{ status: 'success', result: 'inner' }])
      expect(await storedValue(desk, 'inner')).toBe(2)
      expect((await desk.transcript()).filter(({ role }) => role === 'tool')).toHaveLength(1)
      expect(keys).toEqual(['t:call_1_1_0_i1'])
    })
  })

  test.each<readonly [string, string, Record<string, unknown>, string, string]>([
    ['a name that nobody has', 'nothing', {}, 'unknown_tool', 'There is no tool "nothing"'],
    ['arguments that do not fit', 'loose', { n: 'x' }, 'invalid_arguments', 'n: '],
    ['arguments that are no JSON', 'loose', { n: 7n }, 'invalid_arguments', 'JSON'],
    ['a tool that needs approval', 'pay', { amount: 1 }, 'approval_required', 'use queueTool'],
    ['an agent that takes over', 'expert', {}, 'not_in_place', 'use queueTool'],
    ['two who talk to each other', 'panel', {}, 'not_in_place', 'use queueTool'],
  ])('%s is an error result', (...[, name, args, code, words]) => {
    const { work, seen } = invoking(name, args)
    return withDesk({ work }, async (desk) => {
      expect(await desk.run(await desk.call('work'))).toMatchObject({ outcome: 'succeeded' })
      expect(seen).toMatchObject([{ status: 'error', error_code: code }])
      expect(seen[0]?.error).toContain(words)
    })
  })

  test.each<readonly [string, Work, string]>([
    [
      'throws',
      () => {
        throw new Error('It broke.')
      },
      'It broke.',
    ],
    ['answers what JSON lacks', () => 7n, 'something that is not a result'],
    ['is answered later', () => ({ status: 'pending' }), 'use queueTool'],
  ])('one that %s is an error result', (_what, inner, words) => {
    const { work, seen } = invoking('loose', { n: 1 }, inner)
    return withDesk({ work }, async (desk) => {
      await desk.run(await desk.call('work'))
      expect(seen).toMatchObject([{ status: 'error' }])
      expect(seen[0]?.error).toContain(words)
    })
  })

  test('a plain value is its result', () => {
    const { work, seen } = invoking('loose', { n: 1 }, () => ({ order: 'A-17' }))
    return withDesk({ work }, async (desk) => {
      await desk.run(await desk.call('work'))
      expect(seen).toEqual([{ status: 'success', result: { order: 'A-17' } }])
    })
  })

  test('a check that lets it pass needs nobody', () => {
    const { work, seen } = invoking('pay', { amount: 1 }, () => ({ status: 'success', result: 'paid' }))
    return withDesk({ work, needsApproval: () => false }, async (desk) => {
      await desk.run(await desk.call('work'))
      expect(seen).toEqual([{ status: 'success', result: 'paid' }])
    })
  })
})

describe('the row of each call in place', () => {
  const decided = async (desk: ActivityDesk) =>
    (await desk.store.read((db) => listDecidedCalls(db, { threadId: 't', limit: 10 }))).filter(
      ({ parent_call_id: parent }) => parent !== null,
    )

  test('has the decision about it, its arguments and its end, and is committed with its caller', () => {
    const work: Work = async (state, given, { id }) => {
      if (id !== 'call_1_1_0') return { status: 'error', error: 'No.', error_code: 'too_big' }
      await state.invokeTool('loose', { n: 2 })
      await state.invokeTool('pay', { amount: 1 })
      await state.invokeTool('nothing', {})
      return { status: 'success' }
    }
    return withDesk({ work }, async (desk) => {
      await desk.run(await desk.call('work'))
      const [failed, refused, ...more] = await decided(desk)
      const place = { parent_call_id: 'call_1_1_0', message_id: '', run: 1, step: 1 }
      expect(failed).toMatchObject({
        ...{ ...place, id: 'call_1_1_0_i1', name: 'loose', arguments: '{"n":2}', status: 'failed' },
        ...{ error_code: 'too_big', started_at: expect.any(Number), finished_at: expect.any(Number) },
        decision: { decision: 'allowed', source: 'default' },
      })
      expect(refused).toMatchObject({
        ...{ ...place, id: 'call_1_1_0_i2', name: 'pay', status: 'denied', error_code: 'approval_required' },
        ...{ started_at: null, decision: { decision: 'asked', source: 'tool' } },
      })
      // What there is not is not judged.
      expect(more).toEqual([])
    })
  })

  test('is there for each try of its caller, for the tools of a prompt, and in no transcript', () => {
    let tries = 0
    const chat = scriptedModel([{ toolCalls: [{ name: 'work', args: { task: 'dig' } }] }])
    const work: Work = async (state, _given, { id }) => {
      if (id !== 'call_1_1_0') return { status: 'success' }
      tries += 1
      await state.invokeTool('loose', { n: tries })
      await state.invokeTool('hidden', { topic: 'mines' })
      return { status: 'success' }
    }
    return withDesk({ work }, async (desk) => {
      await desk.run(await desk.call('work'), desk.with({ work, chat }))
      const rows = await decided(desk)
      expect(rows.map(({ id, name, status }) => [id, name, status])).toEqual([
        ['call_1_1_0_i1', 'loose', 'succeeded'],
        ['call_1_1_0_i2', 'hidden', 'succeeded'],
        ['call_1_1_0_i3', 'work', 'succeeded'],
      ])
      expect(rows[1]?.decision?.action).toMatchObject({ kind: 'prompt' })
      const shown = await desk.store.read((db) =>
        readShownMessages(db, { threadId: 't', before: undefined, limit: 10 }),
      )
      expect(shown.calls.map(({ id }) => id)).toEqual(['call_1_1_0'])
    })
  })

  test('of a try that failed keeps its number apart, and one that nobody ended is unknown', () => {
    const log = createInPlaceLog()
    const judged = { kind: 'tool', name: 'loose', traits: {}, given: {}, args: {} } as const
    const decision = { decision: 'allowed', source: 'default' } as const
    log.judge({ ...judged, id: 'c_i1', decision })
    log.end('c_i1', { status: 'success' })
    log.judge({ ...judged, id: 'c_i1', decision })
    expect(log.calls().map(({ id, ended }) => [id, ended.status])).toEqual([
      ['c_i1', 'succeeded'],
      ['c_i1_t2', 'unknown'],
    ])
  })
})

describe('a prompt in place', () => {
  test('SA-R-05.3b answers with its words and its tools, and is paid for', () => {
    const chat = scriptedModel([{ text: 'Found.', toolCalls: [{ name: 'work', args: { task: 'dig' } }] }])
    const { work, seen } = invoking('hidden', { topic: 'mines' }, () => ({
      status: 'success',
      result: 'gold',
    }))
    return withDesk({ work }, async (desk) => {
      const input = await desk.call('work')
      const answer = await desk.run(input, desk.with({ work, chat }))
      expect(seen[0]).toMatchObject({ status: 'success' })
      expect(seen[0]?.result).toContain('Found.')
      expect(seen[0]?.result).toContain('gold')
      expect(answer).toMatchObject({ usage: { inputTokens: expect.any(Number) as unknown } })
      const [request] = chat.requests
      expect(request).toMatchObject({ prompt: 'hidden', system: 'You are hidden at Acme.', threadId: 't' })
      expect(request?.messages.at(-1)).toMatchObject({ role: 'user', text: '{"topic":"mines"}' })
      const rows = (await desk.transcript()).filter(({ metadata }) => metadata === null)
      expect(rows.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
    })
  })

  test('is kept with its requests and their prices, also those that failed', () => {
    const refused = { error: { status: 400, message: 'No.' } }
    const chat = scriptedModel([{ text: 'Found.', usage: { inputTokens: 7, outputTokens: 1 } }, refused])
    const work: Work = async (state) => {
      await state.invokeTool('hidden', { topic: 'mines' })
      await state.invokeTool('hidden', { topic: 'caves' })
      return { status: 'success' }
    }
    return withDesk({ work }, async (desk) => {
      const prices = () => ({ inputPrice: 2, outputPrice: 3, cachedPrice: null })
      const input = await desk.call('work')
      const answer = await desk.run(input, { ...desk.with({ work, chat }), prices })
      expect(answer).toMatchObject({ usage: { inputTokens: 7, outputTokens: 1, cost: 17 } })
      expect(await desk.store.read((db) => sumThreadUsage(db, ['t']))).toMatchObject({
        // With the 10 tokens of the step that called the tool.
        ...{ requests: 3, failedRequests: 1, inputTokens: 17, models: [{ model: 'chat' }] },
      })
    })
  })

  test('P2 answers with the files that its model makes', () => {
    const chat = scriptedModel([{ files: [{ mediaType: 'image/png', data: 'iVBORw0KGgo=' }] }])
    const { work, seen } = invoking('hidden', { topic: 'mines' })
    return withDesk({ work }, async (desk) => {
      await desk.run(await desk.call('work'), desk.with({ work, chat }))
      expect(seen[0]).toMatchObject({
        status: 'success',
        result: 'The call succeeded. Its result is in the attached files.',
        attachments: [{ name: 'image.png', mimeType: 'image/png' }],
      })
    })
  })

  test('may not call what a person has to allow', () => {
    const chat = scriptedModel([{ toolCalls: [{ name: 'pay', args: { amount: 1 } }] }])
    const { work, seen } = invoking('hidden', { topic: 'mines' })
    return withDesk({ work }, async (desk) => {
      const input = await desk.call('work')
      await desk.run(input, desk.with({ work, chat }))
      expect(seen[0]).toMatchObject({ status: 'error' })
      expect(seen[0]?.error).toContain('needs the approval of a person')
    })
  })

  test('whose model is of another version of the AI SDK names it', () => {
    const { work, seen } = invoking('hidden', { topic: 'mines' })
    const chat = { ...scriptedModel([]), specificationVersion: 'v3' } as never
    return withDesk({ work }, async (desk) => {
      const input = await desk.call('work')
      await desk.run(input, desk.with({ work, chat }))
      expect(seen[0]?.error).toContain(
        'The model "chat" gave no answer because its provider is of another version',
      )
    })
  })

  test('whose model fails is an error result', () => {
    const { work, seen } = invoking('hidden', { topic: 'mines' })
    return withDesk({ work }, async (desk) => {
      const input = await desk.call('work')
      await desk.run(input, desk.with({ work, chat: scriptedModel([]) }))
      expect(seen[0]).toMatchObject({ status: 'error', error_code: 'model_failed' })
      expect((await lastResult(desk))?.content).toBe('outer')
    })
  })
})
