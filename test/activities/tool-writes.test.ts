import { expect, test } from 'vitest'
import type { ActivityDependencies } from '../../src/activities/activity.js'
import { defineEffect } from '../../src/index.js'
import type { ThreadState } from '../../src/index.js'
import { listOpenToolCalls } from '../../src/store/calls/tool-calls.js'
import { findMessage } from '../../src/store/messages/transcript.js'
import { listScheduledEffects } from '../../src/store/threads/effects.js'
import { findVariables } from '../../src/store/threads/variables.js'
import { withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'

/** One of each kind of write; `m1` is a message of an earlier run. */
async function writeAll(state: ThreadState): Promise<void> {
  state.emit('progress', 1)
  await state.setEnv('CITY', 'Bern', { type: 'text' })
  await state.scheduleEffect('remind', {}, 1000)
  await state.updateMessage('m1', { content: 'changed' })
  await state.queueMessage({ role: 'user', content: 'next' })
  state.queueTool('work', { task: 'later' })
  state.execution?.stop()
}

function withEffects({ dependencies }: ActivityDesk): ActivityDependencies {
  const remind = defineEffect('Reminds', () => undefined)
  const effect = (name: string) => (name === 'remind' ? remind : undefined)
  return { ...dependencies, registry: { ...dependencies.registry, effect } }
}

/** What is stored of `writeAll`. */
async function stored({ store }: ActivityDesk) {
  const [variables, effects, message, calls] = await store.read((db) =>
    Promise.all([
      findVariables(db, 't', ['CITY']),
      listScheduledEffects(db, 't'),
      findMessage(db, 't', 'm1'),
      listOpenToolCalls(db, 't'),
    ]),
  )
  return [variables.length, effects.length, message?.content, calls.map(({ id }) => id)]
}

/** A call of step 1 of run 1, whose thread has the message `m1` of an earlier run. */
async function callOf(desk: ActivityDesk, name: string) {
  const call = await desk.call(name)
  await desk.store.write((tx) => tx.updateTable('messages').set({ run: 0 }).where('id', '=', 'm1').execute())
  return call
}

test('T9 a tool that throws keeps all that it wrote', () =>
  withDesk(
    {
      work: async (state) => {
        await writeAll(state)
        throw new Error('too late')
      },
    },
    async (desk) => {
      const call = await callOf(desk, 'work')
      const answer = await desk.run(call, withEffects(desk))
      expect(answer).toMatchObject({ type: 'result', outcome: 'failed' })
      const kinds = 'operations' in answer ? answer.operations?.map(({ kind }) => kind) : []
      expect(kinds).toEqual(['set_env', 'schedule_effect', 'queue_message', 'queue_tool', 'stop_run'])
      expect(await stored(desk)).toEqual([1, 1, 'changed', [`${call.callId}_q0`]])
      expect(await desk.run(call, withEffects(desk))).toEqual(answer)
      expect(await stored(desk)).toEqual([1, 1, 'changed', [`${call.callId}_q0`]])
    },
  ))

test('T9 a tool that times out keeps nothing but its events', () =>
  withDesk(
    {
      work: async (state) => {
        await writeAll(state)
        return new Promise(() => undefined)
      },
    },
    async (desk) => {
      const call = await callOf(desk, 'slow')
      const answer = await desk.run(call, withEffects(desk))
      expect(answer).toMatchObject({ type: 'result', outcome: 'failed' })
      expect(answer).not.toHaveProperty('operations')
      expect(await stored(desk)).toEqual([0, 0, 'Please.', []])
      expect((await desk.events()).filter(({ type }) => type === 'custom')).toHaveLength(1)
    },
  ))

test('T9 a call that does more than can be told has done nothing', () =>
  withDesk(
    {
      work: async (state) => {
        for (let index = 0; index < 3000; index += 1) await state.setEnv('CITY', 'Bern', { type: 'text' })
        return { status: 'success', result: 'done' }
      },
    },
    async (desk) => {
      expect(await desk.run(await callOf(desk, 'work'))).toMatchObject({ type: 'result', outcome: 'failed' })
      expect((await stored(desk))[0]).toBe(0)
      expect((await desk.transcript()).at(-1)?.content).toContain('None of it was applied.')
    },
  ))
