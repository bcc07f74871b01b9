/** Which ids cross the boundaries to tools and providers, and which only where they are wanted. */
import { createOpenAI } from '@ai-sdk/openai'
import { context, trace } from '@opentelemetry/api'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createActivities } from '../../src/activities/index.js'
import type { RunContext } from '../../src/policy/run-context.js'
import type { ExecuteToolInput } from '../../src/protocol/activities.js'
import { ACTIVITIES } from '../../src/protocol/answer-problem.js'
import { readEvents } from '../../src/store/events.js'
import { updateThread } from '../../src/store/threads/threads.js'
import type { PlainSpan } from '../support/plain-span.js'
import { startProviderMock } from '../support/provider-mock.js'
import { recordSpans } from '../support/record-spans.js'
import { attempt, withDesk } from './activity-desk.js'
import { withModels } from './model-desk.js'

const spans: PlainSpan[] = []
beforeEach(() => {
  spans.length = 0
  recordSpans((span) => spans.push(span))
})
afterEach(() => {
  trace.disable()
  context.disable()
})

/** The headers of ours that a provider gets over HTTP, of its first request and of the one that repeats it. */
async function headersOf(definition: { readonly sendIds?: boolean }) {
  const mock = await startProviderMock()
  mock.reply({ status: 500, message: 'Not now.' }, { text: 'Yes.' })
  const asked = createOpenAI({ baseURL: mock.url, apiKey: 'none' }).chat('mock')
  const requests: Readonly<Record<string, unknown>>[] = []
  await withModels({ models: { chat: { asked, ...definition } } }, async (desk) => {
    await desk.store.write((tx) => updateThread(tx, 't', { root_thread_id: 'ä root' }))
    await desk.step()
    for (const { headers } of mock.requests)
      requests.push(
        Object.fromEntries(
          Object.entries(headers).filter(
            ([name]) => name.startsWith('x-everthread') || name === 'traceparent',
          ),
        ),
      )
    const events = await desk.store.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 99 }))
    const requested = events.find(({ type }) => type === 'model.requested')
    expect(requested?.scope).toMatchObject({ runId: 'run_1', stepId: 'step_1_1' })
  })
  await mock.close()
  return requests
}

test('AR-RM.10 a request to a provider has the ids of its trace, session, run and step, and one of its own', async () => {
  const requests = await headersOf({ sendIds: true })
  const same = {
    'x-everthread-session-id': '%C3%A4%20root',
    'x-everthread-thread-id': 't',
    'x-everthread-run-id': 't:run_1',
    'x-everthread-step-id': 'step_1_1',
  }
  const chats = spans.filter(({ name }) => name === 'chat mock')
  expect(requests).toEqual(
    [1, 2].map((number) => ({
      ...{ ...same, 'x-everthread-request-id': `t:model_1_1:${number}` },
      traceparent: `00-${chats[number - 1]?.traceId}-${chats[number - 1]?.spanId}-01`,
    })),
  )
})

test('AR-RM.10 without sendIds nothing leaves but the trace', async () => {
  for (const headers of await headersOf({})) expect(Object.keys(headers)).toEqual(['traceparent'])
})

test('AR-RM.10 a tool knows its run, step, call, session and trace', async () => {
  const known: unknown[] = []
  let run: RunContext | undefined
  await withDesk(
    {
      async work(state, _args, { id, idempotencyKey }) {
        const active = trace.getActiveSpan()?.spanContext()
        known.push(state.threadId, state.execution?.flowId, state.execution?.stepId, id, idempotencyKey)
        known.push(active?.traceId)
        run = await state.execution?.runContext()
        return { status: 'success' }
      },
    },
    async (desk) => {
      const execute = createActivities(desk.dependencies)[ACTIVITIES.executeTool]
      await attempt().run(async (given: ExecuteToolInput) => execute(given), await desk.call('work'))
    },
  )
  const [sent] = spans.filter(({ name }) => name === 'execute_tool work')
  expect(known).toEqual(['t', 'run_1', 'step_1_1', 'call_1_1_0', 't:call_1_1_0', sent?.traceId])
  expect(run).toMatchObject({ runId: 't:run_1', sessionId: 't' })
})
