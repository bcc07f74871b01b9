import { expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import { marked } from '../support/marker.js'
import { factTypes, transcript } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import { until } from '../support/until.js'

const later = (seconds: number) => ({
  error: { status: 429, message: marked('Later'), headers: { 'retry-after': String(seconds) } },
})

threeRuns((desk) => {
  const refused = (thread: ThreadHandle) =>
    until('a refusal', async () => (await factTypes(thread)).includes('model.failed'))
  const phases = async (thread: ThreadHandle) =>
    (await factTypes(thread)).filter((type) => type === 'step.phase')

  // The first test of the file: a query or signal that meets the end of a run may lock the time of the test server.
  desk.skippingTime('a provider that asks for an hour gets it, and messages wait', async () => {
    const { thread, chat } = await desk.start({
      chat: [later(3600), { text: marked('One') }, { text: marked('Two') }],
    })
    await refused(thread)
    await desk.env.sleep('50 minutes')
    expect(await thread.snapshot()).toMatchObject({ status: 'waiting_resource', stale: false })
    await thread.send(marked('And then?'))
    await desk.env.sleep('5 minutes')
    expect([chat.requests.length, (await phases(thread)).length]).toEqual([1, 3])
    await desk.env.sleep('6 minutes')
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response' })
    expect((await transcript(thread)).map(({ content }) => content)).toEqual(
      ['Hello', 'One', 'And then?', 'Two'].map(marked),
    )
    expect(await phases(thread)).toHaveLength(14)
  })

  test('a stop ends the wait for a provider', async () => {
    const { thread, chat } = await desk.start({ chat: [later(3600)] })
    // Not before: a stop that meets the end of the activity blocks a thread on this server (temporalio/sdk-java#2391).
    await until('the wait', async () => (await thread.snapshot()).status === 'waiting_resource')
    await thread.stop()
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'stopped', reason: 'stopped' })
    expect(chat.requests).toHaveLength(1)
    expect(await phases(thread)).toHaveLength(7)
  })
})
