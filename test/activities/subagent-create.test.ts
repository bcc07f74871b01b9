import { describe, expect, test } from 'vitest'
import { executeTool } from '../../src/activities/tool/execute-tool.js'
import { defineHook } from '../../src/index.js'
import type { ExecuteToolInput } from '../../src/protocol/activities.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { statFile } from '../../src/store/files/files.js'
import { insertChild, updateChild } from '../../src/store/threads/children.js'
import { findThread } from '../../src/store/threads/threads.js'
import { attempt } from './activity-desk.js'
import { withSubagents } from './children-desk.js'

const CREATE = 'subagent_create'
const WISH = { agent: 'resident', name: 'Rita', message: 'Look.', attachments: [] } as const

describe('an instance that stays', () => {
  test('SA-R-07.1b SA-A-07.11a has all of its fields in the registry', () =>
    withSubagents({}, async (desk) => {
      const { reference, input, ...child } = await desk.child(CREATE, WISH)
      expect(child).toMatchObject({ agent: 'resident', resumable: true })
      expect(await desk.registered(reference)).toMatchObject({
        ...{ name: 'resident', title: 'The resident', description: 'Works as resident', thread_name: 'Rita' },
        ...{ resumable: true, blocking: false, parent_communication: 'implicit', receives: 'b' },
        ...{ status: 'running', closed_at: null, spawn_group_id: null, call_id: input.callId },
      })
      expect(await desk.store.read((db) => findThread(db, reference))).toMatchObject({
        ...{ parent_thread_id: 't', depth: 1, resumable: true, title: 'Rita' },
      })
    }))

  test('SA-A-07.10a SA-A-07.12b gets message and files with paths of its own', () =>
    withSubagents({}, async (desk) => {
      await desk.writeFile('/notes/a.txt')
      const { reference } = await desk.child(CREATE, { ...WISH, attachments: ['/notes/a.txt'] })
      const [first] = await desk.transcript(reference)
      expect(first).toMatchObject({ role: 'user', content: 'Look.', position: null })
      expect(first?.attachments).toMatchObject([{ path: '/attachments/a.txt' }])
      expect(await desk.store.read((db) => statFile(db, reference, '/notes/a.txt'))).toBeNull()
    }))

  test('SA-R-07.4a SA-R-07.4b arguments may give the message and files', () =>
    withSubagents({}, async (desk) => {
      await desk.writeFile('/b.txt')
      const { message: _message, ...wish } = WISH
      const args = { task: 'Mapped.', files: '/b.txt' }
      const { reference } = await desk.child(CREATE, { ...wish, arguments: args })
      const [first] = await desk.transcript(reference)
      expect(first).toMatchObject({ content: 'Mapped.', attachments: [{ path: '/attachments/b.txt' }] })
    }))

  test('a call that waits says for how long', () =>
    withSubagents({}, async (desk) => {
      const input = await desk.call(CREATE, { ...WISH, agent: 'steward' })
      expect(await desk.prepare(input)).toMatchObject({ group: false, blocking: true, timeout: 7000 })
    }))
})

describe('a wrong call makes no child', () => {
  test.each<readonly [string, Readonly<Record<string, unknown>>, string]>([
    [
      'no agent',
      { agent: undefined },
      'names no agent that can be created. Expected one of: resident, steward',
    ],
    ['an agent that is no instance', { agent: 'helper' }, 'names no agent'],
    ['no name', { name: undefined }, 'Expected "name"'],
    ['an empty name', { name: '' }, 'Expected "name"'],
    ['a blank name', { name: ' \n' }, 'Expected "name"'],
    ['no message', { message: undefined }, 'Expected "message"'],
    ['a blank message', { message: ' ' }, 'Expected "message"'],
    ['files that are no list', { attachments: '/a' }, 'Expected "attachments" as a list'],
    ['a file that is missing', { attachments: ['/a'] }, 'There is no file "/a"'],
    ['a folder', { attachments: ['/notes'] }, '"/notes" is a folder'],
    ['arguments of another shape', { arguments: { task: 7 } }, 'arguments: task: '],
    ['arguments that are no object', { arguments: [] }, 'arguments: Expected the arguments as a JSON object'],
  ])('SA-A-07.7b %s', (_what, patch, words) =>
    withSubagents({}, async (desk) => {
      await desk.writeFile('/notes/a.txt')
      const input = await desk.call(CREATE, { ...WISH, ...patch })
      expect(await desk.prepare(input)).toMatchObject({ type: 'result', outcome: 'failed' })
      expect((await desk.result())?.content).toContain(words)
      expect(await desk.registry()).toEqual([])
    }),
  )
})

describe('the cap of instances', () => {
  test('SA-R-07.2b SA-A-07.7d names the cap, instances and the way out', () =>
    withSubagents({}, async (desk) => {
      const first = await desk.child(CREATE, WISH)
      await desk.child(CREATE, { ...WISH, name: 'Ron' })
      const input = await desk.call(CREATE, { ...WISH, name: 'Ruth' })
      expect(await desk.prepare(input)).toMatchObject({ type: 'result', outcome: 'failed' })
      const { content } = (await desk.result()) ?? {}
      expect(content).toContain('at most 2 open instances')
      expect(content).toContain('Use subagent_message to give work to one that exists: ')
      // Made in the same moment, they may come in either order.
      expect(content).toContain(`Rita (reference: ${first.reference})`)
      expect(await desk.store.read((db) => findToolCall(db, 't', input.callId))).toMatchObject({
        error_code: 'max_instances',
      })
      expect(await desk.registry()).toHaveLength(2)
    }))

  test('counts those that are open', () =>
    withSubagents({}, async (desk) => {
      const { reference } = await desk.child(CREATE, WISH)
      await desk.child(CREATE, { ...WISH, name: 'Ron' })
      await desk.store.write((tx) => updateChild(tx, { parentThreadId: 't', reference }, { closed_at: 1 }))
      await desk.child(CREATE, { ...WISH, name: 'Ruth' })
      expect(await desk.registry()).toHaveLength(3)
    }))

  test.each(['steward', 'guarded'])('of %s is looked at again as the child is written', (agent) => {
    const taken = { agent, name: agent, description: '', resumable: true, blocking: false } as const
    let insert: () => Promise<unknown> = () => Promise.resolve()
    const created = defineHook({
      hook: 'after_subagent_created',
      id: 'created',
      execute: async () => void (await insert()),
    })
    return withSubagents({ hooks: [created] }, async (desk) => {
      insert = () =>
        desk.store.write((tx) =>
          insertChild(tx, {
            ...{ ...taken, parent_thread_id: 't', reference: 'other', call_id: 'other' },
            ...{ created_at: 1, status: 'running' },
          }),
        )
      const input = await desk.call(CREATE, { ...WISH, agent })
      expect(await desk.prepare(input)).toMatchObject({ type: 'result', outcome: 'failed' })
      expect((await desk.result())?.content).toContain('at most 1 open instance, and has 1')
      expect((await desk.registry()).map(({ reference }) => reference)).toEqual(['other'])
      const { length } = (await desk.transcript()).filter(({ role }) => role === 'tool')
      expect(length).toBe(1)
    })
  })

  test('a thread has a hundred open subagents, and no more', () =>
    withSubagents({}, async (desk) => {
      const input = await desk.call(CREATE, WISH)
      expect(await desk.prepare(input, { open: 100 })).toMatchObject({ outcome: 'failed' })
      expect((await desk.result())?.content).toContain('100 subagents of this thread are open')
    }))
})

describe('a flag is looked at again before the call', () => {
  const secluded = { ...WISH, agent: 'secluded' }
  test.each(['true', 'TRUE', '1', 'yes', ' Yes '])('SA-R-07.3a SA-A-07.5b %j lets it start', (FLAG) =>
    withSubagents({ env: { FLAG } }, async (desk) => {
      await desk.child(CREATE, secluded)
      await desk.child('flagged', { task: 'x' })
      expect(await desk.registry()).toHaveLength(2)
    }),
  )

  test.each(['false', '0', 'no', 'on', 'y', ''])('SA-R-07.3a SA-A-07.5b %j does not', (FLAG) =>
    withSubagents({ env: { FLAG } }, async (desk) => {
      expect(await desk.prepare(await desk.call(CREATE, secluded))).toMatchObject({ outcome: 'failed' })
      expect((await desk.result())?.content).toContain('Expected one of: resident, steward, guarded.')
      expect(await desk.prepare(await desk.call('flagged', { task: 'x' }))).toMatchObject({
        outcome: 'failed',
      })
      expect((await desk.result())?.content).toContain('"flagged" is not enabled')
      expect(await desk.registry()).toEqual([])
    }),
  )
})

describe('the lifecycle tools', () => {
  const kindOf = (desk: Parameters<Parameters<typeof withSubagents>[1]>[0], input: unknown) =>
    attempt().run((given: ExecuteToolInput) => executeTool(desk.dependencies, given), {
      ...(input as ExecuteToolInput),
      response: null,
    })

  test.each([CREATE, 'subagent_message'])('%s is a kind of its own', (name) =>
    withSubagents({}, async (desk) => {
      expect(await kindOf(desk, await desk.call(name, {}))).toEqual({ type: 'kind', tool: { kind: name } })
    }),
  )

  test('an instance is not called by the name of its agent', () =>
    withSubagents({}, async (desk) => {
      expect(await kindOf(desk, await desk.call('resident', { task: 'x' }))).toMatchObject({
        outcome: 'failed',
      })
      expect(await desk.registry()).toEqual([])
    }))
})
