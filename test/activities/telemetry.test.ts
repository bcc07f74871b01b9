import { context, metrics, trace } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { MockActivityEnvironment } from '@temporalio/testing'
import { DefaultLogger } from '@temporalio/worker'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ActivityDependencies } from '../../src/activities/activity.js'
import { createActivities } from '../../src/activities/index.js'
import type {
  CallModelAnswer,
  CallModelInput,
  ExecuteToolAnswer,
  ExecuteToolInput,
} from '../../src/protocol/activities.js'
import { ACTIVITIES } from '../../src/protocol/answer-problem.js'
import { readEvents } from '../../src/store/events.js'
import { scriptedModel } from '../../src/testing/index.js'
import { activityInterceptor } from '../../src/worker/activity-interceptor.js'
import { fakeStreamModel } from '../support/fake-stream-model.js'
import { marked, MARKER } from '../support/marker.js'
import type { PlainSpan } from '../support/plain-span.js'
import { recordSpans } from '../support/record-spans.js'
import { until } from '../support/until.js'
import { attempt, drainOf, modelInput, withDesk } from './activity-desk.js'
import { refusing, withModels } from './model-desk.js'

const spans: PlainSpan[] = []

/** One attempt of an activity as a worker has it: with all that operators see. */
function step(
  dependencies: ActivityDependencies,
  input: CallModelInput,
  environment = attempt(),
): Promise<CallModelAnswer> {
  const run = createActivities(dependencies)[ACTIVITIES.callModel]
  return environment.run(async (given: CallModelInput) => run(given), input)
}

function call(
  dependencies: ActivityDependencies,
  input: ExecuteToolInput,
  environment = attempt(),
): Promise<ExecuteToolAnswer> {
  const run = createActivities(dependencies)[ACTIVITIES.executeTool]
  return environment.run(async (given: ExecuteToolInput) => run(given), input)
}

const named = (name: string): readonly PlainSpan[] => spans.filter((span) => span.name === name)

describe('spans', () => {
  beforeEach(() => {
    spans.length = 0
    recordSpans((span) => spans.push(span))
  })
  afterEach(() => {
    trace.disable()
    context.disable()
  })

  test('each request to a model is a span of its own', () => {
    const models = {
      chat: { asked: refusing(500), fallbacks: ['first'] },
      first: { asked: scriptedModel([{ text: 'Here.' }]) },
    }
    return withModels({ models }, async ({ dependencies }) => {
      await step(dependencies, modelInput({ drain: drainOf(['m1']) }))
      expect(named('chat scripted')).toMatchObject([
        { failed: true, attributes: { 'everthread.model': 'chat', 'error.type': 'unavailable' } },
        { failed: true, attributes: { 'everthread.model': 'chat', 'error.type': 'unavailable' } },
        { failed: false, attributes: { 'everthread.model': 'first' } },
      ])
      expect(named('thread.callModel')).toMatchObject([{ failed: false }])
    })
  })

  test('a run without an answer of a model fails its step', () =>
    withModels({ models: { chat: { asked: refusing(401) } } }, async ({ dependencies }) => {
      await step(dependencies, modelInput({ drain: drainOf(['m1']) }))
      const attributes = { 'error.type': 'model_failed' }
      expect(named('thread.callModel')).toMatchObject([{ failed: true, attributes }])
    }))

  test('a stopped call is a failed span named interrupted', () =>
    withModels({ models: { chat: { asked: fakeStreamModel(() => ['never']) } } }, async (desk) => {
      const environment = attempt()
      const running = step(desk.dependencies, modelInput({ drain: drainOf(['m1']) }), environment)
      await until('the request', async () => (await desk.told('model.requested')).length === 1)
      environment.cancel()
      expect(await running).toMatchObject({ type: 'interrupted' })
      const attributes = { 'error.type': 'interrupted' }
      expect(named('thread.callModel')).toMatchObject([{ failed: true, attributes }])
      expect(named('chat fake')).toMatchObject([{ failed: true, attributes }])
    }))

  test('T5 a tool that throws is a failed span without its words', () =>
    withDesk(
      {
        work: () => {
          throw new Error(marked('No such order'))
        },
      },
      async (desk) => {
        const input = await desk.call('work', { note: marked('secret') })
        expect(await call(desk.dependencies, input)).toMatchObject({ outcome: 'failed' })
        expect(named('execute_tool work')).toMatchObject([
          { failed: true, attributes: { 'error.type': 'failed' } },
        ])
        expect(JSON.stringify(spans)).not.toContain(MARKER)
      },
    ))

  test('a policy function gets the trace that the call belongs to', () =>
    withDesk({}, async (desk) => {
      const traces: (string | null)[] = []
      const policy: ActivityDependencies['policy'] = (_action, { traceId }) => traces.push(traceId) > 0
      const input = await desk.call('work', { note: marked('work') })
      expect(await call({ ...desk.dependencies, policy }, input)).toMatchObject({ outcome: 'succeeded' })
      expect(traces).toEqual(named('execute_tool work').map(({ traceId }) => traceId))
    }))

  test('messages that a run takes on the way are linked', () =>
    withModels({ models: { chat: { asked: scriptedModel(() => ({ text: 'Yes.' })) } } }, async (desk) => {
      const [first, second] = await Promise.all(
        ['one', 'two'].map((name) =>
          trace.getTracer('test').startActiveSpan(name, async (span) => {
            const [id = ''] = await desk.send(name)
            span.end()
            return { id, spanId: span.spanContext().spanId, traceId: span.spanContext().traceId }
          }),
        ),
      )
      const begun = await step(desk.dependencies, modelInput({ drain: drainOf([first?.id ?? '']) }))
      const plan = begun.type === 'answered' ? (begun.plan?.digest ?? null) : null
      const next = { step: 2, plan, trigger: null, drain: drainOf([second?.id ?? '']) }
      await step(desk.dependencies, modelInput(next))
      expect(named('thread.callModel')).toMatchObject([
        { traceId: first?.traceId, parentSpanId: first?.spanId, links: [] },
        { traceId: first?.traceId, parentSpanId: first?.spanId, links: [second?.spanId] },
      ])
    }))

  test('steps of a run that nobody traced are one trace', () =>
    withModels({ models: { chat: { asked: scriptedModel(() => ({ text: 'Yes.' })) } } }, async (desk) => {
      await step(desk.dependencies, modelInput({ asked: true, drain: drainOf(['m1']) }))
      await step(desk.dependencies, modelInput({ step: 2, asked: true, trigger: null }))
      const [first, second] = named('thread.callModel')
      expect(first?.parentSpanId).toBeNull()
      expect(second).toMatchObject({ traceId: first?.traceId, parentSpanId: first?.spanId })
    }))

  test('a request to a provider has the trace of its span in a header', () => {
    const chat = scriptedModel([{ text: 'Yes.' }])
    return withModels({ models: { chat: { asked: chat } } }, async (desk) => {
      await step(desk.dependencies, modelInput({ asked: true, drain: drainOf(['m1']) }))
      const [span] = named('chat scripted')
      expect(chat.requests[0]?.raw.headers).toEqual({ traceparent: `00-${span?.traceId}-${span?.spanId}-01` })
    })
  })

  test('events have the ids of the trace and the span that wrote them, once a row', () =>
    withModels({ models: { chat: { asked: scriptedModel([{ text: 'Yes.' }]) } } }, async (desk) => {
      await step(desk.dependencies, modelInput({ asked: true, drain: drainOf(['m1']) }))
      const events = await desk.store.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 99 }))
      const written = events.flatMap(({ trace: place }) => (place === undefined ? [] : [place]))
      expect(written).toHaveLength(events.length)
      const places = spans.map(({ traceId, spanId }) => `${traceId} ${spanId}`)
      expect(written.filter(({ traceId, spanId }) => !places.includes(`${traceId} ${spanId}`))).toEqual([])
      const rows = await desk.store.read((db) => db.selectFrom('events').select('trace').execute())
      expect(rows.length).toBeLessThan(events.length)
      expect(rows.every((row) => row.trace?.length === 48)).toBe(true)
    }))
})

test('without telemetry events have no trace', () =>
  withModels({ models: { chat: { asked: scriptedModel([{ text: 'Yes.' }]) } } }, async (desk) => {
    await step(desk.dependencies, modelInput({ asked: true, drain: drainOf(['m1']) }))
    const events = await desk.store.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 99 }))
    expect(events.length).toBeGreaterThan(5)
    expect(events.filter((event) => 'trace' in event)).toEqual([])
  }))

describe('metrics', () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })

  beforeAll(() => {
    metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
  })
  afterEach(() => exporter.reset())

  async function points(
    name: string,
  ): Promise<readonly { readonly attributes: object; readonly value: unknown }[]> {
    await reader.forceFlush()
    const all =
      exporter
        .getMetrics()
        .at(-1)
        ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? []
    return all.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? []
  }

  test('tokens, steps and calls are counted by model, agent and outcome', () =>
    withDesk({ work: () => ({ status: 'error', error: marked('no') }) }, async (desk) => {
      const chat = scriptedModel([
        { toolCalls: [{ name: 'work', args: {} }], usage: { inputTokens: 30, outputTokens: 5 } as never },
      ])
      const [id = ''] = await desk.send('Please.')
      const answer = await step(desk.with({ chat }), modelInput({ drain: drainOf([id]) }))
      expect(answer).toMatchObject({ type: 'answered' })
      const input = { ...(await desk.call('work')), callId: 'call_1_1_0' }
      await call(desk.dependencies, input)
      const sums = (await points('gen_ai.client.token.usage')) as readonly {
        attributes: object
        value: { sum: number }
      }[]
      expect(sums.map(({ attributes, value }) => [attributes, value.sum])).toEqual([
        [expect.objectContaining({ 'gen_ai.token.type': 'input', 'gen_ai.request.model': 'scripted' }), 30],
        [expect.objectContaining({ 'gen_ai.token.type': 'output' }), 5],
      ])
      expect(await points('everthread.steps')).toMatchObject([
        { attributes: { 'gen_ai.agent.name': 'clerk', 'everthread.answer': 'answered' }, value: 1 },
      ])
      expect(await points('everthread.tool_calls')).toMatchObject([
        { attributes: { 'gen_ai.tool.name': 'work', 'everthread.outcome': 'failed' }, value: 1 },
      ])
    }))
})

describe('logs', () => {
  test('T5 each line of a call says where it belongs, and no content', () =>
    withDesk({ work: () => ({ status: 'success', result: marked('paid') }) }, async (desk) => {
      const input = await desk.call('work', { note: marked('secret') })
      const lines: { readonly message: string; readonly meta?: object | undefined }[] = []
      const environment = new MockActivityEnvironment(
        { activityType: ACTIVITIES.executeTool, attempt: 2 },
        {
          interceptors: [activityInterceptor(desk)],
          logger: new DefaultLogger('TRACE', (line) => void lines.push(line)),
        },
      )
      await call(desk.dependencies, input, environment)
      const fields = {
        threadId: 't',
        run: 1,
        step: 1,
        agent: 'clerk',
        call: 'call_1_1_0',
        operation: 'call_1_1_0',
        attempt: 2,
      }
      expect(lines.find(({ message }) => message === 'A tool call ended.')?.meta).toMatchObject({
        ...fields,
        tool: 'work',
        outcome: 'succeeded',
      })
      expect(JSON.stringify(lines.map(({ message, meta }) => [message, meta]))).not.toContain(MARKER)
    }))
})
