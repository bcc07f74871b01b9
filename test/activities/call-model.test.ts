import { ActivityCancellationDetails } from '@temporalio/common'
import { describe, expect, test } from 'vitest'
import { readDeltas } from '../../src/store/messages/deltas.js'
import { readTranscript } from '../../src/store/messages/transcript.js'
import { fact } from '../../src/protocol/facts.js'
import { findOperation } from '../../src/store/operations.js'
import { findRun } from '../../src/store/threads/runs.js'
import { scriptedModel } from '../../src/testing/index.js'
import { createGate } from '../support/gate.js'
import { until } from '../support/until.js'
import {
  AFTER_A_MINUTE,
  attempt,
  drainOf,
  failingStore,
  failureOf,
  modelInput,
  runModel,
  withDesk,
} from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'

const contents = async (desk: ActivityDesk): Promise<readonly unknown[]> =>
  (await desk.transcript()).map(({ position, content }) => [position, content])

const types = async (desk: ActivityDesk): Promise<readonly string[]> =>
  (await desk.events()).map(({ type }) => type)

/** A model that says some words, then waits for the test. */
function heldModel() {
  const gate = createGate()
  const model = scriptedModel([
    { text: `first${' and more'.repeat(500)}`, wordDelay: 50 },
    async () => {
      await gate.passed
      return { text: 'second' }
    },
  ])
  return { model, open: gate.open }
}

describe('an answer', () => {
  test('SA-R-01.2 message and answer are stored in their order', () =>
    withDesk({ chat: scriptedModel([{ text: 'Hello.' }]) }, async (desk) => {
      const drain = drainOf(await desk.send('one', 'two'))
      const answer = await runModel(desk.dependencies, modelInput({ drain }))
      expect(answer).toMatchObject({
        type: 'answered',
        text: true,
        calls: [],
        usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 0, cost: 20 },
        plan: { agent: 'clerk' },
      })
      expect(await contents(desk)).toEqual([
        [1, 'one'],
        [2, 'two'],
        [3, 'Hello.'],
      ])
      expect(await desk.store.read((db) => findRun(db, { threadId: 't', number: 1 }))).toMatchObject({
        trigger_kind: 'message',
      })
      expect(await desk.store.read((db) => readDeltas(db, 't'))).toEqual([])
    }))

  test('T3 messages are drained in the order of the queue', () =>
    withDesk({ chat: scriptedModel([{ text: 'x' }]) }, async (desk) => {
      const ids = await desk.send('one', 'two', 'three')
      await runModel(desk.dependencies, modelInput({ drain: drainOf([...ids].reverse()) }))
      expect((await contents(desk)).slice(0, 3)).toEqual([
        [1, 'three'],
        [2, 'two'],
        [3, 'one'],
      ])
    }))

  test('T3 an inline message that was drained and cut is there once', () =>
    withDesk({ chat: scriptedModel([{ text: 'x' }, { text: 'y' }]) }, async (desk) => {
      const inline = { content: 'inline', role: 'user', silent: false } as const
      const drain = [{ kind: 'message', id: 'everthread:item:1', inline } as const]
      await runModel(desk.dependencies, modelInput({ drain }))
      // The cut left no answer, so the item is still queued in the next run.
      const again = await runModel(desk.dependencies, modelInput({ run: 2, drain }))
      expect(again).toMatchObject({ type: 'nothing_to_do' })
      expect(await contents(desk)).toEqual([
        [1, 'inline'],
        [2, 'x'],
      ])
    }))

  test('T3 a recorded call delivers what came after a reset', () =>
    withDesk({ chat: scriptedModel([{ text: 'x' }]) }, async (desk) => {
      const ids = await desk.send('one')
      await runModel(desk.dependencies, modelInput({ drain: drainOf(ids) }))
      const more = await desk.send('two')
      const drain = drainOf([...ids, ...more])
      const answer = await runModel(desk.dependencies, modelInput({ drain }))
      expect(await contents(desk)).toEqual([
        [1, 'one'],
        [2, 'x'],
        [3, 'two'],
      ])
      // A run of its own answers it; until then each repetition says so.
      const late = { kind: 'postpone_messages', ids: more, runs: 1, settles: 0, reports: 0 }
      expect(answer).toMatchObject({ type: 'answered', operations: [late] })
      expect(await runModel(desk.dependencies, modelInput({ drain }))).toMatchObject({ operations: [late] })
    }))

  test('a repeated call without late messages says nothing of them', () =>
    withDesk({ chat: scriptedModel([{ text: 'x' }]) }, async (desk) => {
      const drain = drainOf(await desk.send('one'))
      const answer = await runModel(desk.dependencies, modelInput({ drain }))
      expect(await runModel(desk.dependencies, modelInput({ drain }))).toEqual(answer)
      expect(answer).not.toHaveProperty('operations')
    }))

  test('T5 the answer to the workflow holds no words', () =>
    withDesk(
      {
        chat: scriptedModel([
          { text: 'secret words', toolCalls: [{ name: 'work', args: { task: 'secret task' } }] },
        ]),
      },
      async (desk) => {
        const answer = await runModel(
          desk.dependencies,
          modelInput({ drain: drainOf(await desk.send('secret')) }),
        )
        expect(JSON.stringify(answer)).not.toContain('secret')
        expect(answer).toMatchObject({ calls: [{ id: 'call_1_1_0', name: 'work' }] })
        expect(JSON.stringify(await desk.events())).not.toContain('secret')
      },
    ))

  test('the known plan does not come back', () =>
    withDesk({ chat: scriptedModel([{ text: 'x' }, { text: 'y' }]) }, async (desk) => {
      const first = await runModel(desk.dependencies, modelInput({ drain: drainOf(await desk.send('one')) }))
      const knownPlan = first.type === 'answered' ? (first.plan?.digest ?? null) : null
      const drain = drainOf(await desk.send('two'))
      const second = await runModel(desk.dependencies, modelInput({ run: 2, knownPlan, drain }))
      expect(second).not.toHaveProperty('plan')
    }))

  test('an empty answer becomes a call that says so', () =>
    withDesk({ chat: scriptedModel([{ text: '  ' }]) }, async (desk) => {
      const answer = await runModel(desk.dependencies, modelInput({ drain: drainOf(await desk.send('one')) }))
      expect(answer).toMatchObject({ text: false, calls: [{ name: '(unknown)' }] })
      expect((await desk.transcript()).at(-1)?.tool_calls).toContain('invalid_assistant_response')
    }))

  test('facts of the workflow precede the events of the step', () =>
    withDesk({ chat: scriptedModel([{ text: 'x' }]) }, async (desk) => {
      const facts = [fact('queue.changed', { waiting: 1 })]
      await runModel(desk.dependencies, modelInput({ facts, drain: drainOf(await desk.send('one')) }))
      expect((await types(desk)).slice(0, 5)).toEqual([
        'queue.changed',
        'queue.changed',
        'run.started',
        'side.started',
        'step.started',
      ])
    }))

  test('nothing drained and nothing to answer calls no model', () =>
    withDesk({ chat: scriptedModel([{ text: 'x' }]) }, async (desk) => {
      const ids = await desk.send('one')
      await runModel(desk.dependencies, modelInput({ drain: drainOf(ids) }))
      const again = await runModel(desk.dependencies, modelInput({ run: 2, drain: drainOf(ids) }))
      expect(again).toMatchObject({ type: 'nothing_to_do' })
    }))

  test('T3 T7 items without a row find room in a full queue', () =>
    withDesk({ chat: scriptedModel([{ text: 'x' }]) }, async (desk) => {
      await desk.send(...Array.from({ length: 1000 }, (_, index) => `message ${index}`))
      const inline = { content: 'inline', role: 'user', silent: false } as const
      const closed = { kind: 'child_closed', id: 'k:closed', reference: 'k', status: 'failed' } as const
      const drain = [{ kind: 'message', id: 'i1', inline } as const, closed]
      await runModel(desk.dependencies, modelInput({ drain }))
      const delivered = await desk.store.read((db) => readTranscript(db, 't'))
      expect(delivered.map(({ content }) => content)).toEqual([
        'inline',
        expect.stringContaining('closed without a report (failed)'),
        'x',
      ])
    }))

  test('an agent with a person has one side only', () =>
    withDesk({ chat: scriptedModel([{ text: 'x' }]) }, async (desk) => {
      const inline = { content: 'I said it.', role: 'assistant', silent: false } as const
      const input = modelInput({ side: 'b', drain: [{ kind: 'message', id: 'i1', inline }] })
      expect(await runModel(desk.dependencies, input)).toMatchObject({ type: 'answered' })
      expect((await desk.transcript()).map(({ role }) => role)).toEqual(['assistant', 'assistant'])
    }))
})

describe('another attempt', () => {
  test('T4 a finished operation is answered without the model', () => {
    const chat = scriptedModel([{ text: 'Hello.' }])
    return withDesk({ chat }, async (desk) => {
      const input = modelInput({ drain: drainOf(await desk.send('one')) })
      const first = await runModel(desk.dependencies, input)
      expect(await runModel(desk.dependencies, input)).toEqual(first)
      expect(chat.requests).toHaveLength(1)
      expect(await contents(desk)).toHaveLength(2)
    })
  })

  test('T3 a retry finds the drain done and positions nothing twice', () => {
    const chat = scriptedModel([{ text: 'Hello.' }])
    return withDesk({ chat }, async (desk) => {
      const input = modelInput({ drain: drainOf(await desk.send('one', 'two')) })
      // The drain is the first write, the start of the operation the second.
      const store = failingStore(desk.store, (write) => write === 2)
      const failed = await failureOf(runModel({ ...desk.dependencies, store }, input))
      expect(failed.message).toBe('The disk is full.')
      expect(await contents(desk)).toEqual([
        [1, 'one'],
        [2, 'two'],
      ])
      expect(await runModel(desk.dependencies, input)).toMatchObject({ type: 'answered' })
      expect(await contents(desk)).toHaveLength(3)
      expect((await types(desk)).filter((type) => type === 'step.started')).toHaveLength(1)
      expect((await types(desk)).filter((type) => type === 'run.started')).toHaveLength(1)
    })
  })

  test('T4 a late first attempt cannot commit after the second', () => {
    const gate = createGate()
    const chat = scriptedModel([
      async () => {
        await gate.passed
        return { text: 'late' }
      },
      { text: 'second' },
    ])
    return withDesk({ chat }, async (desk) => {
      const input = modelInput({ drain: drainOf(await desk.send('one')) })
      const late = runModel(desk.dependencies, input)
      await until('the first request', () => chat.requests.length === 1)
      const second = await runModel(desk.dependencies, input)
      gate.open()
      expect(await late).toEqual(second)
      expect((await contents(desk)).at(-1)).toEqual([2, 'second'])
      expect(await contents(desk)).toHaveLength(2)
    })
  })

  test('T4 a late attempt is lost while the second still works', () => {
    const { model, open } = heldModel()
    return withDesk({ chat: model }, async (desk) => {
      const input = modelInput({ drain: drainOf(await desk.send('one')) })
      const first = attempt()
      const late = failureOf(runModel(desk.dependencies, input, first))
      await until('the first request', () => model.requests.length === 1)
      const second = runModel(desk.dependencies, input)
      await until('the second request', () => model.requests.length === 2)
      first.cancel()
      expect(await late).toMatchObject({ type: 'Operation.Lost', nonRetryable: true })
      open()
      expect(await second).toMatchObject({ type: 'answered' })
      expect((await contents(desk)).at(-1)).toEqual([2, 'second'])
    })
  })

  test('a store that fails at the commit costs no second call', () => {
    const chat = scriptedModel([{ text: 'Hello.' }])
    return withDesk({ chat }, async (desk) => {
      const input = modelInput({ drain: drainOf(await desk.send('one')) })
      // Deltas may fail too: they are a convenience.
      const store = failingStore(desk.store, (write) => write > 2 && write < 8)
      const answer = await runModel({ ...desk.dependencies, store }, input)
      expect(answer).toMatchObject({ type: 'answered' })
      expect(store.writes).toBeGreaterThanOrEqual(8)
      expect(chat.requests).toHaveLength(1)
      expect((await contents(desk)).at(-1)).toEqual([2, 'Hello.'])
    })
  })

  test('a run keeps its plan while the registry changes', () => {
    const chat = scriptedModel([{ text: 'x' }])
    return withDesk({ chat }, async (desk) => {
      const first = await runModel(desk.dependencies, modelInput({ drain: drainOf(await desk.send('one')) }))
      const plan = first.type === 'answered' ? (first.plan?.digest ?? '') : ''
      const changed = scriptedModel([{ text: 'y' }])
      const other = desk.with({ chat: changed, memory: { includeChat: false, includePastTools: false } })
      const drain = drainOf(await desk.send('two'))
      await runModel(other, modelInput({ step: 2, plan, knownPlan: plan, trigger: null, drain }))
      // The plan of the run has the chat in its context; that of the changed registry has not.
      expect(changed.requests[0]?.messages.map(({ text }) => text)).toEqual(['one', 'x', 'two'])
    })
  })
})

describe('a cut', () => {
  test('a stop keeps the words that came', () => {
    const { model } = heldModel()
    return withDesk({ chat: model }, async (desk) => {
      const environment = attempt()
      const running = runModel(
        desk.dependencies,
        modelInput({ drain: drainOf(await desk.send('one')) }),
        environment,
      )
      await until('a word', async () => (await desk.store.read((db) => readDeltas(db, 't'))).length > 0)
      environment.cancel()
      expect(await running).toMatchObject({ type: 'interrupted' })
      expect((await desk.transcript()).at(-1)).toMatchObject({
        content: expect.stringMatching(/^first/) as unknown,
        status: 'interrupted',
      })
      expect(await desk.store.read((db) => readDeltas(db, 't'))).toEqual([])
      expect((await types(desk)).at(-1)).toBe('side.completed')
    })
  })

  test.each([['workerShutdown'], ['timedOut'], ['notFound'], ['paused'], ['reset']])(
    'a cancellation by %s is no stop',
    (reason) => {
      const { model } = heldModel()
      return withDesk({ chat: model }, async (desk) => {
        const environment = attempt()
        const input = modelInput({ drain: drainOf(await desk.send('one')) })
        const failed = failureOf(runModel(desk.dependencies, input, environment))
        await until('the request', () => model.requests.length === 1)
        environment.cancel('WORKER_SHUTDOWN', new ActivityCancellationDetails({ [reason]: true }))
        expect(await failed).toMatchObject({ type: 'Worker.Shutdown', nonRetryable: false })
        expect(await contents(desk)).toHaveLength(1)
        const operation = await desk.store.read((db) => findOperation(db, 't', 'model_1_1'))
        expect(operation?.state).toBe('started')
      })
    },
  )
})

describe('what goes wrong', () => {
  test('SA-R-01.3 a model that fails ends the run visibly', () => {
    const chat = scriptedModel([{ error: { status: 400, message: 'secret of the provider' } }])
    return withDesk({ chat }, async (desk) => {
      const answer = await runModel(desk.dependencies, modelInput({ drain: drainOf(await desk.send('one')) }))
      expect(answer).toEqual({ type: 'end', reason: 'model_failed', outcome: 'failed' })
      const last = (await desk.transcript()).at(-1)
      expect(last).toMatchObject({ role: 'assistant', status: 'failed' })
      expect(last?.content).toContain('its provider refused the request')
      expect(JSON.stringify([await desk.events(), last])).not.toContain('secret')
      expect((await types(desk)).at(-1)).toBe('side.completed')
    })
  })

  test('a model that cannot even be made ends the run', () =>
    withDesk({}, async (desk) => {
      const broken = desk.with({})
      const { registry } = broken
      const provider = {
        languageModel(): never {
          throw new Error('There is no model of this id.')
        },
      }
      const model = (name: string) => {
        const definition = registry.model(name)
        return definition === undefined ? undefined : { ...definition, provider }
      }
      const input = modelInput({ drain: drainOf(await desk.send('one')) })
      const answer = await runModel({ ...broken, registry: { ...registry, model } }, input)
      expect(answer).toMatchObject({ type: 'end', reason: 'model_failed' })
    }))

  test('T3 after that minute the run ends with its messages delivered', () =>
    withDesk({}, async (desk) => {
      const facts = [fact('queue.changed', { waiting: 1 })]
      const input = modelInput({ agent: 'nobody', facts, drain: drainOf(await desk.send('one')) })
      const answer = await runModel(desk.dependencies, input, attempt(AFTER_A_MINUTE))
      expect(answer).toEqual({ type: 'end', reason: 'definition_missing', outcome: 'failed' })
      expect(await contents(desk)).toEqual([[1, 'one']])
      expect((await types(desk))[0]).toBe('queue.changed')
      expect(await runModel(desk.dependencies, input, attempt(AFTER_A_MINUTE))).toEqual(answer)
    }))

  test('T3 after a reset such a run delivers what came later too', () =>
    withDesk({}, async (desk) => {
      const ids = await desk.send('one')
      const input = modelInput({ agent: 'nobody', drain: drainOf(ids) })
      await runModel(desk.dependencies, input, attempt(AFTER_A_MINUTE))
      const drain = drainOf([...ids, ...(await desk.send('two'))])
      const answer = await runModel(desk.dependencies, { ...input, drain }, attempt(AFTER_A_MINUTE))
      expect(answer).toMatchObject({ type: 'end', reason: 'definition_missing' })
      expect(await contents(desk)).toEqual([
        [1, 'one'],
        [2, 'two'],
      ])
    }))

  test('a terminated thread calls no model', () => {
    const chat = scriptedModel([])
    return withDesk({ chat }, async (desk) => {
      const drain = drainOf(await desk.send('one'))
      await desk.store.write((tx) => tx.updateTable('threads').set({ terminate_requested_at: 1 }).execute())
      expect(await runModel(desk.dependencies, modelInput({ drain }))).toEqual({ type: 'terminated' })
      expect(chat.requests).toHaveLength(0)
    })
  })
})
