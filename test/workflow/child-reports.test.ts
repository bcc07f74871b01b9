import { randomUUID } from 'node:crypto'

import { expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import { createGate } from '../support/gate.js'
import { marked } from '../support/marker.js'
import { payload, signalRaw, startRaw } from '../support/raw-messages.js'
import { threeRuns } from '../support/three-runs.js'
import { until } from '../support/until.js'

const close = { toolCalls: [{ name: 'close_case', args: { summary: marked('Settled') } }] }

threeRuns((desk) => {
  /** A resumable child that the shell starts for this parent. */
  async function childOf(parentId: string): Promise<ThreadHandle> {
    const threadId = `child-${randomUUID()}`
    desk.script(threadId, { chat: [close, close] })
    desk.allowInline(threadId, 'start')
    const parent = { threadId: parentId, callId: 'call_1_1_0' }
    const limits = desk.mode.startsWith('continued') ? { historyEvents: 0 } : {}
    const input = { agent: 'closer', parent, limits, message: { content: marked('Work') } }
    const { threads, taskQueue } = desk.env
    await startRaw(threads.temporal, {
      threadId,
      taskQueue,
      input: payload('json/plain', JSON.stringify(input)),
    })
    return threads.get(threadId)
  }

  test('T7 a resumable child reports each of its sessions, and stays', async () => {
    const { thread } = await desk.start({ message: null })
    const child = await childOf(thread.threadId)
    await until('a report', async () => (await announced(child)).length === 1)
    await child.waitUntilIdle()
    await child.send(marked('Once more'))
    await until('another report', async () => (await announced(child)).length === 2)
    const report = { reference: child.threadId, invocations: [] }
    expect(await announced(child)).toMatchObject([
      { ...report, report: 1 },
      { ...report, report: 2 },
    ])
    expect((await child.snapshot()).status).toBe('idle')
    // Its parent knows of no such child: nothing waits, and nothing happens.
    expect(await thread.snapshot()).toMatchObject({ status: 'idle', queue: [] })
  })

  test('T7 a child whose parent an operator killed closes by itself', async () => {
    const { thread } = await desk.start({ message: null })
    await desk.env.threads.temporal.workflow.getHandle(thread.threadId).terminate('Killed')
    const child = await childOf(thread.threadId)
    const result: unknown = await child.workflow.result()
    expect(result).toEqual({ threadId: child.threadId, outcome: 'terminated', reason: 'terminated' })
    const { status, lastRun } = await child.snapshot()
    expect([status, lastRun?.reason]).toEqual(['terminated', 'session_stop'])
    // What it had to say is in the store of its parent, for whoever opens that again.
    const events = await recorded(thread)
    expect(events.filter((type) => type === 'subagent.completed')).toHaveLength(1)
  })

  test('T7 a child of a parent that never was closes by itself', async () => {
    const child = await childOf(`nobody-${randomUUID()}`)
    expect(await child.workflow.result()).toMatchObject({ outcome: 'terminated' })
  })

  test('T8 an operation of another thread cuts the model off', async () => {
    const gate = createGate()
    const { thread, chat } = await desk.start({
      chat: async () => (await gate.passed, { text: marked('Late') }),
    })
    await until('the request', () => chat.requests.length === 1)
    await signalOperations(thread, { operations: [{ kind: 'hand_off', agent: 'boss' }] })
    await signalOperations(thread, { operations: [{ kind: 'terminate' }] })
    expect(await thread.workflow.result()).toMatchObject({ outcome: 'terminated' })
    gate.open()
    expect((await thread.snapshot()).status).toBe('terminated')
    expect((await recorded(thread)).filter((type) => type === 'runtime.warning')).toHaveLength(1)
  })

  /** What the histories of a child say that it sent. */
  async function announced(child: ThreadHandle): Promise<readonly unknown[]> {
    const runs = await desk.runs(child.threadId)
    return runs.flatMap(({ history }) =>
      (history.events ?? []).flatMap((event) => {
        const sent = event.signalExternalWorkflowExecutionInitiatedEventAttributes?.input?.payloads?.[0]
        return sent?.data == null ? [] : [JSON.parse(Buffer.from(sent.data).toString()) as unknown]
      }),
    )
  }

  async function signalOperations(thread: ThreadHandle, input: object): Promise<void> {
    await signalRaw(desk.env.threads.temporal, {
      threadId: thread.threadId,
      signal: 'operations',
      input: payload('json/plain', JSON.stringify(input)),
    })
  }
})

async function recorded(thread: ThreadHandle): Promise<readonly string[]> {
  const types: string[] = []
  for await (const { type } of thread.events({ follow: false })) types.push(type)
  return types
}
