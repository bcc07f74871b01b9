import { describe, expect, test } from 'vitest'
import { resolveVariables } from '../../src/activities/variables/variables.js'
import { defineHook } from '../../src/index.js'
import { LIMITS } from '../../src/protocol/limits.js'
import { findThread } from '../../src/store/threads/threads.js'
import { findVariables, putVariable } from '../../src/store/threads/variables.js'
import { NOW, withSubagents } from './children-desk.js'
import type { SubagentDesk } from './children-desk.js'

describe('a subagent called by its own name', () => {
  test('SA-R-07.4a SA-R-07.4b SA-R-07.4c maps its arguments', () =>
    withSubagents({}, async (desk) => {
      await desk.writeFile('/a.txt')
      const { reference, resumable } = await desk.child('helper', {
        task: 'Do it.',
        label: 'Hal',
        files: '/a.txt',
      })
      expect(resumable).toBe(false)
      const [first] = await desk.transcript(reference)
      expect(first).toMatchObject({ content: 'Do it.', attachments: [{ path: '/attachments/a.txt' }] })
      expect(await desk.registered(reference)).toMatchObject({
        ...{ thread_name: 'Hal', resumable: false, receives: null, blocking: false },
      })
      expect(await desk.store.read((db) => findThread(db, reference))).toMatchObject({
        ...{ title: 'Hal', resumable: false },
      })
    }))

  test('one that waits says for how long', () =>
    withSubagents({}, async (desk) => {
      const input = await desk.call('asker', { task: 'x' })
      expect(await desk.prepare(input)).toMatchObject({ group: false, blocking: true, timeout: 5000 })
    }))
})

describe('a fan-out', () => {
  const items = [
    { task: 'One', label: 'A' },
    { task: 'Two', label: 'B' },
    { task: 'Three', label: 'C' },
  ]

  test('starts one child for each of its items, as a group', () =>
    withSubagents({}, async (desk) => {
      const input = await desk.call('crew', { items })
      const answer = await desk.prepare(input)
      expect(answer).toMatchObject({ type: 'children', group: true, blocking: true })
      expect(await desk.prepare(input)).toEqual(answer)
      const rows = await desk.registry()
      expect(rows.map(({ spawn_group_id, call_id }) => [spawn_group_id, call_id])).toEqual(
        items.map(() => [input.callId, input.callId]),
      )
      const references = answer.type === 'children' ? answer.children.map(({ reference }) => reference) : []
      expect(rows.map(({ reference }) => reference)).toEqual(references)
      const tasks = await Promise.all(references.map(async (id) => (await desk.transcript(id))[0]?.content))
      expect(tasks).toEqual(['One', 'Two', 'Three'])
    }))

  test.each<readonly [string, unknown, string]>([
    ['no list', { task: 'x' }, 'Expected "items" as a list of 1 to 50 arguments, got something else.'],
    ['an empty list', { items: [] }, 'got 0 of them'],
    ['too many', { items: Array.from({ length: 51 }, () => ({ task: 'x' })) }, 'got 51 of them'],
    ['one wrong item', { items: [{ task: 'x' }, { label: 'y' }] }, 'items[1]: task: '],
    [
      'one missing file',
      { items: [{ task: 'x' }, { task: 'y', files: '/none' }] },
      'There is no file "/none"',
    ],
  ])('%s starts none of them', (_what, args, words) =>
    withSubagents({}, async (desk) => {
      expect(await desk.prepare(await desk.call('crew', args))).toMatchObject({ outcome: 'failed' })
      expect((await desk.result())?.content).toContain(words)
      expect(await desk.registry()).toEqual([])
    }),
  )

  test.each([
    [{ children: 9998 }, 'it may start 10000 in all'],
    [{ open: 98 }, '98 subagents of this thread are open'],
  ])('counts all of its children against %o', (bounds, words) =>
    withSubagents({}, async (desk) => {
      const input = await desk.call('crew', { items })
      expect(await desk.prepare(input, bounds)).toMatchObject({ outcome: 'failed' })
      expect((await desk.result())?.content).toContain(words)
    }),
  )

  test('each child meets the hooks of its parent', () => {
    const created = defineHook({
      hook: 'after_subagent_created',
      id: 'created',
      execute: async (_state, child) => {
        await child.injectMessage({ role: 'system', content: 'Be quick.' })
      },
    })
    return withSubagents({ hooks: [created] }, async (desk) => {
      const { children } = await desk.children('crew', { items })
      for (const { reference } of children)
        expect((await desk.transcript(reference)).map(({ content }) => content)).toContain('Be quick.')
    })
  })
})

/** As the runtime stages the call of a subagent that starts with its prompt. */
async function immediate(desk: SubagentDesk) {
  const input = await desk.call('herald', { task: 'Announce.' })
  await desk.store.write((tx) =>
    tx
      .updateTable('messages')
      .set({ metadata: JSON.stringify({ queued: true, immediate: true }) })
      .where('tool_calls', 'is not', null)
      .execute(),
  )
  return input
}

describe('values that are handed to a subagent', () => {
  const setToken = (desk: SubagentDesk) =>
    desk.store.write((tx) =>
      putVariable(tx, desk.store.secrets, { threadId: 't', name: 'TOKEN', value: 's3cret-token', now: NOW }),
    )

  test('SA-A-07.6e are its own, and secrets among them sealed', () =>
    withSubagents({}, async (desk) => {
      await setToken(desk)
      const answer = await desk.prepare(await immediate(desk))
      const [child] = answer.type === 'children' ? answer.children : []
      const reference = child?.reference ?? ''
      const rows = await desk.store.read((db) => findVariables(db, reference, ['TOKEN', 'NOTE']))
      expect(rows.map(({ name, type, for_graph }) => [name, type, for_graph])).toEqual([
        ['NOTE', 'text', 1],
        ['TOKEN', 'secret', 1],
      ])
      expect(JSON.stringify(rows)).not.toContain('s3cret-token')
      const scope = { threadId: reference, agent: 'herald', content: null, prompt: null }
      const values = await resolveVariables(desk.dependencies, scope, ['TOKEN', 'NOTE'])
      expect([values.get('TOKEN')?.open(), values.get('NOTE')?.open()]).toEqual([
        's3cret-token',
        'from the prompt',
      ])
    }))

  test('a call of a model hands over nothing', () =>
    withSubagents({}, async (desk) => {
      await setToken(desk)
      const { reference } = await desk.child('herald', { task: 'x' })
      expect(await desk.store.read((db) => findVariables(db, reference, ['TOKEN', 'NOTE']))).toEqual([])
    }))

  test('a secret that nobody can keep is an error result', () =>
    withSubagents({ env: { TOKEN: 's3cret-token' }, secretKey: '' }, async (desk) => {
      expect(await desk.prepare(await immediate(desk))).toMatchObject({ outcome: 'failed' })
      expect((await desk.result())?.content).toContain('no EVERTHREAD_SECRET_KEY')
    }))
})

test('T10 hooks of all children of one call have the bounds of one call', () => {
  const queues = defineHook({
    ...{ hook: 'after_subagent_created', id: 'queues' },
    execute: async (parent) => {
      for (let index = 0; index < 20; index += 1)
        await parent.queueMessage({ role: 'user', content: `Note ${index}.` })
    },
  })
  return withSubagents({ hooks: [queues] }, async (desk) => {
    const items = ['One', 'Two', 'Three'].map((task) => ({ task, label: task }))
    const answer = await desk.prepare(await desk.call('crew', { items }))
    if (answer.type !== 'children') throw new Error(`Expected children, got ${answer.type}.`)
    expect(answer.children).toHaveLength(3)
    expect(answer.operations).toHaveLength(LIMITS.queuedByCall)
  })
})
