import { describe, expect, test } from 'vitest'
import { executeTool } from '../../src/activities/tool/execute-tool.js'
import type { ThreadState } from '../../src/index.js'
import type { ExecuteToolInput, ResultAnswer } from '../../src/protocol/activities.js'
import { findError } from '../../src/store/errors.js'
import { statFile } from '../../src/store/files/files.js'
import { findMessage } from '../../src/store/messages/transcript.js'
import { scriptedModel } from '../../src/testing/index.js'
import { activityInterceptor } from '../../src/worker/activity-interceptor.js'
import { attempt, failureOf, modelInput, PLAIN_CALL, runModel, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { lastResult } from './tool-outcomes.js'

const FILE = { name: 'chart.png', mimeType: 'image/png', data: 'aGk=' }

describe('a result of parts', () => {
  test('its texts win over its result, its files are attached', () => {
    const content = [
      { type: 'text', text: 'First.' },
      { type: 'file', file: FILE },
      { type: 'text', text: 'Second.' },
    ]
    const work = () => ({ status: 'success', result: 'not this', content })
    return withDesk({ work }, async (desk) => {
      expect(await desk.run(await desk.call('work'))).toMatchObject({ outcome: 'succeeded' })
      expect(await lastResult(desk)).toMatchObject({
        content: 'First.\nSecond.',
        attachments: [{ path: '/attachments/chart.png', mimeType: 'image/png' }],
      })
    })
  })

  test('files alone leave its result', () => {
    const content = [{ type: 'file', file: FILE }]
    const work = () => ({ status: 'success', result: 'A chart.', content })
    return withDesk({ work }, async (desk) => {
      await desk.run(await desk.call('work'))
      expect((await lastResult(desk))?.content).toBe('A chart.')
    })
  })

  test.each([
    ['a text'],
    [[{ type: 'text', text: 7 }]],
    [[{ type: 'file' }]],
    [[{ type: 'video' }]],
    [[null]],
  ])('SA-R-05.2b %j is an error result', (content) =>
    withDesk({ work: () => ({ status: 'success', content }) }, async (desk) => {
      expect(await desk.run(await desk.call('work'))).toMatchObject({ outcome: 'failed' })
      expect((await lastResult(desk))?.content).toContain('"content" that is not a list')
    }),
  )
})

describe('attachments of a result', () => {
  test.each<readonly [string, unknown]>([
    ['of no base64', ''],
    ['of no bytes', new Uint8Array(0)],
  ])('K-13 a file %s is refused', (_what, data) =>
    withDesk({ work: () => ({ status: 'success', attachments: [{ ...FILE, data }] }) }, async (desk) => {
      expect(await desk.run(await desk.call('work'))).toMatchObject({ outcome: 'failed' })
      expect((await lastResult(desk))?.content).toContain('a file of 0 bytes')
      expect(await desk.store.read((db) => statFile(db, 't', '/attachments/chart.png'))).toBeNull()
    }),
  )

  test('K-13 an empty file of the thread is refused', () => {
    const work = async (state: ThreadState) => {
      await state.writeFile('/empty.txt', '', 'text/plain')
      return { status: 'success', attachments: [{ path: '/empty.txt' }] }
    }
    return withDesk({ work }, async (desk) => {
      expect(await desk.run(await desk.call('work'))).toMatchObject({ outcome: 'failed' })
      expect((await lastResult(desk))?.content).toContain('/empty.txt')
    })
  })

  test('K-15 are read back from the list, the row and the state', () => {
    const seen: unknown[] = []
    const work = async (state: ThreadState) => {
      const { messages } = await state.getMessages()
      seen.push(...messages.flatMap(({ attachments }) => attachments))
      return { status: 'success', attachments: [FILE] }
    }
    return withDesk({ work }, async (desk) => {
      const [first, second] = await desk.calls([{ name: 'work' }, { name: 'work' }])
      for (const call of [first, second]) if (call !== undefined) await desk.run(call)
      const listed = (await desk.transcript()).filter(({ role }) => role === 'tool')[0]
      const found = await desk.store.read((db) => findMessage(db, 't', listed?.id ?? ''))
      expect(listed?.attachments).toMatchObject([{ path: '/attachments/chart.png', size: 2 }])
      expect(found?.attachments).toEqual(listed?.attachments)
      expect(seen).toEqual(listed?.attachments)
    })
  })
})

describe('errors', () => {
  test('K-18 answers of nothing are errors that count as one', () =>
    withDesk({}, async (desk) => {
      const digests: unknown[] = []
      await desk.send('Please.')
      for (const step of [1, 2]) {
        const on = desk.with({ chat: scriptedModel([{ text: '' }]) })
        const input = modelInput({ step, asked: true, drain: [] })
        const drain = step === 1 ? [{ kind: 'message', id: 'm1' } as const] : []
        const answer = await runModel(on, { ...input, drain, trigger: step === 1 ? 'message' : null })
        if (answer.type !== 'answered') throw new Error(`Expected an answer, got ${answer.type}.`)
        const [made] = answer.calls
        const plan = answer.plan?.digest ?? ''
        const call = { ...input, ...PLAIN_CALL, plan, callId: made?.id ?? '', name: made?.name ?? '' }
        const result = await desk.run({ ...call, sideSteps: { a: step, b: 0 }, first: true, last: true })
        digests.push((result as ResultAnswer).errorDigest)
      }
      expect((await lastResult(desk))?.content).toContain('Your last answer was empty')
      expect(digests[0]).toEqual(expect.any(String))
      expect(digests[1]).toBe(digests[0])
    }))

  const digestsOf = async (desk: ActivityDesk, texts: number): Promise<readonly unknown[]> => {
    const made = await desk.calls(Array.from({ length: texts }, () => ({ name: 'work' })))
    const digests: unknown[] = []
    for (const call of made) digests.push(((await desk.run(call)) as ResultAnswer).errorDigest)
    return digests
  }

  test('K-19 errors that differ in paths and numbers are one', () => {
    let number = 0
    const work = () => {
      number += 1
      throw new Error(`Cannot read "/tmp/${number}/a.txt" at line ${number * 7}: no file /tmp/${number}.`)
    }
    return withDesk({ work }, async (desk) => {
      const digests = await digestsOf(desk, 8)
      expect(new Set(digests).size).toBe(1)
    })
  })

  test('errors of other words are others', () => {
    const words = ['No file.', 'No network.']
    const work = () => ({ status: 'error', error: words.shift() })
    return withDesk({ work }, async (desk) => {
      const digests = await digestsOf(desk, 2)
      expect(new Set(digests).size).toBe(2)
    })
  })

  test('K-24 an error before any message is kept, under the id that leaves', () =>
    withDesk({}, async (desk) => {
      const early = { ...modelInput(), ...PLAIN_CALL, callId: 'call_1_1_0', name: 'work', plan: 'none' }
      const input = { ...early, sideSteps: { a: 0, b: 0 }, first: true, last: true }
      const worker = attempt({ activityType: 'thread.executeTool' }, [activityInterceptor(desk)])
      const running = worker.run((given: ExecuteToolInput) => executeTool(desk.dependencies, given), input)
      const id = /\(error (.+)\)/.exec((await failureOf(running)).message)?.[1] ?? ''
      expect(await desk.transcript()).toEqual([])
      expect(await desk.store.read((db) => findError(db, id))).toMatchObject({
        threadId: 't',
        message: 'Expected a row of the call call_1_1_0, found none.',
      })
    }))
})

test('T10 a queued tool that nobody stored is skipped', () =>
  withDesk({}, async (desk) => {
    const input = { ...(await desk.call('work')), callId: 'settle_1x', queued: true }
    expect(await desk.run(input)).toEqual({ type: 'result', outcome: 'failed' })
    expect(await desk.run(input)).toEqual({ type: 'result', outcome: 'failed' })
    const warned = (await desk.events()).filter(({ type }) => type === 'runtime.warning')
    expect(warned).toHaveLength(1)
  }))
