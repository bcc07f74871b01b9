import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { marked } from '../support/marker.js'
import { factTypes, toolResults, transcript } from '../support/thread-facts.js'
import { until } from '../support/until.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import { expectWholeLog } from './worker/whole-thread.js'

describe('SIGTERM with too little time', () => {
  let fixture: Fixture
  beforeAll(async () => {
    fixture = await createFixture({ graceTime: 200 })
  })
  afterAll(() => fixture.close())

  test('a model call cut by a deploy is no stop', async () => {
    const id = 'deploy-stream'
    const worker = await fixture.startWorker()
    const held = fixture.model.hold(id, 'middle')
    const thread = await fixture.create({ id, message: marked(`Hello #${id}`) })
    await held.arrived
    await worker.shutDown()
    expect(await worker.gone).toBe(0)
    const next = await fixture.startWorker()
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reason: 'stop_on_response' })
    expect(await transcript(thread)).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: marked(`Gladly, #${id}, and many words more.`), status: 'completed' },
    ])
    expect(fixture.model.requests(id)).toHaveLength(2)
    await expectWholeLog(thread)
    await next.kill()
  })

  test('a tool cut by a deploy is unknown, not interrupted', async () => {
    const id = 'deploy-tool'
    const worker = await fixture.startWorker()
    const thread = await fixture.create({ id, message: marked(`please book and hold #${id}`) })
    await until('a running tool', async () => (await fixture.effects(id)).length === 1)
    await worker.shutDown()
    const next = await fixture.startWorker()
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reason: 'stop_on_response' })
    expect(await toolResults(thread)).toMatchObject([{ tool_status: 'error', content: /is unknown/ }])
    expect(await fixture.effects(id)).toMatchObject([{ did: 'acted' }, { did: 'aborted' }])
    await next.kill()
  })
})

describe('SIGTERM with time enough', () => {
  let fixture: Fixture
  beforeAll(async () => {
    fixture = await createFixture()
  })
  afterAll(() => fixture.close())

  test('a running model call ends before its worker', async () => {
    const id = 'deploy-patient'
    const worker = await fixture.startWorker()
    const held = fixture.model.hold(id, 'middle')
    const thread = await fixture.create({ id, message: marked(`Hello #${id}`) })
    await held.arrived
    const down = worker.shutDown()
    held.release()
    await down
    expect(await worker.gone).toBe(0)
    expect((await transcript(thread)).at(-1)).toMatchObject({ role: 'assistant', status: 'completed' })
    await fixture.startWorker()
    await thread.waitUntilIdle()
    expect(fixture.model.requests(id)).toHaveLength(1)
    expect(await factTypes(thread)).not.toContain('model.failed')
    await expectWholeLog(thread)
  })
})
