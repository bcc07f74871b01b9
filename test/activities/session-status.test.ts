import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import type { ExecuteToolInput } from '../../src/protocol/activities.js'
import type { Side } from '../../src/protocol/plan.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { scriptedModel } from '../../src/testing/index.js'
import { drainOf, modelInput, PLAIN_CALL, runModel, runTool, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { becomeChild, eventsOf, registered } from './family.js'

/** An agent whose side A publishes what its status tool answers, its side B an argument of it. */
function workers({ dependencies }: ActivityDesk, args: unknown): ActivityDesk['dependencies'] {
  const chat = scriptedModel([{ toolCalls: [{ name: 'update_status', args }] }])
  const prompt = {
    toolDescription: 'Works',
    prompt: 'Work.',
    model: 'chat',
    tools: ['update_status'],
  } as const
  return {
    ...dependencies,
    registry: registry({
      models: [defineModel({ name: 'chat', provider: { languageModel: () => chat }, model: 'm' })],
      prompts: [definePrompt({ ...prompt, name: 'work' }), definePrompt({ ...prompt, name: 'review' })],
      agents: [
        defineAgent({
          ...{ name: 'duo', type: 'dual_ai', maxSessionTurns: 4 },
          sideA: { prompt: 'work', sessionStatus: 'update_status' },
          sideB: { prompt: 'review', sessionStatus: { name: 'update_status', messageProperty: 'status' } },
        }),
      ],
      tools: {
        update_status: defineTool({
          description: 'Tells how far it is',
          args: z.object({ status: z.string(), broken: z.boolean().default(false) }),
          execute: (_state, { status, broken }) =>
            broken ? { status: 'error', error: 'No.' } : { status: 'success', result: `Noted: ${status}` },
        }),
      },
    }),
  }
}

/** The status tool of a side of `t` is called. */
async function called(desk: ActivityDesk, side: Side, args: unknown) {
  const dependencies = workers(desk, args)
  const input = modelInput({ agent: 'duo', side, drain: drainOf(await desk.send('Please.')) })
  const answer = await runModel(dependencies, input)
  const [call] = answer.type === 'answered' ? answer.calls : []
  if (answer.type !== 'answered' || call === undefined)
    throw new Error(`Expected a call, got ${answer.type}.`)
  const tool: ExecuteToolInput = {
    ...{ ...input, ...PLAIN_CALL, plan: answer.plan?.digest ?? '', callId: call.id, name: call.name },
    promptPath: [side === 'a' ? 'work' : 'review'],
    ...{ sideSteps: { a: 1, b: 1 }, first: true, last: true },
  }
  return runTool(dependencies, tool)
}

function withChild(work: (desk: ActivityDesk) => Promise<void>): Promise<void> {
  return withDesk({}, async (desk) => {
    await becomeChild(desk.store)
    await work(desk)
  })
}

const status = async ({ store }: ActivityDesk) =>
  (await registered(store, 't', 'p'))?.status_text ?? 'running'
const told = async ({ store }: ActivityDesk) =>
  (await eventsOf(store, 'p')).filter(({ type }) => type === 'subagent.status')

describe('a status tool shows the parent', () => {
  test.each<readonly [Side, string, string]>([
    ['a', 'its result, bound by name', 'Noted: half done'],
    ['b', 'the mapped argument, bound by an object', 'half done'],
  ])('SA-R-08.3 SA-A-07.10g of side %s %s', (side, _what, text) =>
    withChild(async (desk) => {
      // Nothing that would end the session.
      expect(await called(desk, side, { status: 'half done' })).toEqual({
        type: 'result',
        outcome: 'succeeded',
      })
      expect(await status(desk)).toBe(text)
      expect((await told(desk)).map(({ payload }) => payload)).toEqual([{ reference: 't', name: 'Clerk' }])
      const [call] = await desk.store.read((db) => db.selectFrom('tool_calls').select('id').execute())
      expect(await desk.store.read((db) => findToolCall(db, 't', call?.id ?? ''))).toMatchObject({
        ...{ session: null, status: 'succeeded' },
      })
    }),
  )

  test('at most 500 characters', () =>
    withChild(async (desk) => {
      await called(desk, 'b', { status: `${'x'.repeat(499)}😀` })
      expect(await status(desk)).toBe('x'.repeat(499))
    }))

  test('nothing when it fails', () =>
    withChild(async (desk) => {
      await called(desk, 'b', { status: 'half done', broken: true })
      expect(await status(desk)).toBe('running')
      expect(await told(desk)).toEqual([])
    }))
})

test('a status tool without a parent is an ordinary tool', () =>
  withDesk({}, async (desk) => {
    expect(await called(desk, 'a', { status: 'x' })).toEqual({ type: 'result', outcome: 'succeeded' })
    expect((await desk.events()).map(({ type }) => type)).not.toContain('subagent.status')
  }))
