/** What the Agent Runtime draft names: threads that run have each fact and emit each event that is said to be available. */
import { context, trace } from '@opentelemetry/api'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { z } from 'zod'
import type { ThreadHandle } from '../../src/client/index.js'
import type { AgentRuntimeEvent } from '../../src/views/index.js'
import { defineAgent, defineHook, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import { createWorkingFixture } from '../client/working-fixture.js'
import type { WorkingFixture } from '../client/working-fixture.js'
import { recordSpans } from '../support/record-spans.js'
import { startDevServer } from '../support/servers.js'
import type { DevServer } from '../support/servers.js'
import { until } from '../support/until.js'

/** The families of the draft, from its table, word for word. */
const DRAFT: Readonly<Record<string, string>> = {
  permission: 'permission.evaluated / permission.requested / permission.resolved',
  sandbox: 'sandbox.applied / sandbox.violation',
  hooks: 'hook.started / hook.completed / hook.failed / policy.changed',
  process:
    'process.started / process.output / process.input / process.completed / process.failed / process.terminated',
  routing:
    'task.profile.resolved / routing.candidates.resolved / routing.decided / routing.fallback.applied / routing.not_possible / routing.single_candidate',
  task_graph:
    'task.delegated / task.dependency.updated / task.attempt.started / task.attempt.completed / task.attempt.failed',
  limits: 'cost.estimated / cost.recorded / rate_limit.hit / quota.low / quota.blocked',
  channel:
    'channel.connected / channel.disconnected / channel.resumed / channel.message / channel.permission_forwarded / channel.permission_returned',
  job: 'job.created / job.started / job.progress / job.item.started / job.item.completed / job.item.failed / job.completed / job.failed / job.cancelled',
  output: 'output.spilled / output.truncated / output.redacted / output.expired',
  history:
    'history.window.loaded / history.reconstructed / history.rollback.started / history.rollback.completed / snapshot.repaired',
  benchmark:
    'benchmark.dataset.resolved / benchmark.configuration.resolved / benchmark.trial.started / benchmark.trial.completed / benchmark.trial.failed / benchmark.reward.recorded / benchmark.comparison.completed',
}

/** The layers of the draft, from its table, word for word, with the verification of each by its name here. */
const LAYERS: Readonly<Record<string, string>> = {
  input: 'session, thread, turn, draft, attachments, source channel, request ids',
  execution:
    'turn status, task lifecycle, task attempts, model routing, tool calls, action requests, subagents',
  state: 'snapshots, thread read model, queue, pending requests, incidents, checkpoints',
  coordination: 'tool inventory, context refs, artifact refs, evidence refs, policy decisions',
  observability: 'trace ids, spans, timeline, evidence pack, replay case, verification summaries',
}

const LONG = 'x'.repeat(100_000)
const limited = { error: { status: 429, message: 'Later.' } }
const act = (name: string, args: object = {}) => ({ toolCalls: [{ name, args }] })
/** Is limited at two requests; then its fallback stands in for it, and asks for the tools. */
const chat = scriptedModel([
  ...[limited, limited, { text: 'Slowly, '.repeat(99), wordDelay: 300 }],
  ...Array.from({ length: 20 }, () => ({ text: 'Again.', reasoning: 'Hm.' })),
])
const backup = scriptedModel([
  { toolCalls: ['refund', 'fail', 'runner'].map((name) => ({ name, args: { task: 'it' } })) },
])
const closed = scriptedModel(() => ({ error: { status: 403, message: 'No.' } }))
const worker = scriptedModel(() => ({ text: 'Worked.' }))
const judge = scriptedModel(() => act('approve', { summary: 'Good.' }))
const sorter = scriptedModel(() => ({ text: '{"sum":3}' }))

const speaks = { toolDescription: 'x', includeChat: true } as const
const task = z.object({ task: z.string() })
const desk = registry({
  models: [
    defineModel({
      ...{ name: 'chat', provider: { languageModel: () => chat }, model: 'x', fallbacks: ['backup'] },
      ...{ inputPrice: 1, outputPrice: 2 },
    }),
    ...Object.entries({ backup, closed, worker, judge, sorter }).map(([name, model]) =>
      defineModel({ name, provider: { languageModel: () => model }, model: 'x' }),
    ),
  ],
  prompts: [
    definePrompt({
      ...{ ...speaks, name: 'clerk', prompt: 'You sell.', model: 'chat' },
      tools: ['refund', 'fail', { name: 'runner', initUserMessageProperty: 'task' }],
      window: { messages: 4 },
    }),
    definePrompt({ ...speaks, name: 'mute', prompt: 'You are silent.', model: 'closed' }),
    definePrompt({ ...speaks, name: 'sorter', prompt: 'You sort.', model: 'sorter' }),
    definePrompt({ ...speaks, name: 'worker', prompt: 'You work.', model: 'worker', requiredSchema: task }),
    definePrompt({ ...speaks, name: 'judge', prompt: 'You judge.', model: 'judge', tools: ['approve'] }),
  ],
  agents: [
    defineAgent({
      ...{
        name: 'clerk',
        sideA: { prompt: 'clerk' },
        hooks: ['watch', 'broken'],
        budget: { maxModelCalls: 3 },
      },
    }),
    defineAgent({ name: 'mute', sideA: { prompt: 'mute' } }),
    defineAgent({ name: 'sorter', sideA: { prompt: 'sorter' }, output: z.object({ sum: z.number() }) }),
    defineAgent({
      ...{ name: 'runner', type: 'dual_ai', sideA: { prompt: 'worker' } },
      sideB: { prompt: 'judge', sessionStop: { name: 'approve', messageProperty: 'summary' } },
      ...{ exposeAsTool: true, toolDescription: 'Works for you' },
    }),
  ],
  hooks: [
    defineHook({ hook: 'before_tool_call', id: 'watch', execute: () => null }),
    defineHook({
      ...{ hook: 'before_store_tool_result', id: 'broken' },
      execute: () => {
        throw new Error('No.')
      },
    }),
  ],
  tools: {
    refund: defineTool({
      ...{ description: 'Pays back', args: task, needsApproval: true, capabilities: ['orders.refund'] },
      execute: () => ({ status: 'success', result: LONG }),
    }),
    fail: defineTool({
      ...{ description: 'Fails', args: task },
      execute: () => {
        throw new Error('No.')
      },
    }),
    approve: defineTool({
      ...{ description: 'Ends the work', args: z.object({ summary: z.string() }) },
      execute: () => ({ status: 'success' }),
    }),
  },
})

let server: DevServer
let fixture: WorkingFixture
let thread: ThreadHandle
/** What a reader has got, while the threads ran and afterwards. */
const met: AgentRuntimeEvent[] = []

beforeAll(async () => {
  recordSpans(() => undefined)
  server = await startDevServer()
  const workflowBundle = { codePath: inject('workflowBundlePath') }
  fixture = await createWorkingFixture({ registry: desk, server, workflowBundle })
  await meetAll()
}, 120_000)
afterAll(async () => {
  trace.disable()
  context.disable()
  await fixture.close()
  await server.stop()
})

/**
 * Meets a limit and a fallback, is asked about a call, remembers the answer, calls a subagent, loses its workflow, forgets its beginning,
 * is stopped and goes on, and is made shorter. Others have no model, and a structured output.
 */
async function meetAll(): Promise<void> {
  const attachments = [{ name: 'order.txt', mimeType: 'text/plain', data: Buffer.from('A tent') }]
  thread = await fixture.threads.create({
    ...{ agent: 'clerk', id: 'draft-facts', message: { content: 'Pay it', id: 'paid', attachments } },
  })
  const request = await until('a request', async () => (await thread.snapshot()).pending[0])
  await thread.respond(request.id, { approved: true, remember: { for: 'thread' } })
  await thread.waitUntilIdle({ children: true })
  await thread.workflow.terminate('operator')
  await until('a lost thread', async () => (await thread.snapshot()).status === 'lost')
  await fixture.threads.reopen(thread.threadId)
  await thread.waitUntilIdle()
  await thread.send('Slowly')
  for await (const { event } of thread.view('ar')) {
    if (event.sequence === undefined) met.push(event)
    if (event.type === 'model.delta') break
  }
  await thread.stop({ reason: 'Enough' })
  await thread.compact()
  await thread.continue()
  await thread.waitUntilIdle()
  for (const text of ['One', 'Two', 'Three']) {
    await thread.send(text)
    await thread.waitUntilIdle()
  }
  for (const agent of ['mute', 'sorter']) {
    const other = await fixture.threads.create({ agent, id: `draft-facts-${agent}`, message: 'Hello' })
    await other.waitUntilIdle()
    for await (const { event } of other.view('ar', { follow: false })) met.push(event)
  }
  const fork = await fixture.threads.fork(thread.threadId, { at: 'paid', id: 'draft-facts-fork' })
  for (const one of [thread, fork])
    for await (const { event } of one.view('ar', { follow: false })) met.push(event)
}

const has = (type: string): boolean => met.some((event) => event.type === type)

test('AR-EF.0 each event of the families is emitted by a thread that runs, or is named as unavailable with its reason', () => {
  const { events } = fixture.threads.capabilities()
  expect(events.map(({ family, type }) => `${family} ${type}`)).toEqual(
    Object.entries(DRAFT).flatMap(([family, types]) => types.split(' / ').map((type) => `${family} ${type}`)),
  )
  const of = (status: string) => events.flatMap((event) => (event.status === status ? [event.type] : []))
  expect(of('available').filter((type) => !has(type))).toEqual([])
  expect(of('unavailable').filter(has)).toEqual([])
  for (const event of events) if (event.status === 'unavailable') expect(event.reason).toMatch(/\w+ \w+/)
})

test('AR-EF.11 a session that is reopened, and one that goes back, say what became of their history', () => {
  const recovered = met.flatMap(({ type, threadId, payload }) =>
    /^(history|snapshot)\./.test(type) && type !== 'history.window.loaded' ? [[threadId, type, payload]] : [],
  )
  const origin = { mode: 'fork', originThreadId: 'draft-facts', messageId: 'paid' }
  expect(recovered).toEqual([
    ['draft-facts', 'history.reconstructed', { mode: 'reopened' }],
    ['draft-facts', 'snapshot.repaired', { mode: 'reopened' }],
    ['draft-facts-fork', 'history.rollback.started', origin],
    ['draft-facts-fork', 'history.rollback.completed', origin],
  ])
  const windows = met.filter(({ type }) => type === 'history.window.loaded')
  expect(windows.length).toBeGreaterThan(0)
  for (const { payload } of windows) {
    expect(payload['messages']).toBeLessThanOrEqual(4)
    expect(payload['dropped']).toBeGreaterThan(0)
  }
})

/** Where each fact is read; what it says of the thread that has met everything. */
const READS: Readonly<Record<string, () => unknown>> = {
  session: async () => (await fixture.threads.sessions.get(thread.threadId))?.sessionId,
  thread: async () => (await fixture.threads.find(thread.threadId))?.threadId,
  turn: () => met.find(({ turnId }) => turnId === 'paid'),
  attachments: async () => (await thread.message('paid'))?.message.attachments[0]?.name,
  source_channel: async () => (await thread.message('paid'))?.source,
  request_ids: async () => (await thread.message('paid'))?.message.id,
  turn_status: () => has('turn.completed') && has('turn.failed'),
  model_routing: async () => (await thread.routing()).choice?.model,
  tool_calls: async () => (await thread.toolCall('call_1_1_0'))?.status,
  action_requests: () => has('action.required') && has('action.resolved'),
  subagents: async () => (await thread.children()).children[0]?.name,
  snapshots: async () => (await thread.snapshot()).lastRun,
  thread_read_model: async () => (await thread.readModel()).lastOutcome,
  queue: async () => (await thread.queue()).items,
  pending_requests: async () => (await thread.readModel()).pending,
  incidents: async () => (await thread.diagnostics()).incidents[0],
  checkpoints: async () => (await thread.artifacts()).newest[0]?.version && (await thread.boundaries())[0],
  tool_inventory: async () => (await thread.tools()).tools.find(({ toolName }) => toolName === 'refund'),
  context_refs: () => has('context.resolved'),
  artifact_refs: () => met.find(({ refs }) => refs?.['artifactId'] !== undefined),
  policy_decisions: async () => (await thread.decisions())[0]?.decision,
  trace_ids: () => met.find(({ traceId }) => traceId !== undefined),
  spans: () => met.find(({ spanId }) => spanId !== undefined),
  timeline: () => met.map(({ sequence }) => sequence),
}

test('AR-W.4 each fact of the five layers is read of a thread that has met everything, or is unavailable by its name', async () => {
  const { facts } = fixture.threads.capabilities()
  expect(facts.map(({ layer, name }) => `${layer} ${name}`)).toEqual(
    Object.entries(LAYERS).flatMap(([layer, names]) =>
      names.split(', ').map((name) => `${layer} ${name.replaceAll(' ', '_')}`),
    ),
  )
  const of = (status: string) => facts.flatMap((one) => (one.status === status ? [one.name] : []))
  expect(of('available')).toEqual(Object.keys(READS))
  for (const name of of('available')) expect([name, Boolean(await READS[name]?.())]).toEqual([name, true])
  expect((await thread.message('paid'))?.source).toBe('client')
  for (const { status, detail } of facts) if (status === 'unavailable') expect(detail).toMatch(/\w+ \w+/)
})

test('AR-W.2 each of the semantics that the draft asks for is met in one thread, or its parts are unavailable by name', async () => {
  const semantics: Readonly<Record<string, readonly string[]>> = {
    'submitted user turns and agent tasks with attempts, progress, graph edges, and delivery state': [
      ...['turn.submitted', 'turn.started', 'turn.completed', '-create_task', '-retry_task', '-link_tasks'],
      '-append_task_progress',
    ],
    'model routing, fallback, limits, and token/cost accounting': [
      ...['routing.decided', 'routing.fallback.applied', 'rate_limit.hit', 'cost.recorded'],
    ],
    'streaming text, reasoning, and structured output': ['model.delta', 'reasoning.summary'],
    'tool calls, tool results, large output refs, and tool errors': [
      ...['tool.started', 'tool.result', 'artifact.changed', 'tool.failed'],
    ],
    'human approval, structured input, interruption, and resume': [
      ...['permission.requested', 'action.resolved', 'turn.failed', 'history.reconstructed'],
    ],
    'queues, steering, long-running turns, and subagents': [
      ...['queue.changed', 'subagent.spawned', 'subagent.completed'],
    ],
    'context assembly, memory retrieval, compaction, and missing context': [
      ...['context.resolved', 'context.compaction.completed', 'history.window.loaded'],
      '-knowledge_base_tools',
    ],
    'artifact refs, evidence refs, replay cases, and review exports': [
      ...['artifact.changed', '-export_evidence', '-export_replay', '-export_review'],
    ],
  }
  const { commands, unavailable } = fixture.threads.capabilities()
  const missing = [...commands, ...unavailable].flatMap((one) =>
    'status' in one && one.status === 'available' ? [] : [one.name],
  )
  for (const [meant, parts] of Object.entries(semantics))
    for (const part of parts)
      expect([meant, part, part.startsWith('-') ? missing.includes(part.slice(1)) : has(part)]).toEqual([
        ...[meant, part, true],
      ])
  // Delivery, structured output and large results are reads.
  expect(await thread.message('paid')).toMatchObject({ end: { kind: 'delivered', runId: 'run_1' } })
  expect((await fixture.threads.get('draft-facts-sorter').result())?.output).toEqual({ sum: 3 })
  const large = met.find(({ type, refs }) => type === 'tool.result' && refs?.['outputRef'] !== undefined)
  expect(large?.refs?.['outputRef']).toContain('/files/content?path=')
})
