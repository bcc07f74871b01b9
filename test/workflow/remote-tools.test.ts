import { Context } from '@temporalio/activity'
import { expect, test } from 'vitest'
import type { ClaimedCall, RemoteCalls, ThreadHandle } from '../../src/client/index.js'
import type { ToolResult } from '../../src/index.js'
import type { RemoteCallInput } from '../../src/protocol/activities.js'
import { ThreadError } from '../../src/protocol/errors.js'
import { activityNames } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { remoteDesk } from '../support/remote-desk.js'
import { toolResults } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'
import { until } from '../support/until.js'
import { createVoice } from '../support/voice.js'

type Work = (call: ClaimedCall, input: RemoteCallInput) => Promise<ToolResult | undefined>

/** Of a worker that ends its activity without having claimed anything. */
const UNCLAIMED: Work = async () => undefined
const taskQueue = 'remote-tools'
const voice = createVoice()
const works = new Map<string, Work>()
let calls: RemoteCalls | undefined

/** Somebody else's activity: it claims its call and answers it, or does not. */
async function work(input: RemoteCallInput): Promise<string> {
  const { threadId, callId } = input
  const beat = setInterval(() => Context.current().heartbeat(), 100)
  const claimId = Context.current().info.base64TaskToken
  try {
    if (works.get(threadId) === UNCLAIMED) return 'nobody reads this'
    const call = await calls?.claim({ threadId, callId, claimId, taskQueues: [taskQueue] })
    const result = call === undefined ? undefined : await works.get(threadId)?.(call, input)
    if (call !== undefined && result !== undefined)
      await calls?.answer({ threadId, callId, token: call.token }, result)
    return 'nobody reads this'
  } catch (error) {
    // As every worker should: somebody else has it, or it is over.
    if (ThreadError.isInstance(error)) return 'nobody reads this either'
    throw error
  } finally {
    clearInterval(beat)
  }
}

const options = {
  registry: remoteDesk(taskQueue),
  models: { chat: voice.model },
  worker: { taskQueue, activities: { rework: work, fail: work, hold: work } },
}

threeModes(options, (modes) => {
  let made = 0

  async function start(name: string, behaviour: Work, args: object): Promise<ThreadHandle> {
    const id = `remote-${(made += 1)}-${modes.mode.replaceAll(' ', '-')}`
    const { threads } = modes.env
    calls = threads.remoteCalls
    works.set(id, behaviour)
    voice.says({ toolCalls: [{ name, args }] }, { text: marked('Done') })
    return threads.create({ agent: 'clerk', id, message: marked('Please') })
  }

  modes.ofActivities('KP-03.0 a remote call is sent, claimed, answered and completed', async () => {
    const keys: string[] = []
    const thread = await start(
      'hold_once',
      async (call, input) => {
        keys.push(call.idempotencyKey, input.idempotencyKey)
        return { status: 'success', result: marked(JSON.stringify(call.arguments)) }
      },
      { task: 'work' },
    )
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', steps: 2 })
    expect(await toolResults(thread)).toMatchObject([
      { tool_status: 'success', content: marked('{"task":"work"}') },
    ])
    expect(keys).toEqual([`${thread.threadId}:call_1_1_0`, `${thread.threadId}:call_1_1_0`])
    expect(activityNames(await modes.runs(thread.threadId))).toEqual([
      ...['thread.callModel', 'thread.executeTool', 'hold', 'thread.completeCall', 'thread.callModel'],
    ])
  })

  test.each([
    ['denied', false, 0, { outcome: 'denied' }, { state: 'not_applicable', reason: 'not_begun' }],
    ['approved', true, 1, { outcome: 'succeeded' }, { state: 'unavailable', reason: 'remote_worker' }],
  ] as const)(
    'PL-LC.2 a remote call that is %s: what is denied has no activity of the tool',
    async (...given) => {
      const [, approved, times, ended, sandbox] = given
      const worked: Work = async () => ({ status: 'success', result: marked('worked') })
      const thread = await start('guarded', worked, { task: marked('work') })
      await thread.waitUntilIdle()
      const [request] = (await thread.snapshot()).pending
      await thread.respond(request?.id ?? '', { approved, by: 'ben' })
      await thread.waitUntilIdle()
      const activities = activityNames(await modes.runs(thread.threadId))
      expect(activities.filter((name) => name === 'hold')).toHaveLength(times)
      expect(await thread.decisions()).toMatchObject([
        { ...ended, action: { runtimeOwner: 'remote', arguments: { task: marked('work') } }, sandbox },
      ])
    },
  )

  test('an activity that ends without a result leaves it unknown', async () => {
    const thread = await start('hold_once', async () => undefined, { task: marked('work') })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', steps: 2 })
    const [result] = await toolResults(thread)
    expect(result?.content).toContain('The outcome of this call is unknown')
  })

  test('bad arguments are an error result before anything is sent', async () => {
    let asked = 0
    const thread = await start('hold_once', async () => void (asked += 1), { job: marked('work') })
    await thread.waitUntilIdle()
    expect(await toolResults(thread)).toMatchObject([{ tool_status: 'error' }])
    expect(asked).toBe(0)
    expect(activityNames(await modes.runs(thread.threadId))).not.toContain('hold')
  })

  test('an activity that fails is tried again, and its call claimed once', async () => {
    let attempts = 0
    const fail = async (): Promise<undefined> => {
      attempts += 1
      throw new Error('It fell over.')
    }
    const thread = await start('hold_once', fail, { task: marked('work') })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle' })
    expect((await toolResults(thread))[0]?.content).toContain('unknown')
    expect(attempts).toBe(1)
  })

  test('an idempotent call is claimed again with the same key', async () => {
    const attempts: [number, string][] = []
    const again: Work = async (call) => {
      attempts.push([call.attempt, call.idempotencyKey])
      if (call.attempt < 3) throw new Error('It fell over.')
      return { status: 'success', result: marked('third time') }
    }
    const thread = await start('hold_again', again, { task: marked('work') })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle' })
    expect(await toolResults(thread)).toMatchObject([{ tool_status: 'success' }])
    const key = `${thread.threadId}:call_1_1_0`
    expect(attempts).toEqual([
      [1, key],
      [2, key],
      [3, key],
    ])
  })

  test('a stop cuts the activity, and what it says then is refused', async () => {
    const tokens: string[] = []
    const hold: Work = async ({ token }) => {
      tokens.push(token)
      await Context.current().cancelled
      return undefined
    }
    const thread = await start('hold_once', hold, { task: marked('work') })
    await until('the call to be claimed', () => tokens.length > 0)
    await thread.stop()
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'stopped' })
    expect((await toolResults(thread))[0]?.content).toContain('interrupted')
    const held = { threadId: thread.threadId, callId: 'call_1_1_0', token: tokens[0] ?? '' }
    await expect(calls?.answer(held, { status: 'success' })).rejects.toMatchObject({ problem: 'ended' })
  })

  test('a call that nobody claimed has not happened, and the model is told so', async () => {
    const thread = await start('hold_once', UNCLAIMED, { task: marked('work') })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', steps: 2 })
    expect((await toolResults(thread))[0]?.content).toContain('so nothing has happened')
  })

  test('a terminate cuts a call that nobody can take', async () => {
    const thread = await start('nobody', UNCLAIMED, { task: marked('work') })
    const queue = `${taskQueue}-nobody`
    await until('the call to wait', async () => (await thread.snapshot()).run?.taskQueue === queue)
    await thread.terminate()
    await until('a result', async () => (await toolResults(thread)).length > 0)
    expect((await toolResults(thread))[0]?.content).toContain('cancelled')
  })
})
