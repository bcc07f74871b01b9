/** The write boundary as a whole: each route that changes something, what it is in the client, and what it leaves. */
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { ThreadClient } from '../../src/client/index.js'
import type { Capabilities, ThreadHandle } from '../../src/client/index.js'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import { createThreadApp } from '../../src/server/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import { createWorkingFixture } from '../client/working-fixture.js'
import type { WorkingFixture } from '../client/working-fixture.js'
import { startDevServer } from '../support/servers.js'
import type { DevServer } from '../support/servers.js'
import { factTypes } from '../support/thread-facts.js'
import { until } from '../support/until.js'

interface Command {
  /** The method of the client, of a thread, of `sessions`, `webhooks` or `remoteCalls`. */
  readonly method: string
  /** What makes a repetition harmless: a key of the caller, an id in the path or body, or that it says what is to be. */
  readonly repeats: 'key' | 'id' | 'state'
  /** The name of the Agent Runtime draft. */
  readonly draft?: string
  /** Whose it is, if it changes no thread: no log of a thread has it. */
  readonly owner?: 'account' | 'deletion' | 'tool worker'
}

const COMMANDS: Readonly<Record<string, Command>> = {
  createThread: { method: 'create', repeats: 'key', draft: 'submit_turn' },
  sendMessage: { method: 'send', repeats: 'key', draft: 'submit_turn' },
  sendUIMessages: { method: 'submitUIMessages', repeats: 'id', draft: 'submit_turn' },
  runAgUiThread: { method: 'send', repeats: 'id', draft: 'submit_turn' },
  runAgUiAgent: { method: 'send', repeats: 'id', draft: 'submit_turn' },
  stopThread: { method: 'stop', repeats: 'key', draft: 'interrupt_turn' },
  cancelMessage: { method: 'cancel', repeats: 'key', draft: 'interrupt_turn' },
  continueThread: { method: 'continue', repeats: 'key', draft: 'resume_thread' },
  answerRequest: { method: 'respond', repeats: 'id', draft: 'respond_action' },
  supplyVariables: { method: 'respond', repeats: 'id', draft: 'respond_action' },
  setVariables: { method: 'setEnv', repeats: 'key', draft: 'respond_action' },
  removeQueued: { method: 'removeQueued', repeats: 'key', draft: 'remove_queued_turn' },
  promoteQueued: { method: 'promote', repeats: 'key', draft: 'promote_queued_turn' },
  queueTool: { method: 'queueTool', repeats: 'key', draft: 'spawn_subagent' },
  terminateThread: { method: 'terminate', repeats: 'key', draft: 'close_subagent' },
  forkThread: { method: 'fork', repeats: 'key' },
  compactThread: { method: 'compact', repeats: 'key' },
  uploadFile: { method: 'writeFile', repeats: 'key' },
  deleteFile: { method: 'unlinkFile', repeats: 'key' },
  revokeGrant: { method: 'revokeGrant', repeats: 'id', draft: 'resolve_permission' },
  updateSession: { method: 'update', repeats: 'state' },
  escalateSession: { method: 'escalate', repeats: 'state' },
  resolveSession: { method: 'resolve', repeats: 'state' },
  archiveSession: { method: 'archive', repeats: 'state' },
  unarchiveSession: { method: 'unarchive', repeats: 'state' },
  setPermissions: { method: 'setPermissions', repeats: 'state', owner: 'account' },
  removePermissions: { method: 'setPermissions', repeats: 'state', owner: 'account' },
  setBudgets: { method: 'setBudgets', repeats: 'state', owner: 'account' },
  removeBudgets: { method: 'setBudgets', repeats: 'state', owner: 'account' },
  createWebhook: { method: 'create', repeats: 'id', owner: 'account' },
  updateWebhook: { method: 'update', repeats: 'state', owner: 'account' },
  redeliverWebhook: { method: 'redeliver', repeats: 'id', owner: 'account' },
  deleteWebhook: { method: 'delete', repeats: 'id', owner: 'account' },
  deleteThread: { method: 'deleteThread', repeats: 'id', owner: 'deletion' },
  purgeSession: { method: 'purge', repeats: 'id', owner: 'deletion' },
  claimToolCall: { method: 'claim', repeats: 'id', owner: 'tool worker' },
  writeToolCallFile: { method: 'writeFile', repeats: 'id', owner: 'tool worker' },
  answerToolCall: { method: 'answer', repeats: 'id', owner: 'tool worker' },
}

const guarded = defineTool({
  ...{ description: 'Pays back', needsApproval: true, capabilities: ['orders.refund'] },
  execute: () => ({ status: 'success' }),
})
/** Says what its newest message asks for; `hold` never answers. */
const chat = scriptedModel(({ messages }) => {
  const last = messages.at(-1)
  if (last?.role !== 'user') return { text: 'Done.' }
  if (last.text.includes('hold')) return new Promise(() => undefined)
  return last.text.includes('pay') ? { toolCalls: [{ name: 'refund', args: {} }] } : { text: 'Done.' }
})
const speaks = { toolDescription: 'x', model: 'chat', includeChat: true } as const
const KEY = { name: 'KEY', type: 'text', required: true, description: 'A key' } as const
const desk = registry({
  models: [defineModel({ name: 'chat', provider: { languageModel: () => chat }, model: 'x' })],
  prompts: [
    definePrompt({ ...speaks, name: 'clerk', prompt: 'You sell.', tools: ['refund'] }),
    definePrompt({ ...speaks, name: 'keyed', prompt: 'You unlock.', variables: [KEY] }),
  ],
  agents: ['clerk', 'keyed'].map((name) => defineAgent({ name, sideA: { prompt: name } })),
  tools: {
    refund: guarded,
    count: defineTool({
      description: 'Counts',
      args: z.object({}),
      execute: () => ({ status: 'success' }),
    }),
  },
})

let server: DevServer
let fixture: WorkingFixture
beforeAll(async () => {
  server = await startDevServer()
  const workflowBundle = { codePath: inject('workflowBundlePath') }
  fixture = await createWorkingFixture({ registry: desk, server, workflowBundle })
})
afterAll(async () => {
  await fixture.close()
  await server.stop()
})

interface Published {
  readonly operationId: string
  readonly route: string
  readonly takesKey: boolean
}

/** All routes, as the published document has them. */
async function operationsOf(): Promise<readonly Published[]> {
  const text = await readFile(new URL('../../docs/generated/openapi.json', import.meta.url), 'utf8')
  const { paths } = JSON.parse(text) as {
    paths: Record<string, Record<string, { operationId: string; parameters?: readonly { name?: string }[] }>>
  }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters = [] }]) => {
      const takesKey = parameters.some(({ name }) => name?.toLowerCase() === 'idempotency-key')
      return { operationId, route: `${method.toUpperCase()} ${path}`, takesKey }
    }),
  )
}

/** The routes that change something. */
async function published(): Promise<readonly Published[]> {
  return (await operationsOf()).filter(({ route }) => !route.startsWith('GET '))
}

test('each route that changes something is a method of the client too, and harmless to repeat', async () => {
  const routes = await published()
  expect(routes.map(({ operationId }) => operationId).toSorted()).toEqual(Object.keys(COMMANDS).toSorted())
  const { threads } = fixture
  const methods = new Set([
    ...Object.getOwnPropertyNames(ThreadClient.prototype),
    ...[threads.get('t'), threads.sessions, threads.webhooks, threads.remoteCalls].flatMap((of) =>
      Object.keys(of),
    ),
  ])
  for (const { operationId, takesKey } of routes) {
    const { method, repeats } = COMMANDS[operationId] ?? {}
    expect([operationId, methods.has(method ?? ''), takesKey]).toEqual([operationId, true, repeats === 'key'])
  }
})

/** The commands of the draft, from the two tables of its control plane, word for word; rows of both are one here. */
const DRAFT = `
submit_turn
interrupt_turn
resume_thread
create_task / update_task / start_task / append_task_progress
pause_task / resume_task / cancel_task / retry_task
complete_task / fail_task / list_tasks / get_task
link_tasks / unlink_tasks
respond_action
remove_queued_turn / promote_queued_turn
get_session
get_thread_read
get_tool_inventory
spawn_subagent / send_subagent_input / wait_subagents / resume_subagent / close_subagent
export_evidence / export_replay
evaluate_permission / resolve_permission
get_execution_environment
write_process_stdin / terminate_process
list_subagents / list_jobs / create_job / get_job / cancel_job
reconnect_channel / ack_events
export_review
start_benchmark_trial / record_benchmark_reward / export_benchmark_trial / compare_benchmark_runs`

/** The method of the client that is written so, such as `threads.sessions.get`; undefined: there is none. */
function methodOf(written: string): unknown {
  const { threads } = fixture
  return written.split('.').reduce<unknown>((of, key) => (of as Record<string, unknown> | undefined)?.[key], {
    threads,
    thread: threads.get('t'),
  })
}

test('AR-CP.0 each command of the draft is a method and a route, or is named as unavailable with its reason', async () => {
  const app = createThreadApp({ client: fixture.threads, tokens: [{ token: TOKEN }] })
  const response = await app.request('/capabilities', { headers: { authorization: `Bearer ${TOKEN}` } })
  const { commands } = (await response.json()) as Capabilities
  expect(commands).toEqual(fixture.threads.capabilities().commands)
  expect(commands.map(({ name }) => name)).toEqual(DRAFT.split(/[\s/]+/).slice(1))
  const operations = new Set((await operationsOf()).map(({ operationId }) => operationId))
  for (const command of commands)
    if (command.status === 'unavailable') expect(command.reason, command.name).toMatch(/\w+ \w+/)
    else
      expect([command.name, typeof methodOf(command.client), operations.has(command.operation)]).toEqual([
        ...[command.name, 'function', true],
      ])
  // What a route says that it is in the draft is available there.
  const available = commands.flatMap(({ name, status }) => (status === 'available' ? [name] : []))
  for (const { draft } of Object.values(COMMANDS)) if (draft !== undefined) expect(available).toContain(draft)
})

test('AR-CP.22 what a route changes is in the log of its thread, or belongs to another owner', async () => {
  const log = new Map<string, readonly string[]>()
  const asked = new Set<string>()
  const app = createThreadApp({ client: fixture.threads, tokens: [{ token: TOKEN }] })
  const routes = new Map((await published()).map(({ operationId, route }) => [operationId, route]))

  /** Gives a command over HTTP, and waits for each of these events in the log of the thread. */
  const give = async (
    thread: ThreadHandle,
    [operation, leaves]: readonly [string, readonly string[]],
    { body, ...params }: Readonly<Record<string, unknown>> = {},
  ): Promise<void> => {
    const { threadId } = thread
    const before = log.get(threadId)?.length ?? 0
    asked.add(operation)
    const [method = '', path = ''] = (routes.get(operation) ?? '').split(' ')
    const known: Readonly<Record<string, unknown>> = { threadId, sessionId: threadId, ...params }
    const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) =>
      encodeURIComponent(String(known[name])),
    )
    const isText = typeof body === 'string'
    const response = await app.request(
      `${filled}${typeof params['query'] === 'string' ? params['query'] : ''}`,
      {
        method,
        headers: {
          authorization: `Bearer ${TOKEN}`,
          ...(body !== undefined && { 'content-type': isText ? 'text/plain' : 'application/json' }),
        },
        ...(body !== undefined && { body: isText ? body : JSON.stringify(body) }),
      },
    )
    expect([operation, response.status < 300 ? 'ok' : await response.text()]).toEqual([operation, 'ok'])
    await response.body?.cancel()
    await until(`${operation}: ${leaves.join(', ')}`, async () => {
      const types = await factTypes(thread)
      log.set(threadId, types)
      const added = types.slice(before)
      return leaves.every((type) => added.includes(type))
    })
  }

  const made = await app.request('/threads', {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ agent: 'clerk', key: 'control-plane' }),
  })
  asked.add('createThread')
  const { threadId } = (await made.json()) as { threadId: string }
  const thread = fixture.threads.get(threadId)
  expect(await factTypes(thread)).toEqual(['thread.started', 'session.created'])
  const send = async (content: string, id: string) => thread.send({ content, id })
  const started = ['queue.changed', 'run.started', 'message.created', 'run.completed']
  await give(thread, ['sendMessage', started], { body: { content: 'Hello' } })
  await give(thread, ['sendUIMessages', started], {
    body: { messages: [{ id: 'ui', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }] },
  })
  const input = { runId: 'r', state: {}, tools: [], context: [], forwardedProps: {} }
  const messages = (id: string) => [{ id, role: 'user', content: 'Hello' }]
  await give(thread, ['runAgUiThread', started], { body: { ...input, threadId, messages: messages('ag') } })
  const other = fixture.threads.get('control-plane-ag-ui')
  await give(other, ['runAgUiAgent', ['thread.started', ...started]], {
    ...{ agent: 'clerk', body: { ...input, threadId: other.threadId, messages: messages('ag') } },
  })
  await give(thread, ['queueTool', ['queue.changed', 'tool.started', 'tool.result']], {
    body: { name: 'count' },
  })
  await thread.waitUntilIdle()
  const file = { query: '?path=/a', body: 'one' }
  await give(thread, ['uploadFile', ['file.changed']], file)
  await give(thread, ['deleteFile', ['file.changed']], { query: '?path=/a' })
  await give(thread, ['setVariables', ['variables.changed']], { body: { env: { OTHER: '1' } } })

  // The next step answers it.
  await give(thread, ['compactThread', []], { body: {} })
  const fork = fixture.threads.get('control-plane-fork')
  await give(thread, ['forkThread', []], { body: { id: fork.threadId } })
  expect(await factTypes(fork)).toEqual(['thread.started', 'session.created'])

  await send('hold this', 'held')
  await until('a request', async () => (await factTypes(thread)).at(-1) === 'model.requested')
  expect(await factTypes(thread)).toContain('context.compaction.completed')
  await give(thread, ['cancelMessage', ['run.cancelled']], { messageId: 'held' })
  await send('hold that', 'held-again')
  await until('a request', async () => (await factTypes(thread)).at(-1) === 'model.requested')
  await give(thread, ['stopThread', ['run.cancelled']], { body: {} })
  for (const id of ['one', 'two', 'three']) await thread.send({ content: 'Waits', role: 'assistant', id })
  await give(thread, ['removeQueued', ['message.ended', 'queue.changed']], { itemId: 'one' })
  // What the workflow alone knows is written with what it does next.
  await give(thread, ['promoteQueued', []], { itemId: 'three' })
  await give(thread, ['continueThread', ['queue.changed', 'run.started', 'run.completed']])

  await send('pay it', 'paid')
  await until('a request of a person', async () => (await factTypes(thread)).includes('action.required'))
  const [request] = (await thread.snapshot()).pending
  await give(thread, ['answerRequest', ['action.resolved', 'policy.changed', 'tool.result']], {
    ...{ requestId: request?.id, body: { approved: true, remember: { for: 'thread' } } },
  })
  await thread.waitUntilIdle()
  const grants = await fixture.threads.grants()
  await give(thread, ['revokeGrant', ['policy.changed']], { grantId: grants[0]?.id })

  const keyed = await fixture.threads.create({ agent: 'keyed', id: 'control-plane-keyed', message: 'Hello' })
  await until('a request for a variable', async () => (await keyed.snapshot()).pending.length === 1)
  const [lacks] = (await keyed.snapshot()).pending
  await give(keyed, ['supplyVariables', ['variables.changed', 'action.resolved']], {
    ...{ requestId: lacks?.id, body: { env: { KEY: 'x' } } },
  })
  await keyed.waitUntilIdle()

  const updated = ['session.updated']
  await give(thread, ['updateSession', updated], { body: { title: 'A refund' } })
  await give(thread, ['escalateSession', updated], { body: { to: 'ann' } })
  await give(thread, ['resolveSession', updated])
  await give(thread, ['archiveSession', updated])
  await give(thread, ['unarchiveSession', updated])
  await give(thread, ['terminateThread', ['thread.terminating', 'thread.closed']], {
    body: { reason: 'Enough' },
  })

  // No command was left out, and the promotion is in the log by now.
  const expected = Object.entries(COMMANDS).filter(([, { owner }]) => owner === undefined)
  expect([...asked].toSorted()).toEqual(expected.map(([operation]) => operation).toSorted())
  const changes: (readonly string[] | undefined)[] = []
  for await (const { type, payload } of thread.events({ follow: false }))
    if (type === 'queue.changed') changes.push(payload.promoted)
  expect(changes).toContainEqual(['three'])
})

const TOKEN = 'token-of-an-operator'
