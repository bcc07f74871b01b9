import { describe, expect, test } from 'vitest'
import type { ActivityDependencies } from '../../src/activities/activity.js'
import { settle } from '../../src/activities/settle.js'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import type { CallModelAnswer } from '../../src/protocol/activities.js'
import type { SettleInput } from '../../src/protocol/end-activities.js'
import { findRequest, listOpenRequests } from '../../src/store/calls/requests.js'
import { putVariable } from '../../src/store/threads/variables.js'
import { scriptedModel } from '../../src/testing/index.js'
import { attempt, drainOf, modelInput, NOW, runModel, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'

const BLOCKED = { type: 'end', reason: 'blocked', outcome: 'blocked' } as const

function worker({ store, dependencies: { caps } }: ActivityDesk) {
  const chat = scriptedModel([{ text: 'Hello.' }, { text: 'Hello again.' }])
  const desk = registry({
    models: [defineModel({ name: 'chat', provider: { languageModel: () => chat }, model: 'm' })],
    prompts: [
      definePrompt({
        name: 'clerk',
        toolDescription: 'Answers',
        prompt: [
          { type: 'text', content: 'Clerk of ' },
          { type: 'env', property: 'COMPANY' },
        ],
        model: 'chat',
        variables: [{ name: 'COMPANY', type: 'text', required: true, description: 'Shown' }],
        tools: ['charge'],
      }),
    ],
    agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } })],
    tools: {
      charge: defineTool({
        description: 'Charges',
        variables: [{ name: 'PAY_KEY', type: 'secret', required: true, description: 'Of the service' }],
        execute: () => ({ status: 'success' }),
      }),
    },
  })
  const dependencies: ActivityDependencies = { store, caps, registry: desk, env: { PAY_KEY: 'canary-8' } }
  return { chat, dependencies }
}

const supply = ({ store }: ActivityDesk) =>
  store.write((tx) =>
    putVariable(tx, store.secrets, { threadId: 't', name: 'COMPANY', value: 'Acme', type: 'text', now: 1 }),
  )

async function firstStep(desk: ActivityDesk, dependencies: ActivityDependencies, run = 1) {
  const drain = drainOf(await desk.send('Hello?'))
  return runModel(dependencies, modelInput({ run, drain }))
}

function withoutPlan(answer: CallModelAnswer): object {
  return { ...answer, plan: undefined }
}

const requestOf = ({ store }: ActivityDesk, id: string) => store.read((db) => findRequest(db, 't', id))

describe('a run that lacks a required variable', () => {
  test('ends before its model call, its messages in the transcript', () =>
    withDesk({}, async (desk) => {
      const { chat, dependencies } = worker(desk)
      const answer = await firstStep(desk, dependencies)
      expect(answer).toMatchObject({ ...BLOCKED, request: { id: 'variables_1', kind: 'variables' } })
      expect(answer).toHaveProperty('plan.agent', 'clerk')
      expect(chat.requests).toEqual([])
      expect(await desk.transcript()).toMatchObject([{ content: 'Hello?', position: 1 }])
      expect(await requestOf(desk, 'variables_1')).toMatchObject({
        kind: 'variables',
        status: 'open',
        detail: { agent: 'clerk', required: ['COMPANY', 'PAY_KEY'], missing: ['COMPANY'] },
      })
    }))

  test('marks every phase, and says what is required', () =>
    withDesk({}, async (desk) => {
      await firstStep(desk, worker(desk).dependencies)
      const events = await desk.events()
      const phases = events.flatMap(({ type, payload }) => (type === 'step.phase' ? [payload['phase']] : []))
      expect(phases).toEqual([1, 2, 3, 4, 5, 6, 7])
      const required = events.find(({ type }) => type === 'action.required')
      expect(required?.payload).toEqual({
        ...{ requestId: 'variables_1', kind: 'variables', toolName: null, missing: ['COMPANY'] },
      })
      expect(events.at(-1)).toMatchObject({ type: 'side.completed', payload: { reason: 'blocked' } })
    }))

  test('T4 answers the same to another attempt', () =>
    withDesk({}, async (desk) => {
      const { dependencies } = worker(desk)
      const first = await firstStep(desk, dependencies)
      const events = (await desk.events()).length
      await supply(desk)
      expect(withoutPlan(await runModel(dependencies, modelInput()))).toEqual(withoutPlan(first))
      expect(await desk.events()).toHaveLength(events)
    }))

  test('leaves a sentence that names it, and its request open', () =>
    withDesk({}, async (desk) => {
      await firstStep(desk, worker(desk).dependencies)
      await attempt().run((input: SettleInput) => settle(desk.dependencies, input), settled())
      const last = (await desk.transcript()).at(-1)
      expect(last?.content).toBe(
        'The run waits for variables that have no value: COMPANY. It goes on when they are supplied.',
      )
      expect(await requestOf(desk, 'variables_1')).toMatchObject({ status: 'open' })
    }))
})

describe('the next run', () => {
  test('goes on once the variable is there, and ends the request', () =>
    withDesk({}, async (desk) => {
      const { chat, dependencies } = worker(desk)
      await firstStep(desk, dependencies)
      await supply(desk)
      const answer = await runModel(dependencies, modelInput({ run: 2, asked: true }))
      expect(answer.type).toBe('answered')
      expect(chat.requests[0]?.system).toBe('Clerk of Acme')
      expect(await desk.store.read((db) => listOpenRequests(db, { limit: 10 }))).toEqual([])
      const resolved = (await desk.events()).find(({ type }) => type === 'action.resolved')
      expect(resolved?.payload).toMatchObject({ requestId: 'variables_1', decision: 'supplied' })
    }))

  test('asks anew when it still lacks one', () =>
    withDesk({}, async (desk) => {
      const { dependencies } = worker(desk)
      await firstStep(desk, dependencies)
      expect(await firstStep(desk, dependencies, 2)).toMatchObject({ request: { id: 'variables_2' } })
      const open = await desk.store.read((db) => listOpenRequests(db, { limit: 10 }))
      expect(open.map(({ id }) => id)).toEqual(['variables_2'])
    }))

  test('looks again at each step', () =>
    withDesk({}, async (desk) => {
      const { dependencies } = worker(desk)
      await supply(desk)
      const first = await firstStep(desk, dependencies)
      await desk.store.write((tx) => tx.deleteFrom('variables').execute())
      const plan = 'plan' in first ? (first.plan?.digest ?? null) : null
      const next = await runModel(dependencies, modelInput({ step: 2, trigger: null, plan }))
      expect(next).toMatchObject(BLOCKED)
    }))
})

function settled(): SettleInput {
  const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cost: 0 }
  return {
    ...{ level: 1, threadId: 't', now: NOW, run: 1, facts: [], settle: 1, close: null },
    end: { reason: 'blocked', outcome: 'blocked', steps: 1, usage, sessionCall: null },
    snapshot: {
      ...{ threadId: 't', agent: 'clerk', parent: null, status: 'blocked', at: NOW, run: null },
      ...{ queue: [], pending: [], effects: [], children: [], lastRun: null },
    },
    ...{ children: [], start: null, createdAt: NOW },
  }
}
