/** Arguments of calls while a model writes them, through the store to a subscriber. */
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { APICallError } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { createEventStream } from '../../src/client/events/follow-events.js'
import { readEventPage } from '../../src/client/events/event-page.js'
import type { ThreadEvent, ThreadEventOf } from '../../src/client/index.js'
import type { LanguageModel } from '../../src/model/model-answer.js'
import { readDeltas } from '../../src/store/messages/deltas.js'
import { FINISH } from '../support/fake-stream-model.js'
import { createGate } from '../support/gate.js'
import { until } from '../support/until.js'
import { drainOf, failingStore, modelInput, runModel, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'

type Part = LanguageModelV4StreamPart

/** A model that streams these parts, one generator for each request. */
function streaming(...answers: readonly (() => AsyncGenerator<Part>)[]): LanguageModel {
  let asked = 0
  return {
    ...{ specificationVersion: 'v4', provider: 'fake', modelId: 'fake', supportedUrls: {} },
    doGenerate: () => Promise.reject(new Error('Expected a streaming call.')),
    doStream() {
      const answer = answers[asked] ?? answers.at(-1)
      asked += 1
      if (answer === undefined) throw new Error('Expected an answer.')
      return Promise.resolve({ stream: ReadableStream.from(answer()) })
    },
  }
}

const begin = (id: string, toolName: string): Part => ({ type: 'tool-input-start', id, toolName })
const piece = (id: string, delta: string): Part => ({ type: 'tool-input-delta', id, delta })
const call = (toolCallId: string, toolName: string, input: string): Part => ({
  ...{ type: 'tool-call', toolCallId, toolName, input },
})

function follower({ store }: Pick<ActivityDesk, 'store'>) {
  const stream = createEventStream({ sequence: 0, streamed: null })
  const seen: ThreadEvent[] = []
  return {
    seen,
    async look() {
      const place = { threadId: 't', runtimeId: store.id, ...stream.position }
      seen.push(...stream.take(await store.read((db) => readEventPage(db, place))))
    },
    args: () => seen.filter((event): event is ThreadEventOf<'tool.args'> => event.type === 'tool.args'),
  }
}

const deltas = ({ store }: Pick<ActivityDesk, 'store'>) => store.read((db) => readDeltas(db, 't'))

test('AR-EC.9 AR-ES.9 arguments of two calls are seen while the model writes them, and the answer replaces them', async () => {
  const gate = createGate()
  const chat = streaming(async function* () {
    yield { type: 'text-start', id: '1' }
    yield { type: 'text-delta', id: '1', delta: 'I do both.' }
    yield { type: 'text-end', id: '1' }
    yield begin('one', 'work')
    yield piece('one', '{"task":')
    yield begin('two', 'pay')
    yield piece('two', '{"eur')
    yield piece('one', '"tents"}')
    await gate.passed
    yield piece('two', 'os":40}')
    yield call('one', 'work', '{"task":"tents"}')
    yield call('two', 'pay', '{"euros":40}')
    yield FINISH
  })
  await withDesk({ chat }, async (desk) => {
    const running = runModel(desk.dependencies, modelInput({ drain: drainOf(await desk.send('Please.')) }))
    const shown = follower(desk)
    await until('both calls', async () => {
      await shown.look()
      return shown.args().some(({ payload }) => payload.text.includes('tents'))
    })
    const written = shown
      .args()
      .map(({ toolCallId, payload: { name, attempt } }) => [toolCallId, name, attempt])
    expect(written).toContainEqual(['call_1_1_0', 'work', 1])
    expect(written).toContainEqual(['call_1_1_1', 'pay', 1])
    const textOf = (id: string) =>
      shown.args().flatMap(({ toolCallId, payload }) => (toolCallId === id ? [payload.text] : []))
    expect([textOf('call_1_1_0').join(''), textOf('call_1_1_1').join('')]).toEqual([
      '{"task":"tents"}',
      '{"eur',
    ])
    gate.open()
    expect(await running).toMatchObject({ calls: [{ id: 'call_1_1_0' }, { id: 'call_1_1_1' }] })
    await shown.look()
    const stored = shown.seen.flatMap(({ type, messageId }) => (type === 'message.created' ? messageId : []))
    expect(stored).toContain(shown.args()[0]?.messageId)
    expect(await deltas(desk)).toEqual([])
  })
})

test('a request that is repeated begins its arguments anew', async () => {
  const gate = createGate()
  const seen = createGate()
  const gone = new APICallError({
    ...{ message: 'Gone.', url: 'x', requestBodyValues: {}, statusCode: 503, isRetryable: true },
  })
  const chat = streaming(
    async function* () {
      yield begin('one', 'work')
      yield piece('one', '{"task":"a lon')
      await seen.passed
      throw gone
    },
    async function* () {
      yield begin('one', 'pay')
      yield piece('one', '{"euros"')
      await gate.passed
      yield piece('one', ':1}')
      yield call('one', 'pay', '{"euros":1}')
      yield FINISH
    },
  )
  await withDesk({ chat }, async (desk) => {
    const running = runModel(desk.dependencies, modelInput({ drain: drainOf(await desk.send('Please.')) }))
    const shown = follower(desk)
    const sees = (name: string) =>
      until(name, async () => {
        await shown.look()
        return shown.args().some(({ payload }) => payload.name === name)
      })
    await sees('work')
    seen.open()
    await sees('pay')
    expect(shown.args().at(-1)).toMatchObject({
      ...{ toolCallId: 'call_1_1_0', payload: { attempt: 2, offset: 0, text: '{"euros"' } },
    })
    gate.open()
    expect(await running).toMatchObject({ type: 'answered', calls: [{ name: 'pay' }] })
    expect(await deltas(desk)).toEqual([])
  })
})

test('arguments that come all at once, or that the provider runs itself, cost no transaction', async () => {
  const chat = streaming(async function* () {
    yield { ...begin('theirs', 'search'), providerExecuted: true } as Part
    yield piece('theirs', '{"q":"tents"}')
    await new Promise((resolve) => setTimeout(resolve, 300))
    yield begin('one', 'work')
    yield piece('one', JSON.stringify({ task: 'x'.repeat(5_000) }))
    yield call('one', 'work', JSON.stringify({ task: 'x'.repeat(5_000) }))
    yield FINISH
  })
  await withDesk({ chat }, async (desk) => {
    const counted = failingStore(desk.store, () => false)
    const input = modelInput({ drain: drainOf(await desk.send('Please.')) })
    expect(await runModel({ ...desk.dependencies, store: counted }, input)).toMatchObject({
      type: 'answered',
    })
    // Drain, request and answer.
    expect(counted.writes).toBe(3)
  })
})

test('of long arguments the first 65,536 characters are told, in ten writes of a second at most', async () => {
  const gate = createGate()
  const chat = streaming(async function* () {
    yield begin('one', 'work')
    for (let round = 0; round < 400; round += 1) {
      yield piece('one', '0123456789'.repeat(20))
      if (round % 40 === 0) await new Promise((resolve) => setTimeout(resolve, 50))
    }
    await gate.passed
    yield call('one', 'work', '{}')
    yield FINISH
  })
  await withDesk({ chat }, async (desk) => {
    const counted = failingStore(desk.store, () => false)
    const input = modelInput({ drain: drainOf(await desk.send('Please.')) })
    const begun = performance.now()
    const running = runModel({ ...desk.dependencies, store: counted }, input)
    const shown = follower(desk)
    const length = () => shown.args().reduce((sum, { payload }) => sum + payload.text.length, 0)
    await until('all of it', async () => {
      await shown.look()
      return length() >= 65_536
    })
    const tenths = (performance.now() - begun) / 100
    // Without the drain and the request.
    expect(counted.writes - 2).toBeLessThanOrEqual(tenths + 1)
    gate.open()
    await running
    await shown.look()
    expect(length()).toBe(65_536)
  })
})
