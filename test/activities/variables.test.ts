import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { ActivityDependencies } from '../../src/activities/activity.js'
import { promptOf } from '../../src/definitions/plan/plan-content.js'
import { missingVariables } from '../../src/activities/variables/variables.js'
import { withVariables } from '../../src/activities/variables/resolved-prompt.js'
import { buildPlan } from '../../src/definitions/plan/build-plan.js'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import { LIMITS } from '../../src/protocol/limits.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { findVariables, putVariable } from '../../src/store/threads/variables.js'
import { withThread } from './buffered-call.js'
import type { TestThread } from './buffered-call.js'

const desk = registry({
  models: [defineModel({ name: 'chat', provider: { languageModel: () => ({}) as never }, model: 'm' })],
  prompts: [
    definePrompt({
      name: 'desk',
      toolDescription: 'Answers',
      model: 'chat',
      prompt: [
        { type: 'text', content: 'Desk of ' },
        { type: 'env', property: 'COMPANY' },
        { type: 'text', content: ' in ' },
        { type: 'env', property: 'CITY' },
        { type: 'text', content: '.' },
      ],
      variables: [
        { name: 'COMPANY', type: 'text', required: true, description: 'Shown' },
        { name: 'TOKEN', type: 'secret', required: false, scoped: true, description: 'Of this thread' },
      ],
      env: { CITY: 'Rome', FROM_PROMPT: 'prompt' },
      tools: ['charge', 'summarize'],
    }),
    definePrompt({
      name: 'summarize',
      toolDescription: 'Summarizes',
      model: 'chat',
      prompt: 'Summarize.',
      requiredSchema: z.object({ text: z.string() }),
      variables: [{ name: 'STYLE', type: 'text', required: true, description: 'Of summaries' }],
    }),
  ],
  agents: [
    defineAgent({ name: 'support', sideA: { prompt: 'desk' }, env: { CITY: 'Bern', FROM_AGENT: 'agent' } }),
  ],
  tools: {
    charge: defineTool({
      description: 'Charges',
      variables: [{ name: 'PAY_KEY', type: 'secret', required: true, description: 'Of the service' }],
      execute: () => ({ status: 'success' }),
    }),
  },
})

const plan = buildPlan(desk, 'support')
if ('missing' in plan) throw new Error('Expected a plan.')
const content = plan
const worker = { registry: desk, env: { CITY: 'Oslo', RELAY: 'https://relay', INSTANCE_ONLY: 'instance' } }

function put({ store }: TestThread, threadId: string, values: Readonly<Record<string, string>>) {
  return store.write(async (tx) => {
    for (const [name, value] of Object.entries(values))
      await putVariable(tx, store.secrets, { threadId, name, value, type: 'text', now: 1 })
  })
}

/** `t` becomes a child of `parent`, which is one of `root`. */
function family({ store }: TestThread) {
  return store.write(async (tx) => {
    await insertThread(tx, { id: 'root', agent: 'boss', created_at: 1 })
    await insertThread(tx, { id: 'parent', agent: 'boss', created_at: 1, parent_thread_id: 'root' })
    await tx.updateTable('threads').set({ parent_thread_id: 'parent' }).where('id', '=', 't').execute()
  })
}

const systemOf = async (dependencies: ActivityDependencies) => {
  const scope = { threadId: 't', agent: 'support', content }
  const [part] = (await withVariables(dependencies, scope, promptOf(content, 'a'))).system
  return part?.type === 'text' ? part.content : undefined
}

describe('the value of a variable', () => {
  test("SA-A-01.2i is the agent's where nothing above gives one", () =>
    withThread(
      async (thread) => {
        const read = async () => (await thread.open('c', { content })).state.env('CITY')
        expect(await read()).toBe('Bern')
        await put(thread, 't', { CITY: 'Paris' })
        expect(await read()).toBe('Paris')
      },
      { registry: desk },
    ))

  test('K-25 is taken from thread, instance, agent, prompt, in this order', () =>
    withThread(async (thread) => {
      const read = async (name: string) => (await thread.open('c', { content })).state.env(name)
      expect(await read('FROM_PROMPT')).toBe('prompt')
      expect(await read('FROM_AGENT')).toBe('agent')
      expect(await read('INSTANCE_ONLY')).toBe('instance')
      expect(await read('CITY')).toBe('Oslo')
      await put(thread, 't', { CITY: 'Paris' })
      expect(await read('CITY')).toBe('Paris')
    }, worker))

  test('KP-09.4 comes from the nearest parent that has one, and changes in its own thread alone', () =>
    withThread(async (thread) => {
      await family(thread)
      await put(thread, 'root', { A: 'root', B: 'root' })
      await put(thread, 'parent', { B: 'parent' })
      const call = await thread.open('c', { content })
      expect([await call.state.env('A'), await call.state.env('B')]).toEqual(['root', 'parent'])
      await call.state.setEnv('A', 'own', { type: 'text' })
      await thread.commit(call)
      const later = await thread.open('later', { content })
      const parent = await thread.open('above', { content, threadId: 'root' })
      expect([await later.state.env('A'), await parent.state.env('A')]).toEqual(['own', 'root'])
    }, worker))

  test("is not a parent's where the graph scopes the name", () =>
    withThread(async (thread) => {
      await family(thread)
      await put(thread, 'parent', { TOKEN: 'of the parent' })
      const { state } = await thread.open('c', { content })
      await expect(state.env('TOKEN')).rejects.toThrow('"TOKEN" to have a value, got none')
      await put(thread, 't', { TOKEN: 'own' })
      expect(await state.env('TOKEN')).toBe('own')
    }, worker))

  test('may be empty, and a missing one names the ways to set it', () =>
    withThread(async (thread) => {
      await put(thread, 't', { EMPTY: '' })
      const { state } = await thread.open('c', { content })
      expect(await state.env('EMPTY')).toBe('')
      await expect(state.env('constructor')).rejects.toThrow("in the worker's env")
    }, worker))
})

describe('setEnv', () => {
  test('T9 is seen by the call, then sealed with its outcome', () =>
    withThread(async ({ store, open, commit }) => {
      const call = await open('c', { content })
      await call.state.setEnv('PAY_KEY', 'canary-1')
      expect(await call.state.env('PAY_KEY')).toBe('canary-1')
      expect(await store.read((db) => findVariables(db, 't', ['PAY_KEY']))).toEqual([])
      expect((await commit(call)).operations).toEqual([{ kind: 'set_env' }])
      const [row] = await store.read((db) => findVariables(db, 't', ['PAY_KEY']))
      expect(row).toMatchObject({ type: 'secret', key_id: store.secrets.keyIds[0] })
      expect(row?.value).not.toContain('canary')
      expect(await (await open('d', { content })).state.env('PAY_KEY')).toBe('canary-1')
    }, worker))

  test('keeps types: declared, given, stored, else secret', () =>
    withThread(async ({ open, commit }) => {
      const call = await open('c', { content })
      const { state } = call
      await state.setEnv('COMPANY', 'Acme')
      await state.setEnv('PAY_KEY', 'k', { type: 'text' })
      await state.setEnv('NOTE', 'n', { type: 'text' })
      await state.setEnv('OTHER', 'o')
      const typesOf = async (asked: typeof state) =>
        Promise.all(['COMPANY', 'PAY_KEY', 'NOTE', 'OTHER', 'NEVER_SET'].map((name) => asked.envType(name)))
      const expected = ['text', 'secret', 'text', 'secret', 'secret']
      expect(await typesOf(state)).toEqual(expected)
      await commit(call)
      const next = await open('d', { content })
      await next.state.setEnv('NOTE', 'again')
      expect(await typesOf(next.state)).toEqual(expected)
    }, worker))

  test('refuses names and values that cannot be ones', () =>
    withThread(async ({ open }) => {
      const { state } = await open('c', { content })
      await expect(state.setEnv('', 'x')).rejects.toThrow('1 to 128 characters')
      await expect(state.setEnv('A\nB', 'x')).rejects.toThrow('without control characters')
      await expect(state.env(3 as never)).rejects.toThrow('got a number')
      await expect(state.setEnv('A', 1 as never)).rejects.toThrow('to be a text, got a number')
      await expect(state.setEnv('A', 'x'.repeat(LIMITS.variableBytes + 1))).rejects.toThrow(
        'write it to a file',
      )
      await expect(state.setEnv('A', 'x', { type: 'number' as never })).rejects.toThrow('"text" or "secret"')
    }, worker))

  test('of a secret without a key says what to set', () =>
    withThread(
      async ({ open, commit }) => {
        const call = await open('c', { content })
        const refused = call.state.setEnv('PAY_KEY', 'canary-2')
        await expect(refused).rejects.toThrow('set EVERTHREAD_SECRET_KEY or store.secretKey')
        await expect(refused).rejects.not.toThrow('canary')
        await call.state.setEnv('COMPANY', 'Acme')
        expect((await commit(call)).operations).toHaveLength(1)
      },
      { ...worker, secretKey: '' },
    ))
})

describe('a system text', () => {
  test('SA-R-04.1 has the values of its variables', () =>
    withThread(
      async (thread) => {
        await put(thread, 't', { COMPANY: 'Acme' })
        expect(await systemOf(thread.dependencies)).toBe('Desk of Acme in Bern.')
        await put(thread, 't', { CITY: 'Paris' })
        expect(await systemOf(thread.dependencies)).toBe('Desk of Acme in Paris.')
      },
      { registry: desk },
    ))

  test('T5 never has a secret, nor the name of what is missing', () =>
    withThread(
      async ({ store, dependencies }) => {
        await store.write((tx) =>
          putVariable(tx, store.secrets, { threadId: 't', name: 'CITY', value: 'canary-3', now: 1 }),
        )
        expect(await systemOf(dependencies)).toBe('Desk of  in .')
      },
      { registry: desk },
    ))

  test('T5 has no instance value that nobody declares a text', () =>
    withThread(async ({ dependencies }) => {
      expect(await systemOf(dependencies)).toBe('Desk of  in .')
    }, worker))
})

describe('what a run requires', () => {
  test('is that of its prompt, its tools and the prompts among them', () =>
    withThread(async (thread) => {
      const look = () =>
        missingVariables(thread.dependencies, { threadId: 't', agent: 'support', content, prompt: 'desk' })
      expect(await look()).toEqual({
        required: ['COMPANY', 'PAY_KEY', 'STYLE'],
        missing: ['COMPANY', 'PAY_KEY', 'STYLE'],
      })
      await put(thread, 't', { COMPANY: '', STYLE: 'short' })
      expect(await look()).toMatchObject({ missing: ['PAY_KEY'] })
    }, worker))
})
