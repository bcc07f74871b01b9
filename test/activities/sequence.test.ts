import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'

import { scriptedModel } from '../../src/testing/index.js'
import { withRepeatedWrites } from '../support/repeated-writes.js'
import { attempt, failingStore } from './activity-desk.js'
import { idsOf, LONGEST, model, tool, typesOf, withAhead, works } from './ahead-desk.js'

const PAYS = { toolCalls: [{ name: 'pay', args: { amount: 1 } }] }

test('T2 T4 what ends and what follows are one transaction', () =>
  withAhead({ chat: works(2) }, async (desk) => {
    const store = failingStore(desk.store, () => false)
    const answer = await desk.go({ store })
    expect(idsOf(answer)).toEqual([tool(1), model(2), tool(2), model(3), 'settle_1'])
    // The first drain; a request to the model, which but for the first one is noted with the end of the tool before it and the
    // drain; an answer, with the beginning of its tool or the end of the run. One more holds the text that is streamed.
    expect(store.writes).toBe(1 + 3 + 3 + 1)
  }))

test('by default the end of the run is stored with its answer', () =>
  withAhead({ chat: works(0), steps: 0 }, async (desk) => {
    const store = failingStore(desk.store, () => false)
    expect(idsOf(await desk.go({ store }))).toEqual(['settle_1'])
    expect(store.writes).toBe(3 + 1)
  }))

test('T4 a transaction that is repeated begins what follows once', () =>
  withAhead({ chat: works(2) }, async (desk) => {
    const answer = await desk.go({ store: withRepeatedWrites(desk.store) })
    expect(idsOf(answer)).toEqual([tool(1), model(2), tool(2), model(3), 'settle_1'])
    expect(typesOf(answer)).toEqual(['result', 'answered', 'result', 'answered', 'settled'])
    expect(await desk.told('tool.started', 'step.started', 'run.completed')).toHaveLength(6)
  }))

test('T2 a transaction waits for no code of a user', async () => {
  const chat = scriptedModel(() => (chat.requests.length === 1 ? PAYS : { text: 'Done.' }))
  let ended: string | undefined
  const parts = {
    chat,
    needsApproval: async () => {
      await sleep(20)
      ended = (await desk?.operation(model(1)))?.state
      return false
    },
  }
  let desk: Parameters<Parameters<typeof withAhead>[1]>[0] | undefined
  await withAhead(parts, async (own) => {
    desk = own
    expect(idsOf(await own.go())).toEqual([tool(1), model(2), 'settle_1'])
    expect(ended).toBe('finished')
  })
})

test('T2 what fails in a beginning takes nothing from what has ended', async () => {
  const chat = works(1)
  await withAhead({ chat }, async (desk) => {
    let asked = 0
    const mayRunAhead = () => {
      asked += 1
      throw new Error('Nobody knows.')
    }
    expect(idsOf(await desk.go({ mayRunAhead }, attempt(LONGEST)))).toEqual([])
    // With the answer, and behind it.
    expect(asked).toBe(2)
    expect(await desk.operation(model(1))).toMatchObject({ state: 'finished' })
    expect(await desk.operation(tool(1))).toBeNull()
    expect(chat.requests).toHaveLength(1)
  })
})
