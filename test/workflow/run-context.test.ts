import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'

import { defineAgent, defineHook, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import type { ActionContext, HookPoints, Policy, RunContext, ThreadState } from '../../src/index.js'
import { runContext } from '../../src/server/thread-schemas.js'
import type { TaskEvent } from '../../src/views/protolink.js'
import { createFamilyScripts } from '../support/family-scripts.js'
import { createGate } from '../support/gate.js'
import { approve, calls, done, order } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { factsOf } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'
import { unscripted } from '../support/unscripted.js'

const task = z.object({ task: z.string() })
const execute = (): never => {
  throw new Error('Expected the tool to be faked by the test.')
}
const speaks = {
  ...{ toolDescription: 'Speaks', model: 'voice', requiredSchema: task },
  ...{ includeChat: true, includePastTools: true },
} as const

const pair = <const Name extends string>(name: Name, prompt: string) =>
  defineAgent({
    ...{ name, type: 'dual_ai', exposeAsTool: true, toolDescription: `Works as ${name}` },
    ...{
      sideA: { prompt },
      sideB: { prompt: 'judge', sessionStop: { name: 'approve', messageProperty: 'summary' } },
    },
    // A subagent that allows everything weakens nothing.
    permissions: { '*': 'allow' },
  })

let inTool: (state: ThreadState) => Promise<void> = async () => undefined
let guard: HookPoints['before_tool_call'] = () => null

/** A desk with a subagent that has a subagent; each may pay money back. */
const desk = registry({
  models: [defineModel({ name: 'voice', provider: unscripted, model: 'scripted' })],
  prompts: [
    definePrompt({ ...speaks, name: 'desk', prompt: 'You sell.', tools: ['refund', 'lead'] }),
    definePrompt({ ...speaks, name: 'leading', prompt: 'You lead.', tools: ['refund', 'deep'] }),
    definePrompt({ ...speaks, name: 'working', prompt: 'You work.', tools: ['refund'] }),
    definePrompt({
      ...{
        toolDescription: 'Judges',
        model: 'voice',
        name: 'judge',
        prompt: 'You judge.',
        tools: ['approve'],
      },
    }),
  ],
  agents: [
    defineAgent({ name: 'desk', sideA: { prompt: 'desk' }, hooks: ['guard'] }),
    pair('lead', 'leading'),
    pair('deep', 'working'),
  ],
  hooks: [defineHook({ hook: 'before_tool_call', id: 'guard', execute: (...given) => guard(...given) })],
  tools: {
    refund: defineTool({
      description: 'Pays money back',
      args: task,
      capabilities: ['orders.refund'],
      execute,
    }),
    approve: defineTool({ description: 'Ends the work', args: z.object({ summary: z.string() }), execute }),
  },
})

const scripts = createFamilyScripts(desk)
const contexts: ActionContext[] = []
let policy: Policy = () => true
beforeEach(() => {
  contexts.length = 0
  policy = () => true
  guard = () => null
})

threeModes(
  {
    ...{ registry: desk, models: scripts.models, tools: scripts.tools },
    policy: async (action, context) => {
      if (action.name === 'refund') contexts.push(context)
      return policy(action, context)
    },
  },
  (mode) => {
    let number = 0
    const start = async (given: object, ...replies: readonly ReturnType<typeof calls>[]) => {
      const id = `context-${(number += 1)}-${mode.mode.replaceAll(' ', '-')}`
      let refunds = 0
      scripts.script(id, mode.env.store, {
        voices: {
          desk: [...replies, done],
          leading: [calls(order('refund')), calls(order('deep')), done],
          working: [calls(order('refund')), done],
          judge: [approve(), approve()],
        },
        tools: {
          refund: async (state) => {
            refunds += 1
            await inTool(state)
            return { status: 'success', result: marked('Paid') }
          },
        },
      })
      const message = { content: marked('Hello') }
      const thread = await mode.env.threads.create({ agent: 'desk', id, message, ...given })
      await thread.waitUntilIdle()
      return { thread, refunds: () => refunds }
    }
    const childOf = async (threadId: string) => {
      const [child] = (await mode.env.threads.get(threadId).snapshot()).children
      if (child === undefined) throw new Error('Expected a child.')
      return mode.env.threads.get(child.reference)
    }

    test('PL-RC.5 a subagent, and its own, keep session, owner, permissions and budget, and know what started them', async () => {
      const given = {
        ...{ account: 'acme', userId: 'ann', budgets: { tree: { maxModelCalls: 50 } } },
        ...{ permissions: { 'orders.keep': 'deny' }, permissionMode: 'on_request', interactive: false },
      }
      const { thread } = await start(given, calls(order('refund')), calls(order('lead')))
      const child = await childOf(thread.threadId)
      const grandchild = await childOf(child.threadId)
      expect(contexts.map(({ threadId }) => threadId)).toEqual([
        ...[thread.threadId, child.threadId, grandchild.threadId],
      ])
      const [ofRoot, ofChild, ofGrandchild] = contexts
      expect(ofRoot).toMatchObject({ parent: null, agentChain: ['desk'], run: 1, step: 1 })
      const { sessionId, account, userId, permissions } = { ...ofRoot }
      const kept = { sessionId, account, userId, permissions }
      expect(kept).toEqual({
        ...{ sessionId: thread.threadId, account: 'acme', userId: 'ann' },
        permissions: { 'orders.keep': 'deny' },
      })
      const [, startsChild] = await thread.decisions()
      const [, startsGrandchild] = await child.decisions()
      expect(ofChild).toMatchObject({
        ...{ ...kept, agent: 'lead', agentChain: ['desk', 'lead'] },
        parent: { threadId: thread.threadId, runId: 'run_1', toolCallId: startsChild?.toolCallId },
      })
      expect(ofGrandchild).toMatchObject({
        ...{ ...kept, agent: 'deep', agentChain: ['desk', 'lead', 'deep'] },
        parent: { threadId: child.threadId, runId: 'run_1', toolCallId: startsGrandchild?.toolCallId },
      })
      const [root, lower] = [await thread.snapshot(), await grandchild.snapshot()]
      expect(root).toMatchObject({ parent: null, parentRun: null, agentChain: ['desk'] })
      expect(lower).toMatchObject({
        ...{ root: thread.threadId, parent: child.threadId, parentRun: 'run_1' },
        agentChain: ['desk', 'lead', 'deep'],
      })
      const [above, below] = [await thread.permissions(), await grandchild.permissions()]
      expect([below.modes, below.interactive]).toEqual([above.modes, above.interactive])
      expect(below.rules).toEqual(expect.arrayContaining([...above.rules]))
      const ofTree = async (one: typeof thread) =>
        (await one.budget()).filter(({ scope }) => scope === 'tree')
      expect(await ofTree(grandchild)).toEqual(await ofTree(thread))
      expect(await ofTree(thread)).not.toEqual([])
    })

    test('PL-RC.2 PL-RC.4 PL-RC.6 tools, hooks, the policy and the client get one context of a run, which subagents carry on', async () => {
      const seen: RunContext[] = []
      const hooked: RunContext[] = []
      inTool = async (state) => {
        if (state.execution !== null) seen.push(await state.execution.runContext())
      }
      guard = async (state) => {
        if (state.execution !== null) hooked.push(await state.execution.runContext())
        return null
      }
      const metadata = { ticket: 17, nested: { of: ['a', null] } }
      const { thread } = await start(
        {
          ...{ metadata, workspaceUri: 'file:///desk' },
          ...{ permissions: { 'orders.keep': 'deny' }, budgets: { tree: { maxModelCalls: 50 } } },
          message: { content: marked('Hello'), runPermissions: { 'orders.void': 'deny' } },
        },
        calls(order('refund')),
        calls(order('lead')),
      )
      const child = await childOf(thread.threadId)
      const grandchild = await childOf(child.threadId)
      const shared = {
        ...{ sessionId: thread.threadId, workspaceUri: 'file:///desk', metadata, canceled: false },
        permissions: { 'orders.keep': 'deny', 'orders.void': 'deny' },
        budget: { tree: { maxModelCalls: 50 } },
      }
      const expected = [
        { ...shared, runId: `${thread.threadId}:run_1`, parentRunId: null, agentChain: ['desk'] },
        {
          ...{ ...shared, runId: `${child.threadId}:run_1`, agentChain: ['desk', 'lead'] },
          parentRunId: `${thread.threadId}:run_1`,
        },
        {
          ...{ ...shared, runId: `${grandchild.threadId}:run_1`, agentChain: ['desk', 'lead', 'deep'] },
          parentRunId: `${child.threadId}:run_1`,
        },
      ].map((context) => ({ ...context, traceId: null }))
      expect(seen).toEqual(expected)
      expect(hooked[0]).toEqual(expected[0])
      expect(contexts).toMatchObject(expected)
      const read = [thread, child, grandchild].map((one) => one.runContext('run_1'))
      expect(await Promise.all(read)).toEqual(expected)
      // It is JSON, has these fields and none for what was said, asked for or answered.
      expect(JSON.parse(JSON.stringify(seen))).toEqual(seen)
      for (const context of seen) {
        expect(runContext.strict().parse(context)).toEqual(context)
        expect(JSON.stringify(context)).not.toContain(marked('Hello'))
      }
      // Another turn is another run of the same session.
      inTool = async () => undefined
      guard = () => null
      await thread.send(marked('Again'))
      await thread.waitUntilIdle()
      const [second, newest] = [
        await thread.runContext(`${thread.threadId}:run_2`),
        await thread.runContext(),
      ]
      expect(second).toMatchObject({ runId: `${thread.threadId}:run_2`, sessionId: thread.threadId })
      expect(second?.permissions).toEqual({ 'orders.keep': 'deny' })
      expect(newest).toEqual(second)
      for (const none of ['run_3', 'run_01', `${child.threadId}:run_1`, 'x', 'run_99999999999'])
        expect(await thread.runContext(none)).toBeNull()
    })

    test('PL-RC.1 PL-RC.3 each run and call of a subagent has a context though only an id was given, and each task of the view carries it as one object', async () => {
      const seen: RunContext[] = []
      inTool = async (state) => {
        if (state.execution !== null) seen.push(await state.execution.runContext())
      }
      const { thread } = await start({}, calls(order('refund')), calls(order('lead')))
      const child = await childOf(thread.threadId)
      const threads = [thread, child, await childOf(child.threadId)]
      const ids = threads.map(({ threadId }) => `${threadId}:run_1`)
      // The default runtime made one for the run, and for the calls of a subagent and of its own.
      expect(seen.map(({ runId, sessionId }) => [runId, sessionId])).toEqual(
        ids.map((id) => [id, thread.threadId]),
      )
      expect(JSON.parse(JSON.stringify(seen))).toStrictEqual(seen)
      for (const [index, one] of threads.entries()) {
        // Streamed: each event has it from the first one on, with the id of the session that was given as that of the thread.
        const events: TaskEvent[] = []
        for await (const { event } of one.view('pl_task', { follow: false })) events.push(event)
        const contexts = events.map((event) =>
          event.kind === 'status-update'
            ? (event.task?.metadata.run_context ?? event.context)
            : event.context,
        )
        expect(contexts.every((context) => context?.session_id === thread.threadId)).toBe(true)
        const tasks = events.flatMap((event) =>
          event.kind === 'status-update' && event.task !== undefined ? [event.task] : [],
        )
        expect(tasks.length).toBeGreaterThan(0)
        for (const task of tasks) {
          // In place of single keys there is one object, which survives a round trip.
          expect(Object.keys(task.metadata)).toEqual(['run_context'])
          expect(task.metadata.run_context).toMatchObject({ run_id: ids[index], trace_id: null })
          expect(JSON.parse(JSON.stringify(task))).toStrictEqual(task)
        }
      }
      inTool = async () => undefined
    })

    test('PL-CX.1 what is cancelled is a state, a context, a signal of the process and an entry of the active ones: four things, and what is serialized holds no signal', async () => {
      const began = createGate()
      let signal: AbortSignal | undefined
      inTool = async (state) => {
        signal = state.execution?.abortSignal
        began.open()
        await new Promise((resolve) => state.execution?.abortSignal.addEventListener('abort', resolve))
      }
      const id = `context-stop-${mode.mode.replaceAll(' ', '-')}`
      scripts.script(id, mode.env.store, {
        voices: { desk: [calls(order('refund')), done], leading: [], working: [], judge: [] },
        tools: {
          refund: async (state) => (await inTool(state), { status: 'success', result: marked('Paid') }),
        },
      })
      const message = { id: `${id}-m`, content: marked('Hello') }
      const thread = await mode.env.threads.create({ agent: 'desk', id, message })
      await began.passed
      const active = async () => (await mode.env.threads.sessions.get(id))?.activeThreads
      const [before, snapshot] = [await thread.runContext(), await thread.snapshot()]
      expect([before?.canceled, signal?.aborted, await active()]).toEqual([false, false, [id]])
      expect(signal).toBeInstanceOf(AbortSignal)
      await thread.cancel(message.id)
      await thread.waitUntilIdle()
      const after = await thread.runContext()
      expect([after?.canceled, signal?.aborted, await active()]).toEqual([true, true, []])
      const taken = await thread.message(message.id)
      expect(taken?.end).toMatchObject({ kind: 'delivered', runId: 'run_1' })
      expect((await factsOf(thread)).at(-1)).toMatchObject({ type: 'run.cancelled', runId: 'run_1' })
      for (const serialized of [before, after, snapshot, await thread.snapshot(), await factsOf(thread)])
        expect(JSON.parse(JSON.stringify(serialized))).toStrictEqual(serialized)
      inTool = async () => undefined
    })

    test.each([
      ['its thread', { permissions: { 'orders.*': 'deny' } }, 'thread'],
      ['its run', { message: { content: marked('Hello'), runPermissions: { 'orders.*': 'deny' } } }, 'run'],
    ] as const)(
      'PL-RC.8 what a rule of %s denies cannot be done through a subagent, nor through its subagent',
      async (_what, given, source) => {
        const { thread, refunds } = await start(given, calls(order('refund')), calls(order('lead')))
        const child = await childOf(thread.threadId)
        const grandchild = await childOf(child.threadId)
        const refused = []
        for (const one of [thread, child, grandchild])
          refused.push((await one.decisions()).find(({ toolName }) => toolName === 'refund'))
        const denied = { decision: 'denied', source, rules: [`${source}:orders.*`], startedAt: null }
        expect(refused).toMatchObject([denied, denied, denied])
        expect(refunds()).toBe(0)
      },
    )

    test('AR-CP.15 the policy of the host, a hook and a person take part: each decision is an event with its scope', async () => {
      const evaluated = async (thread: Awaited<ReturnType<typeof start>>['thread']) =>
        (await factsOf(thread)).filter(({ type }) => type.startsWith('permission.'))
      const scope = { runId: 'run_1', stepId: 'step_1_1', toolCallId: 'call_1_1_0' }
      const called = { toolName: 'refund', action: 'tool' }

      policy = () => ({ effect: 'deny', reason: 'Not today.' })
      const byHost = await start({}, calls(order('refund')))
      expect(await evaluated(byHost.thread)).toMatchObject([
        {
          ...scope,
          type: 'permission.evaluated',
          payload: { ...called, decision: 'denied', source: 'policy' },
        },
      ])

      policy = () => true
      guard = () => ({ effect: 'deny', reason: 'Not by this desk.' })
      const byHook = await start({}, calls(order('refund')))
      expect(await evaluated(byHook.thread)).toMatchObject([
        {
          ...scope,
          payload: { ...called, decision: 'denied', source: 'hook', hook: 'guard' },
        },
      ])

      guard = () => ({ effect: 'require_approval' })
      const byPerson = await start({}, calls(order('refund')))
      const [request] = (await byPerson.thread.snapshot()).pending
      await byPerson.thread.respond(request?.id ?? '', { approved: true, by: 'ben' })
      await byPerson.thread.waitUntilIdle()
      expect(await evaluated(byPerson.thread)).toMatchObject([
        { ...scope, type: 'permission.evaluated', payload: { ...called, decision: 'asked', source: 'hook' } },
        { ...scope, type: 'permission.requested', payload: { requestId: request?.id } },
        {
          ...scope,
          type: 'permission.resolved',
          payload: { requestId: request?.id, resolution: 'allowed', by: 'ben' },
        },
      ])
      expect([byHost.refunds(), byHook.refunds(), byPerson.refunds()]).toEqual([0, 0, 1])
    })
  },
)
