import { describe, expect, test } from 'vitest'
import { expireChild } from '../../src/activities/subagents/expire-child.js'
import { openVariablesRequests } from '../../src/activities/variables/variables-requests.js'
import { resolveVariables } from '../../src/activities/variables/variables.js'
import { answerVariables } from '../../src/client/answers/respond.js'
import { defineHook } from '../../src/index.js'
import type { ExpireChildAnswer, ExpireChildInput } from '../../src/protocol/end-activities.js'
import { LIMITS } from '../../src/protocol/limits.js'
import type { ThreadOperation } from '../../src/protocol/operations.js'
import { closeOpenCalls } from '../../src/store/calls/open-calls.js'
import { answerFate, findRequest } from '../../src/store/calls/requests.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { findEffect, insertEffect } from '../../src/store/threads/effects.js'
import { findThread } from '../../src/store/threads/threads.js'
import { findVariables, putVariable } from '../../src/store/threads/variables.js'
import { attempt, drainOf, modelInput, runModel } from './activity-desk.js'
import { NOW, withSubagents } from './children-desk.js'
import type { SubagentDesk, SubagentParts } from './children-desk.js'
import { eventsOf } from './family.js'

const WISH = { agent: 'guarded', name: 'Gus', message: 'Guard.', attachments: ['/plan.txt'] }
const VALUES = { DOOR_CODE: 'open-sesame', VAULT_KEY: 'k3y-of-vault' }

type Deferral = Extract<ThreadOperation, { readonly kind: 'defer_child' }>

interface Deferred extends Deferral {
  readonly reference: string
  readonly callId: string
  /** As the model reads it. */
  readonly result: Readonly<Record<string, unknown>>
}

async function deferred(desk: SubagentDesk): Promise<Deferred> {
  await desk.writeFile('/plan.txt')
  const input = await desk.call('subagent_create', WISH)
  const answer = await desk.prepare(input)
  const operations = answer.type === 'result' ? (answer.operations ?? []) : []
  const operation = operations.find(({ kind }) => kind === 'defer_child')
  if (operation?.kind !== 'defer_child') throw new Error(`Expected a deferred child, got ${answer.type}.`)
  const result = JSON.parse((await desk.result())?.content ?? '') as Deferred['result']
  return { ...operation, callId: input.callId, reference: operation.child.reference, result }
}

/** Runs `work` with a subagent that waits for variables. */
function withDeferred(
  parts: SubagentParts,
  work: (desk: SubagentDesk, child: Deferred) => Promise<void>,
): Promise<void> {
  return withSubagents(parts, async (desk) => work(desk, await deferred(desk)))
}

const supply = (desk: SubagentDesk, requestId: string, values: Readonly<Record<string, string>> = VALUES) =>
  answerVariables(desk.store, { threadId: 't', requestId, values })

const requestRow = (desk: SubagentDesk, id: string) => desk.store.read((db) => findRequest(db, 't', id))

function expire(desk: SubagentDesk, { requestId, reference }: Deferred): Promise<ExpireChildAnswer> {
  const input: ExpireChildInput = {
    ...{ level: 1, threadId: 't', now: NOW, run: 1, facts: [] },
    requestId,
    reference,
  }
  return attempt().run((given: ExpireChildInput) => expireChild(desk.dependencies, given), input)
}

describe('a subagent that lacks variables', () => {
  test('SA-R-07.5a SA-A-07.8a is a structured error that names what its graph lacks', () =>
    withDeferred({}, async (desk, { requestId, result, child, expiresAt, callId, reference }) => {
      expect(result).toEqual({
        code: 'subagent_env_required',
        request_id: requestId,
        endpoint: `/threads/t/variables/${requestId}`,
        required: ['DOOR_CODE', 'VAULT_KEY', 'VAULT_CITY'],
        missing: ['DOOR_CODE', 'VAULT_KEY'],
        agent: 'guarded',
      })
      expect(child).toMatchObject({ agent: 'guarded', resumable: true })
      expect(expiresAt).toBe(NOW + LIMITS.deferredChild)
      expect(await desk.store.read((db) => findToolCall(db, 't', callId))).toMatchObject({
        ...{ status: 'failed', error_code: 'subagent_env_required' },
      })
      expect(await desk.result()).toMatchObject({ subagent_id: reference })
    }))

  test('SA-A-07.8c is there at once with all of its payload', () =>
    withDeferred({}, async (desk, { requestId, reference, child }) => {
      expect(await desk.registered(reference)).toMatchObject({
        ...{ status: 'deferred', thread_name: 'Gus', closed_at: null },
      })
      expect(await desk.transcript(reference)).toMatchObject([
        { id: child.messageId, content: 'Guard.', attachments: [{ path: '/attachments/plan.txt' }] },
      ])
      expect(await requestRow(desk, requestId)).toMatchObject({
        ...{ kind: 'variables', status: 'open', call_id: null },
        detail: { agent: 'guarded', missing: ['DOOR_CODE', 'VAULT_KEY'], child: reference },
      })
      const asked = (await desk.events()).find(({ type }) => type === 'action.required')
      expect(asked?.payload).toMatchObject({
        requestId,
        kind: 'variables',
        missing: ['DOOR_CODE', 'VAULT_KEY'],
      })
    }))

  test('has no name that could be guessed', () =>
    withDeferred({}, async (_desk, { requestId }) => {
      expect(requestId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4/)
    }))

  test('T4 a retry finds the same request', () =>
    withSubagents({}, async (desk) => {
      await desk.writeFile('/plan.txt')
      const input = await desk.call('subagent_create', WISH)
      expect(await desk.prepare(input)).toEqual(await desk.prepare(input))
      expect(await desk.registry()).toHaveLength(1)
    }))

  test('counts as an instance', () =>
    withDeferred({}, async (desk) => {
      expect(await desk.prepare(await desk.call('subagent_create', WISH))).toMatchObject({
        outcome: 'failed',
      })
      expect((await desk.result())?.content).toContain('at most 1 open instance, and has 1')
    }))

  test('takes no message before it starts', () =>
    withDeferred({}, async (desk, { reference }) => {
      const input = await desk.call('subagent_message', { referenceId: reference, message: 'x' })
      expect(await desk.message(input)).toMatchObject({ outcome: 'failed' })
      expect((await desk.result())?.content).toContain('it waits for variables')
    }))

  test('called by its own name waits all the same', () =>
    withSubagents({}, async (desk) => {
      const answer = await desk.prepare(await desk.call('vault', { task: 'x' }))
      expect(answer).toMatchObject({ operations: [{ kind: 'defer_child', child: { resumable: false } }] })
    }))

  test.each<readonly [string, SubagentParts]>([
    ['the worker has them', { env: VALUES }],
    ['the worker has one of them as an empty text', { env: { ...VALUES, DOOR_CODE: '' } }],
  ])('starts at once when %s', (_what, parts) =>
    withSubagents(parts, async (desk) => {
      await desk.writeFile('/plan.txt')
      expect(await desk.prepare(await desk.call('subagent_create', WISH))).toMatchObject({ type: 'children' })
    }),
  )

  test('does not start with what its parent alone has', () =>
    withSubagents({}, async (desk) => {
      await desk.store.write(async (tx) => {
        for (const [name, value] of Object.entries(VALUES))
          await putVariable(tx, desk.store.secrets, { threadId: 't', name, value, now: NOW })
      })
      const { result } = await deferred(desk)
      expect(result['missing']).toEqual(['DOOR_CODE', 'VAULT_KEY'])
    }))

  test('starts at once with what its parent was given for its whole graph', () =>
    withSubagents({}, async (desk) => {
      await desk.store.write(async (tx) => {
        for (const [name, value] of Object.entries(VALUES))
          await putVariable(tx, desk.store.secrets, { threadId: 't', name, value, forGraph: true, now: NOW })
      })
      await desk.child('vault', { task: 'x' })
    }))

  test('outlives the run that asked, and those after it', () =>
    withDeferred({}, async (desk, { requestId }) => {
      expect(await desk.store.read((db) => openVariablesRequests(db, 't'))).toEqual([])
      await desk.store.write((tx) => closeOpenCalls(tx, { threadId: 't', outcome: 'interrupted', now: NOW }))
      const drain = drainOf(await desk.send('More.'))
      await runModel(desk.dependencies, { ...modelInput({ drain }), agent: 'lead', run: 9 })
      expect(await requestRow(desk, requestId)).toMatchObject({ status: 'open' })
    }))
})

describe('its variables are supplied', () => {
  test('SA-A-07.8c for it alone, and for all that it starts', () =>
    withDeferred({}, async (desk, { requestId, reference }) => {
      await supply(desk, requestId)
      expect(await requestRow(desk, requestId)).toMatchObject({
        ...{ status: 'answered', answer: { names: ['DOOR_CODE', 'VAULT_KEY'] } },
      })
      expect(await desk.store.read((db) => findVariables(db, 't', Object.keys(VALUES)))).toEqual([])
      const below = { ...(await desk.store.read((db) => findThread(db, reference))) }
      await desk.store.write((tx) =>
        tx
          .insertInto('threads')
          .values({
            ...below,
            id: 'g',
            agent: 'vault',
            parent_thread_id: reference,
            tags: '[]',
            origin: null,
            resumable: 0,
          } as never)
          .execute(),
      )
      const scope = { threadId: 'g', agent: 'vault', content: null, prompt: null }
      const values = await resolveVariables(desk.dependencies, scope, ['VAULT_KEY', 'DOOR_CODE'])
      expect(values.get('VAULT_KEY')?.open()).toBe('k3y-of-vault')
    }))

  test('and it runs with its first step', () =>
    withDeferred({}, async (desk, { requestId, reference, child }) => {
      const fate = () => desk.store.read((db) => answerFate(db, request))
      const request = await supply(desk, requestId)
      expect(await fate()).toBe('waiting')
      const drain = drainOf([child.messageId])
      const input = { ...modelInput({ threadId: reference, drain }), agent: 'guarded' }
      await runModel(desk.dependencies, input)
      expect(await fate()).toBe('taken')
      expect(await desk.registered(reference)).toMatchObject({ status: 'running' })
    }))

  test('T7 what a hook puts into it before is no start', () => {
    const injects = defineHook({
      ...{ hook: 'after_subagent_created', id: 'injects' },
      execute: async (_parent, child) => void (await child.injectMessage({ role: 'user', content: 'Hi.' })),
    })
    return withDeferred({ hooks: [injects] }, async (desk, { requestId, reference }) => {
      const request = await supply(desk, requestId)
      expect((await desk.transcript(reference)).map(({ position }) => position)).toContain(1)
      expect(await desk.store.read((db) => answerFate(db, request))).toBe('waiting')
    })
  })

  test('only if all are given: the request stays open', () =>
    withDeferred({}, async (desk, { requestId, reference }) => {
      await expect(supply(desk, requestId, { DOOR_CODE: 'x' })).rejects.toMatchObject({
        ...{ code: 'message_rejected', message: expect.stringContaining('got none of: VAULT_KEY') },
      })
      expect(await requestRow(desk, requestId)).toMatchObject({ status: 'open' })
      expect(await desk.store.read((db) => findVariables(db, reference, ['DOOR_CODE']))).toEqual([])
    }))

  test('twice with the same values, and never with others', () =>
    withDeferred({}, async (desk, { requestId }) => {
      await supply(desk, requestId)
      await supply(desk, requestId)
      await expect(supply(desk, requestId, { ...VALUES, DOOR_CODE: 'other' })).rejects.toMatchObject({
        code: 'request_not_found',
      })
      const resolved = (await desk.events()).filter(({ type }) => type === 'action.resolved')
      expect(resolved).toMatchObject([{ payload: { requestId, decision: 'supplied' } }])
    }))

  test.each(['t', 'child'])('not after the end of %s', (ended) =>
    withDeferred({}, async (desk, { requestId, reference }) => {
      const id = ended === 't' ? 't' : reference
      await desk.store.write((tx) =>
        tx.updateTable('threads').set({ terminate_requested_at: 1 }).where('id', '=', id).execute(),
      )
      await expect(supply(desk, requestId)).rejects.toMatchObject({ code: 'request_not_found' })
    }),
  )
})

describe('its variables do not come in time', () => {
  test('T7 it is closed, and its parent gets a failure once', () =>
    withDeferred({}, async (desk, child) => {
      const answer = await expire(desk, child)
      expect(await expire(desk, child)).toEqual(answer)
      const messages = (await desk.transcript()).filter(
        ({ subagent_id, role }) => subagent_id !== null && role === 'user',
      )
      expect(messages).toHaveLength(1)
      expect(messages[0]).toMatchObject({ id: answer.messageId, silent: true, position: null })
      expect(messages[0]?.content).toBe(
        `Subagent (reference: ${child.reference}) has reported a failure:\n` +
          'It never started: these variables were not supplied in time: DOOR_CODE, VAULT_KEY.',
      )
      expect(await desk.registered(child.reference)).toMatchObject({
        ...{ status: 'failed', closed_at: expect.any(Number) },
      })
      expect(await desk.store.read((db) => findThread(db, child.reference))).toMatchObject({
        closed_at: expect.any(Number),
      })
      await expect(supply(desk, child.requestId)).rejects.toMatchObject({ code: 'request_not_found' })
    }))

  test('T8 nothing of it stays scheduled, waiting or open', () =>
    withDeferred({}, async (desk, child) => {
      const effect = { id: 'e', name: 'remind', args: {}, due_at: 9, created_at: 1 }
      await desk.store.write((tx) => insertEffect(tx, { thread_id: child.reference, ...effect }))
      await expire(desk, child)
      expect(await desk.store.read((db) => findEffect(db, child.reference, 'e'))).toMatchObject({
        status: 'removed',
      })
      const types = (await eventsOf(desk.store, child.reference)).map(({ type }) => type)
      expect(types.slice(-3)).toEqual(['effect.removed', 'message.ended', 'thread.closed'])
    }))

  test('nothing happens if they came after all', () =>
    withDeferred({}, async (desk, child) => {
      await supply(desk, child.requestId)
      expect(await expire(desk, child)).toEqual({ type: 'expired', messageId: null })
      expect(await desk.registered(child.reference)).toMatchObject({ status: 'deferred', closed_at: null })
    }))

  test('T8 nothing happens in a thread that ends', () =>
    withDeferred({}, async (desk, child) => {
      await desk.store.write((tx) =>
        tx.updateTable('threads').set({ terminate_requested_at: 1 }).where('id', '=', 't').execute(),
      )
      expect(await expire(desk, child)).toEqual({ type: 'expired', messageId: null })
    }))
})
