import { expect, test } from 'vitest'

import { scriptedModel } from '../../src/testing/index.js'
import { drainOf, failingStore, modelInput, runModel, runTool, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { success } from './tool-outcomes.js'

/** The same worker, whose writes are counted. */
function counting({ dependencies, store }: ActivityDesk) {
  const counted = failingStore(store, () => false)
  return { counted, dependencies: { ...dependencies, store: counted } }
}

test('T2 T4 a model call commits three times', () =>
  withDesk({ chat: scriptedModel([{ toolCalls: [{ name: 'work' }] }]) }, async (desk) => {
    const { counted, dependencies } = counting(desk)
    const answer = await runModel(dependencies, modelInput({ drain: drainOf(await desk.send('Please.')) }))
    expect(answer).toMatchObject({ type: 'answered', calls: [{ name: 'work' }] })
    expect(counted.writes).toBe(3)
  }))

test('T2 T4 a model call that drains nothing commits twice', () =>
  withDesk({ chat: scriptedModel([{ toolCalls: [{ name: 'work' }] }]) }, async (desk) => {
    const { plan } = await desk.call('work')
    const { counted, dependencies } = counting(desk)
    const answer = await runModel(dependencies, modelInput({ step: 2, plan, trigger: null }))
    expect(answer).toMatchObject({ type: 'answered', calls: [{ name: 'work' }] })
    expect(counted.writes).toBe(2)
  }))

test('T4 a tool call commits twice', () =>
  withDesk({ work: () => success('done') }, async (desk) => {
    const call = await desk.call('work')
    const { counted, dependencies } = counting(desk)
    expect(await runTool(dependencies, call)).toMatchObject({ type: 'result', outcome: 'succeeded' })
    expect(counted.writes).toBe(2)
  }))
