import { expect, test } from 'vitest'

import { defineHook } from '../../src/definitions/hook.js'
import type { HookPoints } from '../../src/definitions/hook.js'
import { findRemoteCall } from '../../src/store/calls/remote-calls.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import type { Store } from '../../src/store/store.js'
import { failureOf, runTool, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import type { DeskParts } from './desk-registry.js'
import { success } from './tool-outcomes.js'

const changing = (execute: HookPoints['before_tool_call']) =>
  defineHook({ hook: 'before_tool_call', id: 'changes', execute })

const rowOf = async (desk: ActivityDesk, callId: string) =>
  (await desk.store.read((db) => findToolCall(db, 't', callId)))?.arguments

test('T5 a secret that a hook writes into arguments is redacted before the tool and the store have them', () => {
  const executed: unknown[] = []
  const work: DeskParts['work'] = (_state, args) => {
    executed.push(args)
    return success('done')
  }
  const hook = changing(async (state) => ({ arguments: { task: `with ${await state.env('API_KEY')}` } }))
  return withDesk({ work, hooks: [hook] }, async (desk) => {
    const input = await desk.call('work', { task: 'mine' })
    await desk.run(input, { ...desk.dependencies, env: { API_KEY: 'nightingale' } })
    const kept = JSON.stringify([executed, await rowOf(desk, input.callId), await desk.transcript()])
    expect(kept).toContain('with [secret API_KEY]')
    expect(kept).not.toContain('nightingale')
  })
})

test('a repeated attempt runs with the arguments with which the call began, and asks no hook again', () => {
  let asked = 0
  const hook = changing(() => ({ arguments: { task: `number ${(asked += 1)}` } }))
  return withDesk({ remote: true, hooks: [hook] }, async (desk) => {
    const input = await desk.call('work', { task: 'mine' })
    // The call has begun, and its attempt dies before it is sent to the other worker.
    let writes = 0
    const store: Store = {
      ...desk.store,
      write: (work) =>
        (writes += 1) === 2 ? Promise.reject(new Error('The attempt dies.')) : desk.store.write(work),
    }
    await failureOf(runTool({ ...desk.dependencies, store }, input))
    expect(await desk.run(input)).toMatchObject({ type: 'remote' })
    const key = { threadId: 't', callId: input.callId }
    const sent = await desk.store.read((db) => findRemoteCall(db, key))
    expect([asked, sent?.args]).toEqual([1, { task: 'number 1' }])
    expect(await rowOf(desk, input.callId)).toBe('{"task":"number 1"}')
  })
})

test('the arguments of a call in place are changed too, and those of a prompt in place stay as they are', () => {
  const executed: unknown[] = []
  const results: unknown[] = []
  const hook = changing((_state, { name, messageId }) => {
    if (name === 'again') return null
    expect(messageId).toBeNull()
    return { arguments: { task: 'changed', text: 'changed' } }
  })
  const work: DeskParts['work'] = async (state, args, { id }) => {
    executed.push(args)
    if (id === 'call_1_1_0')
      results.push(
        await state.invokeTool('work', { task: 'mine' }),
        await state.invokeTool('digest', { text: 'mine' }),
      )
    return success('done')
  }
  return withDesk({ work, hooks: [hook] }, async (desk) => {
    expect(await desk.run(await desk.call('again'))).toMatchObject({ outcome: 'succeeded' })
    expect(executed).toEqual([{}, { task: 'changed' }])
    expect(results).toMatchObject([{ status: 'success' }, { status: 'error', error_code: 'denied' }])
    expect(await desk.told('hook.completed')).toMatchObject([
      { decision: 'none' },
      { decision: 'change', updated: ['arguments:call_1_1_0'] },
    ])
    expect(await desk.told('hook.failed')).toMatchObject([{ code: 'invalid_answer', fails: 'closed' }])
  })
})

test('without a change a call has the record and the row that it had before', () =>
  withDesk({ work: () => success('done'), hooks: [changing(() => null)] }, async (desk) => {
    const input = await desk.call('work', { task: 'mine' })
    await desk.run(input)
    const row = await desk.store.read((db) => findToolCall(db, 't', input.callId))
    expect(row).toMatchObject({ arguments: '{"task":"mine"}', decision: { decision: 'allowed' } })
    expect(row?.decision).not.toHaveProperty('changedBy')
  }))
