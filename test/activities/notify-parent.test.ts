import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { runEffect } from '../../src/activities/run-effect.js'
import { defineEffect, defineHook } from '../../src/index.js'
import type { ThreadState } from '../../src/index.js'
import type { RunEffectInput } from '../../src/protocol/activities.js'
import { closeChild } from '../../src/store/threads/children.js'
import { insertEffect } from '../../src/store/threads/effects.js'
import { updateThread } from '../../src/store/threads/threads.js'
import { attempt, NOW, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import type { DeskParts } from './desk-registry.js'
import { becomeChild, eventsOf, messagesOf, registered } from './family.js'
import { lastResult, success } from './tool-outcomes.js'

type Work = (state: ThreadState) => Promise<unknown>

/** One tool call of the child that does this. */
async function called(desk: ActivityDesk, work: Work) {
  const tool: DeskParts['work'] = async (state) => {
    await work(state)
    return success('done')
  }
  return desk.run(await desk.call('work'), desk.with({ work: tool }))
}

function withChild(work: (desk: ActivityDesk) => Promise<void>, parts: DeskParts = {}): Promise<void> {
  return withDesk(parts, async (desk) => {
    await becomeChild(desk.store)
    await work(desk)
  })
}

const statuses = async ({ store }: ActivityDesk) =>
  (await eventsOf(store, 'p')).filter(({ type }) => type === 'subagent.status')

describe('notifyParent', () => {
  test('SA-A-07.10i gives the parent one silent message', () =>
    withChild(async (desk) => {
      const answer = await called(desk, (state) => state.notifyParent('  Half of it is done. '))
      const messages = await messagesOf(desk.store, 'p')
      expect(messages).toMatchObject([
        {
          ...{
            role: 'user',
            content: 'Half of it is done.',
            silent: true,
            status: 'pending',
            position: null,
          },
          ...{ subagent_id: 't', metadata: { subagent_id: 't' } },
        },
      ])
      const operation = { kind: 'queue_message', id: messages[0]?.id, role: 'user' }
      expect(answer).toMatchObject({ operations: [{ kind: 'signal_thread', to: 'p', operation }] })
      expect(await registered(desk.store, 't', 'p')).toMatchObject({ status: 'running' })
    }))

  test('is recorded on the result of the call', () =>
    withChild(async (desk) => {
      await called(desk, async (state) => {
        await state.notifyParent('One.')
        await state.notifyParent('Two.')
      })
      const result = await lastResult(desk)
      expect(result?.metadata).toEqual({ parent_notifications: ['One.', 'Two.'] })
    }))

  test('of a call that throws is kept', () =>
    withChild(async (desk) => {
      await called(desk, async (state) => {
        await state.notifyParent('One.')
        throw new Error('then it broke')
      })
      expect(await messagesOf(desk.store, 'p')).toHaveLength(1)
      expect((await lastResult(desk))?.metadata).toEqual({ parent_notifications: ['One.'] })
    }))

  test('T9 of a call that timed out is dropped', () =>
    withChild(async (desk) => {
      const work: DeskParts['work'] = async (state) => {
        await state.notifyParent('One.')
        await state.setStatus('late')
        return new Promise(() => undefined)
      }
      await desk.run(await desk.call('slow'), desk.with({ work }))
      expect(await messagesOf(desk.store, 'p')).toEqual([])
      expect(await registered(desk.store, 't', 'p')).toMatchObject({ status: 'running' })
      expect((await lastResult(desk))?.metadata).toBeNull()
    }))

  test.each([' \n ', '', 7 as never])('of %j is refused, with or without a parent', (content) =>
    withDesk({}, async (desk) => {
      await called(desk, (state) => state.notifyParent(content))
      expect((await lastResult(desk))?.content).toContain('the content of notifyParent to be a text')
    }),
  )

  test('without a parent does nothing', () =>
    withDesk({}, async (desk) => {
      const answer = await called(desk, async (state) => {
        await state.notifyParent('Hello?')
        await state.setStatus('alone')
      })
      expect(answer).toEqual({ type: 'result', outcome: 'succeeded' })
      expect((await lastResult(desk))?.metadata).toBeNull()
    }))

  test('a parent that is closed refuses it in words', () =>
    withChild(async (desk) => {
      await desk.store.write((tx) => updateThread(tx, 'p', { closed_at: 5 }))
      await called(desk, (state) => state.notifyParent('Hello?'))
      expect((await lastResult(desk))?.content).toContain('got p, which was closed')
    }))

  test('SA-A-07.10i works from a hook', () => {
    const hook = defineHook({
      hook: 'after_tool_call_success',
      id: 'escalate',
      async execute(state) {
        await state.notifyParent('A hook saw it.')
        await state.setStatus('hooked')
        return undefined as never
      },
    })
    return withChild(
      async (desk) => {
        await called(desk, async () => undefined)
        expect(await messagesOf(desk.store, 'p')).toMatchObject([{ content: 'A hook saw it.' }])
        expect(await registered(desk.store, 't', 'p')).toMatchObject({ status_text: 'hooked' })
      },
      { hooks: [hook] },
    )
  })

  test('SA-A-07.10i works from an effect', () =>
    withChild(async (desk) => {
      const effect = { thread_id: 't', id: 'effect_1', name: 'report', args: {}, due_at: 1, created_at: 1 }
      await desk.store.write((tx) => insertEffect(tx, effect))
      const report = defineEffect('Reports', z.object({}), async (state) => {
        await state.notifyParent('It is noon.')
        await state.setStatus('noon')
      })
      const { registry } = desk.dependencies
      const dependencies = { ...desk.dependencies, registry: { ...registry, effect: () => report } }
      const input = {
        level: 1,
        threadId: 't',
        now: NOW,
        run: 1,
        facts: [],
        agent: 'clerk',
        effectId: 'effect_1',
      }
      const answer = await attempt().run((given: RunEffectInput) => runEffect(dependencies, given), input)
      expect(answer).toMatchObject({ operations: [{ kind: 'signal_thread', to: 'p' }] })
      expect(await messagesOf(desk.store, 'p')).toMatchObject([{ content: 'It is noon.' }])
      expect(await registered(desk.store, 't', 'p')).toMatchObject({ status_text: 'noon' })
    }))

  test('T5 holds no secret that the call was given', () =>
    withChild(async (desk) => {
      const env = { KEY: 'nightingale' }
      const work: DeskParts['work'] = async (state) => {
        await state.notifyParent(`It is ${await state.env('KEY')}.`)
        await state.setStatus(`with ${await state.env('KEY')}`)
        return success('done')
      }
      await desk.run(await desk.call('work'), { ...desk.with({ work }), env })
      expect(await messagesOf(desk.store, 'p')).toMatchObject([{ content: 'It is [secret KEY].' }])
      expect(await registered(desk.store, 't', 'p')).toMatchObject({ status_text: 'with [secret KEY]' })
      expect((await lastResult(desk))?.metadata).toEqual({ parent_notifications: ['It is [secret KEY].'] })
    }))
})

describe('setStatus', () => {
  test('SA-A-07.10j changes the registry, and no message comes', () =>
    withChild(async (desk) => {
      const answer = await called(desk, (state) => state.setStatus('  Looking around '))
      expect(answer).toEqual({ type: 'result', outcome: 'succeeded' })
      expect(await registered(desk.store, 't', 'p')).toMatchObject({ status_text: 'Looking around' })
      expect((await statuses(desk)).map(({ payload }) => payload)).toEqual([
        { reference: 't', name: 'Clerk' },
      ])
      expect(await messagesOf(desk.store, 'p')).toEqual([])
    }))

  test.each<readonly [string, unknown, string]>([
    ['an empty one', ' ', 'to be a text, got an empty one'],
    ['a number', 5, 'to be a text, got a number'],
    ['501 characters', 'x'.repeat(501), 'at most 500 characters, got 501'],
  ])('of %s is refused', (_what, text, words) =>
    withChild(async (desk) => {
      await called(desk, (state) => state.setStatus(text as string))
      expect((await lastResult(desk))?.content).toContain(words)
      expect(await statuses(desk)).toEqual([])
    }),
  )

  test('of a child that its parent knows as closed changes nothing', () =>
    withChild(async (desk) => {
      const closed = { parentThreadId: 'p', reference: 't', status: 'terminated', now: 5 }
      await desk.store.write((tx) => closeChild(tx, closed))
      await called(desk, (state) => state.setStatus('still here'))
      expect(await registered(desk.store, 't', 'p')).toMatchObject({ status: 'terminated' })
    }))
})

describe('T9 another thread in the hands of a call', () => {
  const ENDED = 'has ended'

  test('is refused once the tool has ended', () =>
    withChild(async (desk) => {
      let parent: ThreadState | null = null
      await called(desk, async (state) => {
        parent = await state.getParentThread()
        await parent?.setValue('in time', 1)
      })
      const late = parent as ThreadState | null
      await expect(late?.setValue('late', 1)).rejects.toThrow(ENDED)
      expect(() => late?.threadId).toThrow(ENDED)
    }))

  test('is refused to a tool that went on while its hooks run', () => {
    let parent: ThreadState | null = null
    let refusal: unknown
    const hook = defineHook({
      hook: 'after_tool_call_success',
      id: 'late',
      async execute() {
        refusal = await parent?.setValue('late', 1).catch((error: unknown) => error)
        return undefined as never
      },
    })
    return withChild(
      async (desk) => {
        await called(desk, async (state) => void (parent = await state.getParentThread()))
        expect(String(refusal)).toContain(ENDED)
      },
      { hooks: [hook] },
    )
  })
})
