/** A script that does with this library what the examples of Protolink do with theirs: each entry point has its equivalent. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { TaskEvent } from '../../src/views/protolink.js'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import { createTestEnvironment, scriptedModel } from '../../src/testing/index.js'
import { unscripted } from '../support/unscripted.js'

/** What Protolink's examples call, and what stands for it below, by the letters of the comments. */
const EQUIVALENTS = {
  'Task.create_infer(prompt)': 'a message of a thread (A)',
  'RunContext(...).attach_to_task(task)': 'what a thread is created with (B)',
  'RunContext.from_task(task)': 'thread.runContext() (C)',
  'llm.infer(query, tools, run_context, event_callback)': 'an agent with tools, and thread.view("pl") (D)',
  'create_llm("mock", default_response)': 'scriptedModel (E)',
  'llm.configure_metrics(profile)': 'prices of a model, and maxInputTokens of a budget (F)',
  'Agent(card, llm, policy, approval_handler, run_store, verbosity)':
    'defineAgent, and policy, store and approvals of worker and client (G)',
  '@agent.tool(name, description, capabilities, action_builder)': 'defineTool, with preview (H)',
  'agent.execute_task(task)': 'create and waitUntilIdle (I)',
  'agent.handle_task_streaming(task)': 'thread.view("pl_task") (J)',
  'action kind tool.call': 'kind "tool" of the action of a call (K)',
  'action kind resource.update': 'a capability of the tool, of any name (L)',
  'artifact kind preview': 'kind "preview" of an artifact of the action (M)',
} as const

// E: answers by default. F: what it costs.
const mock = scriptedModel(({ messages }) =>
  messages.at(-1)?.role === 'user'
    ? { toolCalls: [{ name: 'update_note', args: { path: '/notes/a.md', text: 'New' } }] }
    : { text: 'The report is short.' },
)
const pricing = { inputPrice: 1, outputPrice: 2 }
const reports = registry({
  models: [defineModel({ name: 'mock', provider: unscripted, model: 'mock', ...pricing })],
  prompts: [
    definePrompt({
      ...{ name: 'reporter', toolDescription: 'Reports', prompt: 'You report.', model: 'mock' },
      ...{ includeChat: true, includePastTools: true, tools: ['update_note'] },
    }),
  ],
  // G, the card.
  agents: [defineAgent({ name: 'reporter', description: 'Writes reports', sideA: { prompt: 'reporter' } })],
  tools: {
    // H, L: what it may touch, and what a person sees before it does.
    update_note: defineTool({
      description: 'Changes a note',
      args: z.object({ path: z.string(), text: z.string() }),
      capabilities: ['resource.update'],
      preview: (_state, { path, text }) => `Writes ${text.length} characters to ${path}`,
      execute: async (state, { path, text }) => {
        await state.writeFile(path, 'text/markdown', text)
        return { status: 'success', result: 'Written' }
      },
    }),
  },
})

test('PL-LC.8 each entry point of the examples of Protolink has an equivalent here, in a script that compiles and runs', async () => {
  const env = await createTestEnvironment({
    ...{ registry: reports, models: { mock }, server: 'dev' as const },
    // G, the policy.
    policy: (action) =>
      action.capabilities.includes('resource.update') ? { effect: 'require_approval' } : true,
  })
  try {
    // A, B, I: submitted, and on its way.
    const thread = await env.threads.create({
      ...{ agent: 'reporter', message: { content: 'Summarize the latest report', id: 'task_123' } },
      ...{ workspaceUri: 'file:///workspace', metadata: { desk: 'a' } },
      ...{ permissions: { 'fs.read': true }, budgets: { thread: { maxSteps: 8, maxInputTokens: 6_000 } } },
    })
    await thread.waitUntilIdle()
    // C
    const context = await thread.runContext()
    expect(context).toMatchObject({
      ...{ sessionId: thread.threadId, workspaceUri: 'file:///workspace', agentChain: ['reporter'] },
      ...{ permissions: { 'fs.read': true }, budget: { thread: { maxSteps: 8, maxInputTokens: 6_000 } } },
    })
    // G, the approval: it can be anywhere that reads the store. M
    const [request] = (await thread.snapshot()).pending
    await thread.respond(request?.id ?? '', { approved: true, by: 'ann' })
    const { reply } = await thread.waitUntilIdle()
    expect(reply?.content).toBe('The report is short.')
    const [decision] = await thread.decisions()
    // K, L, M
    expect(decision?.action).toMatchObject({
      ...{ kind: 'tool', name: 'update_note', capabilities: ['resource.update'] },
      artifacts: expect.arrayContaining([
        expect.objectContaining({ kind: 'preview', actionId: decision?.toolCallId }),
      ]),
    })
    // J: the stream of its task, with one final state. D: every event, as a callback would get it.
    const tasks: TaskEvent[] = []
    for await (const { event } of thread.view('pl_task', { follow: false })) tasks.push(event)
    const finals = tasks.filter((event) => event.kind === 'status-update' && event.final)
    expect(finals).toMatchObject([{ task_id: 'task_123', state: 'completed' }])
    const types = new Set<string>()
    for await (const { event } of thread.view('pl', { follow: false })) types.add(event.type)
    expect([...types]).toEqual(
      expect.arrayContaining(['context.prepared', 'llm.call.completed', 'task.status']),
    )
    // F
    expect(await thread.usage()).toMatchObject({ requests: 2, cost: expect.any(Number) })
    expect(Object.keys(EQUIVALENTS)).toHaveLength(13)
  } finally {
    await env.close()
  }
})
