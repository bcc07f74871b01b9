import { afterEach, beforeEach, describe, expect, test } from 'vitest'

import { ThreadClient } from '../../src/client/index.js'
import type { ThreadTool, ThreadTools } from '../../src/client/index.js'
import type { ThreadPermissions } from '../../src/policy/judge.js'
import { ThreadNotFoundError } from '../../src/protocol/errors.js'
import { findInventory } from '../../src/store/agents.js'
import { insertGrant } from '../../src/store/calls/grants.js'
import { insertToolCalls } from '../../src/store/calls/tool-calls.js'
import { insertRun } from '../../src/store/threads/runs.js'
import { insertThread } from '../../src/store/threads/threads.js'
import type { NewThread } from '../../src/store/threads/threads.js'
import { putVariable } from '../../src/store/threads/variables.js'
import { listWorkerAgents } from '../../src/worker/worker-agents.js'
import { inventoryDesk } from '../support/inventory-desk.js'
import { createClientFixture } from './client-fixture.js'
import type { ClientFixture } from './client-fixture.js'

type WorkerFields = Omit<Parameters<typeof listWorkerAgents>[0], 'registry' | 'store'>

let fixture: ClientFixture
let made = 0

/** Nothing connects to Temporal: an inventory is read from the store. */
beforeEach(async () => {
  fixture = await createClientFixture()
})
afterEach(() => fixture.close())

const start = (worker: WorkerFields = {}): Promise<void> =>
  listWorkerAgents({ registry: inventoryDesk, store: fixture.store, ...worker })

async function add(agent: string, row: Partial<NewThread> = {}): Promise<string> {
  const id = `thread-${(made += 1)}`
  await fixture.store.write((tx) => insertThread(tx, { id, agent, created_at: 1, ...row }))
  return id
}

async function toolsOf(agent: string, permissions: ThreadPermissions | null = null): Promise<ThreadTools> {
  return fixture.threads.get(await add(agent, { permissions })).tools()
}

const policies = ({ tools }: ThreadTools) =>
  Object.fromEntries(tools.map(({ toolName, policy }) => [toolName, policy]))

function only({ tools }: ThreadTools, name: string): ThreadTool {
  const tool = tools.find(({ toolName }) => toolName === name)
  if (tool === undefined) throw new Error(`Expected the tool ${name}.`)
  return tool
}

const TASK = {
  type: 'object',
  properties: { task: { type: 'string' } },
  required: ['task'],
  additionalProperties: false,
}
const NOTHING = { type: 'object', properties: {}, additionalProperties: false }
const OF_SIDE = { side: 'a', prompt: 'every', metadataRef: null, interruptBehavior: 'cancel' }
const ALLOWED = { policy: 'allowed', decision: { decision: 'allowed' }, dependsOnArguments: false }
const WRITES = { isReadOnly: false, isConcurrencySafe: false, isDestructive: false, isIdempotent: false }
const STARTS = { ...WRITES, isIdempotent: true, needsApproval: false, timeout: null, ...ALLOWED }
const READS = { ...WRITES, isReadOnly: true, isConcurrencySafe: true }

test('AR-TC.1 AR-TC.8 the inventory has schema, capabilities, flags, policy and owner of each kind of tool', async () => {
  await start()
  const { tools, ...thread } = await toolsOf('every')
  expect(thread).toMatchObject({ agent: 'every', unavailable: null })
  expect(thread.recordedAt).toBeGreaterThan(1e15)
  expect(tools.map(({ toolName }) => toolName)).toEqual([
    ...['look', 'refund', 'ship', 'weigh', 'far', 'draft', 'chief', 'runner', 'keeper'],
  ])
  expect(tools.filter((tool) => !isPartOf(OF_SIDE, tool))).toEqual([])
  const expected = {
    look: {
      ...{ kind: 'function', runtimeOwner: 'local', description: 'Looks', inputSchema: TASK },
      ...{ ...READS, isIdempotent: true, capabilities: ['orders.read'], timeout: 300_000 },
      ...{ needsApproval: false, ...ALLOWED },
    },
    refund: {
      ...{ kind: 'function', runtimeOwner: 'local', inputSchema: TASK, capabilities: ['orders.refund'] },
      ...{ ...WRITES, isDestructive: true, needsApproval: true, policy: 'ask', dependsOnArguments: false },
      decision: {
        ...{ decision: 'asked', source: 'tool', capabilities: ['orders.refund'] },
        destructive: { impact: 'The money is gone.', undo: 'Charge again.' },
      },
    },
    ship: {
      ...{
        kind: 'function',
        runtimeOwner: 'local',
        taskQueue: 'trucks',
        inputSchema: NOTHING,
        timeout: 1_000,
      },
      ...{ ...WRITES, capabilities: [], ...ALLOWED },
    },
    weigh: { ...WRITES, needsApproval: 'by_arguments', policy: 'ask', dependsOnArguments: true },
    far: {
      ...{ kind: 'remote', runtimeOwner: 'remote', taskQueue: 'python', activity: 'far', ...READS },
      ...ALLOWED,
    },
    draft: {
      ...{ kind: 'prompt', runtimeOwner: 'prompt', description: 'Speaks', inputSchema: TASK },
      ...{ capabilities: ['texts.draft'], ...STARTS },
    },
    chief: { kind: 'hand_off', runtimeOwner: 'agent', capabilities: ['people.hand_over'], ...STARTS },
    runner: { kind: 'subagent', runtimeOwner: 'subagent', capabilities: ['agents.run'], ...STARTS },
  }
  expect(Object.fromEntries(tools.map((tool) => [tool.toolName, tool]))).toMatchObject(expected)
  const instances = await toolsOf('instances')
  const lifecycle = { runtimeOwner: 'subagent', capabilities: ['agents.keep'], ...STARTS }
  expect(instances.tools).toMatchObject([
    { toolName: 'subagent_create', kind: 'subagent_create', ...lifecycle },
    { toolName: 'subagent_message', kind: 'subagent_message', ...lifecycle },
  ])
  const sides = (await toolsOf('runner')).tools.map(({ side, prompt, toolName }) => [side, prompt, toolName])
  expect(sides).toEqual([
    ['a', 'worker', 'look'],
    ['b', 'judge', 'approve'],
  ])
})

function isPartOf(part: object, whole: object): boolean {
  const fields = new Map(Object.entries(whole))
  return Object.entries(part).every(([name, value]) => fields.get(name) === value)
}

describe('the inventory differs with', () => {
  const EVERY = {
    ...{ look: 'allowed', refund: 'ask', ship: 'allowed', weigh: 'ask', far: 'allowed' },
    ...{ draft: 'allowed', chief: 'allowed', runner: 'allowed', keeper: 'allowed' },
  }
  const modes: readonly (readonly [string, ThreadPermissions, object])[] = [
    ['no permissions', {}, {}],
    ['a rule', { permissions: { 'orders.read': 'deny' } }, { look: 'denied' }],
    [
      'a wildcard',
      { permissions: { '*': 'require_approval' } },
      { look: 'ask', draft: 'ask', chief: 'ask', runner: 'ask', keeper: 'ask' },
    ],
    ['untrusted', { mode: 'untrusted' }, { ship: 'ask', weigh: 'ask' }],
    ['on_request', { mode: 'on_request' }, {}],
    ['on_failure', { mode: 'on_failure' }, {}],
    ['never', { mode: 'never' }, { refund: 'denied', weigh: 'denied' }],
    ['plan', { mode: 'plan' }, { refund: 'denied', ship: 'denied', weigh: 'denied' }],
    ['auto', { mode: 'auto' }, {}],
    ['bypass', { mode: 'bypass' }, { refund: 'allowed', weigh: 'allowed' }],
    ['nobody to ask', { interactive: false }, { refund: 'denied', weigh: 'denied' }],
  ]

  test.each(modes)(
    'AR-CP.12 AR-SN.3 the inventory differs with %s of the thread',
    async (_what, permissions, different) => {
      await start()
      expect(policies(await toolsOf('every', permissions))).toEqual({ ...EVERY, ...different })
    },
  )

  test('rules, mode and policy function of the worker, and rules of the agent', async () => {
    await start({ permissions: { 'orders.read': 'deny' }, permissionMode: 'untrusted', policy: () => true })
    const tools = await toolsOf('ruled')
    const read = { decision: 'denied', source: 'worker', rules: ['worker:orders.read'] }
    expect(only(tools, 'look')).toMatchObject({ policy: 'denied', dependsOnArguments: false, decision: read })
    const rules = ['agent:orders.*']
    expect(only(tools, 'refund')).toMatchObject({ policy: 'ask', decision: { source: 'agent', rules } })
    expect(only(tools, 'ship')).toMatchObject({ policy: 'ask', dependsOnArguments: true })
    expect(only(tools, 'chief')).toMatchObject({ policy: 'allowed', dependsOnArguments: true })
  })

  test('an approval that is remembered, if it was given by somebody who may approve', async () => {
    await start({ approval: { roles: ['manager'] } })
    const id = await add('every')
    const remember = (name: string, approval: { readonly roles?: readonly string[][] }) =>
      fixture.store.write((tx) =>
        insertGrant(
          tx,
          { id, root_thread_id: id, account: null, user_id: null },
          {
            ...{ id: name, scope: 'thread', tool_name: 'refund', capabilities: ['orders.refund'], approval },
            ...{
              arguments_digest: null,
              request_id: name,
              granted_by: null,
              created_at: 1,
              expires_at: null,
            },
          },
        ),
      )
    await remember('of a clerk', {})
    expect(only(await fixture.threads.get(id).tools(), 'refund').policy).toBe('ask')
    await remember('of a manager', { roles: [['manager']] })
    expect(only(await fixture.threads.get(id).tools(), 'refund')).toMatchObject({
      ...{ policy: 'allowed', decision: { source: 'grant', grantId: 'of a manager' } },
    })
  })

  test('the agent in the arguments of a lifecycle tool', async () => {
    await start()
    const tools = await toolsOf('instances', { permissions: { 'agents.keep': 'deny' } })
    for (const name of ['subagent_create', 'subagent_message'])
      expect(only(tools, name)).toMatchObject({
        ...{ policy: 'allowed', dependsOnArguments: true, decision: { decision: 'allowed' } },
        agents: { keeper: 'denied', resident: 'allowed' },
      })
  })

  test('a failure in the run under way', async () => {
    await start()
    const id = await add('every', { permissions: { mode: 'on_failure' } })
    const thread = fixture.threads.get(id)
    await fixture.store.write(async (tx) => {
      await insertRun(tx, { thread_id: id, number: 1, trigger_kind: 'message', started_at: 1 })
      const call = { id: 'c', name: 'ship', arguments: '{}', status: 'failed', provider_call_id: '' } as const
      const placed = { thread_id: id, run: 1, step: 1, side: 'a', message_id: 'm', call_index: 0 } as const
      await insertToolCalls(tx, [{ ...call, ...placed }])
    })
    expect(policies(await thread.tools())).toEqual({ ...EVERY, ship: 'ask' })
    await fixture.store.write((tx) =>
      tx.updateTable('runs').set({ ended_at: 2 }).where('thread_id', '=', id).execute(),
    )
    expect(policies(await thread.tools())).toEqual(EVERY)
  })
})

describe('the summary of permissions', () => {
  test('AR-SN.9 has the rules of every source, the modes, and whether a policy function decides', async () => {
    const decide = (): null => null
    await start({ permissions: { '*': { most: 3 } }, permissionMode: 'untrusted', policy: decide as never })
    await fixture.threads.setPermissions({ account: 'acme' }, { 'orders.*': 'deny' })
    await fixture.threads.setPermissions({ account: 'acme', userId: 'ann' }, { 'texts.*': false })
    const permissions = { permissions: { 'people.*': 'deny' }, mode: 'plan', interactive: false } as const
    const id = await add('ruled', { account: 'acme', user_id: 'ann', permissions })
    const summary = await fixture.threads.get(id).permissions()
    expect(summary).toMatchObject({
      ...{ threadId: id, agent: 'ruled', interactive: false, hasPolicy: true, sandbox: 'unavailable' },
      modes: { worker: 'untrusted', thread: 'plan' },
      rules: [
        { source: 'worker', effects: { '*': 'allow' } },
        { source: 'agent', effects: { 'orders.*': 'require_approval' } },
        { source: 'account', effects: { 'orders.*': 'deny' } },
        { source: 'user', effects: { 'texts.*': 'deny' } },
        { source: 'thread', effects: { 'people.*': 'deny' } },
      ],
    })
    expect(summary.recordedAt).toBeGreaterThan(1e15)
  })

  test('AR-SN.9 says that what no worker has recorded is unknown', async () => {
    const summary = await fixture.threads.get(await add('unknown')).permissions()
    expect(summary).toMatchObject({
      recordedAt: null,
      hasPolicy: null,
      modes: {},
      rules: [],
      interactive: true,
    })
    await expect(fixture.threads.get('none').permissions()).rejects.toThrow(ThreadNotFoundError)
  })
})

describe('a tool is unavailable', () => {
  const why = (tools: ThreadTools, name: string) => [only(tools, name).policy, only(tools, name).unavailable]

  test('where no worker has recorded the agent: there is none, and a reason', async () => {
    await start()
    const tools = await toolsOf('unknown')
    expect(tools).toMatchObject({ agent: 'unknown', recordedAt: null, tools: [] })
    expect(tools.unavailable).toBe('No worker of this store has recorded the agent "unknown".')
    await expect(fixture.threads.get('none').tools()).rejects.toThrow(ThreadNotFoundError)
  })

  test('in a thread that is closed, and its decision stays', async () => {
    await start()
    const tools = await fixture.threads.get(await add('every', { closed_at: 2 })).tools()
    expect(tools.unavailable).toBe('The thread is closed.')
    expect(why(tools, 'refund')).toEqual(['unavailable', 'The thread is closed.'])
    expect(only(tools, 'refund').decision.decision).toBe('asked')
  })

  test('where neither the model nor a fallback can call tools, or the prompt forbids it', async () => {
    await start()
    const silent = await toolsOf('silent')
    expect(why(silent, 'look')).toEqual(['unavailable', 'No model of the prompt "silent" can call tools.'])
    expect(why(await toolsOf('rescued'), 'look')).toEqual(['allowed', undefined])
    const told = 'The prompt "told" has the toolChoice "none".'
    expect(why(await toolsOf('told'), 'look')).toEqual(['unavailable', told])
  })
})

describe('a subagent with a flag', () => {
  const set = (threadId: string, name: string, type: 'text' | 'secret', value = 'yes') =>
    fixture.store.write((tx) =>
      putVariable(tx, fixture.store.secrets, { threadId, name, value, type, now: 1 }),
    )
  const off = (flag: string) => `The variable "${flag}" that enables it is not on.`

  test('is available while its variable is on, by thread, worker or agent', async () => {
    await start({ env: { OF_WORKER: 'true' } })
    const id = await add('flagged')
    const thread = fixture.threads.get(id)
    const before = await thread.tools()
    expect(policies(before)).toEqual({
      ...{ look: 'allowed', runner: 'unavailable', second: 'unavailable', third: 'allowed' },
      ...{ fourth: 'allowed', fifth: 'unavailable' },
      ...{ subagent_create: 'unavailable', subagent_message: 'unavailable' },
    })
    expect(only(before, 'runner').unavailable).toBe(off('PLAIN'))
    expect(only(before, 'subagent_create').unavailable).toBe(`${off('KEPT')} ${off('PLAIN')}`)
    await set(id, 'PLAIN', 'text', ' TRUE ')
    await set(id, 'HIDDEN', 'secret')
    await set(id, 'KEPT', 'secret')
    const after = await thread.tools()
    // The agent declares KEPT as text, so what the store has sealed counts. Nobody declares HIDDEN: it is a secret.
    expect(policies(after)).toMatchObject({
      runner: 'allowed',
      second: 'unavailable',
      subagent_create: 'allowed',
    })
    await set(id, 'PLAIN', 'text', 'no')
    expect(policies(await thread.tools())).toMatchObject({ runner: 'unavailable' })
  })

  test('inherits its variable from a parent, unless the agent scopes it', async () => {
    await start()
    const parent = await add('every')
    const id = await add('flagged', { parent_thread_id: parent, root_thread_id: parent })
    await set(parent, 'PLAIN', 'text')
    await set(parent, 'OWN', 'text')
    const thread = fixture.threads.get(id)
    const inherited = await thread.tools()
    expect(policies(inherited)).toMatchObject({ runner: 'allowed', fifth: 'unavailable' })
    // Its schema names the agents that may be started now.
    const { inputSchema, agents } = only(inherited, 'subagent_create')
    expect(inputSchema).toMatchObject({ properties: { agent: { enum: ['resident'] } } })
    expect(agents).toEqual({ resident: 'allowed' })
    await set(id, 'OWN', 'text')
    expect(policies(await thread.tools())).toMatchObject({ fifth: 'allowed' })
  })

  test('cannot be judged by a client that does not open its variable', async () => {
    await start()
    const id = await add('flagged')
    const { secretKey: _, ...place } = fixture.place
    const keyless = new ThreadClient({ client: fixture.threads.temporal, taskQueue: 'q', store: place })
    try {
      await keyless.get(id).tools()
      await set(id, 'KEPT', 'secret')
      await expect(keyless.get(id).tools()).rejects.toMatchObject({ code: 'no_key' })
    } finally {
      await keyless.close()
    }
  })
})

test('a worker that starts again writes what has changed, and nothing else', async () => {
  const recorded = async () => (await toolsOf('every')).recordedAt
  await start()
  const first = await recorded()
  await start()
  expect(await recorded()).toBe(first)
  await start({ permissions: { 'orders.read': 'deny' } })
  expect(await recorded()).toBeGreaterThan(first ?? 0)
  expect(policies(await toolsOf('every'))).toMatchObject({ look: 'denied' })
})

test('no value of a variable is recorded', async () => {
  await start({ env: { OF_WORKER: 'a-secret-of-the-worker', PLAIN: 'a-text-of-the-worker' } })
  const flagged = await fixture.store.read((db) => findInventory(db, 'flagged'))
  expect(flagged?.inventory).toMatchObject({
    sides: { a: { flags: { PLAIN: { type: 'text', isOn: false } } } },
  })
  expect(JSON.stringify(flagged)).not.toContain('of-the-worker')
})
