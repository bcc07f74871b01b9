import { describe, expect, test } from 'vitest'
import type { CallModelAnswer } from '../../src/protocol/activities.js'
import type { ContextManifest, Routing } from '../../src/protocol/event-codes.js'
import { putFile } from '../../src/store/files/files.js'
import { stageMessage } from '../../src/store/messages/message-writes.js'
import { scriptedModel } from '../../src/testing/index.js'
import { until } from '../support/until.js'
import { AFTER_A_MINUTE, attempt, drainOf, failureOf, modelInput, NOW, runModel } from './activity-desk.js'
import { refusing, withModels } from './model-desk.js'
import type { ModelDesk, ModelParts } from './model-desk.js'

const says = (text: string) => scriptedModel(() => ({ text }))

const helper = { name: 'helper', toolDescription: 'Helps', prompt: 'You help.', model: 'chat' }
const WITH_TOOL = { prompt: { tools: ['helper'] }, prompts: [helper] } satisfies Partial<ModelParts>

/** The log about models, each entry with its type. */
async function logOf(desk: ModelDesk): Promise<readonly (readonly [type: string, payload: unknown])[]> {
  return (await desk.events()).flatMap(({ type, payload }) =>
    /^(?:model|context)\./.test(type) ? [[type, payload] as const] : [],
  )
}

/** The log about models of a second step, on a worker that lacks this model. */
async function stepWithout(
  desk: ModelDesk,
  lacking: string,
  environment?: ReturnType<typeof attempt>,
): ReturnType<typeof logOf> {
  const next = afterStep(await desk.step())
  const before = (await logOf(desk)).length
  const { registry } = desk.dependencies
  const model = (name: string) => (name === lacking ? undefined : registry.model(name))
  const dependencies = { ...desk.dependencies, registry: { ...registry, model } }
  await runModel(dependencies, modelInput({ step: 2, trigger: null, ...next }), environment)
  return (await logOf(desk)).slice(before)
}

function afterStep(answer: CallModelAnswer): { readonly plan: string; readonly knownPlan: string } {
  const plan = answer.type === 'answered' ? (answer.plan?.digest ?? '') : ''
  return { plan, knownPlan: plan }
}

async function routingsOf(desk: ModelDesk): Promise<readonly unknown[]> {
  return (await desk.told('model.requested', 'model.unavailable')).map(({ routing }) => routing)
}

/** A message with a file of this type. */
async function sendFile(desk: ModelDesk, path: string, mimeType: string): Promise<string> {
  const [id, digest] = [`m-${path}`, path]
  const attachment = { id: path, type: 'file', path, name: path.slice(1), mimeType, size: 9 } as const
  const { digest: blob } = await desk.store.blobs.write(Buffer.from('contents.'))
  await desk.store.write(async (tx) => {
    await putFile(tx, { threadId: 't', path, mimeType, size: 9, blob, now: NOW })
    await stageMessage(tx, {
      ...{ threadId: 't', id, role: 'user', content: 'See', digest, sentBy: 'client' },
      ...{ createdAt: NOW * 1000, attachments: [attachment] },
    })
  })
  return id
}

describe('routing is in the log', () => {
  test('AR-S3.10 AR-EF.5 AR-MR.5 with a single candidate, its capabilities, cost and limits', () => {
    const model = {
      ...{ asked: says('Here.'), inputPrice: 0.25, outputPrice: 2 },
      ...{ rateLimit: { concurrency: 8, requestsPerMinute: 300 }, capabilities: { maxContextTokens: 9000 } },
    }
    return withModels({ models: { chat: model }, ...WITH_TOOL }, async (desk) => {
      await desk.step()
      expect(await routingsOf(desk)).toEqual([
        {
          kind: 'reply',
          needs: ['tools'],
          ...{ mode: 'single', source: 'prompt' },
          requested: 'chat',
          candidates: [
            {
              ...{ model: 'chat', contextWindow: 9000, inputPrice: 0.25, outputPrice: 2 },
              ...{ concurrency: 8, requestsPerMinute: 300 },
            },
          ],
          reason: 'single_candidate',
        },
      ])
      const types = (await desk.events()).map(({ type }) => type)
      expect(types.slice(types.indexOf('step.started'))).toEqual([
        ...['step.started', 'step.phase', 'message.created', 'step.phase'],
        ...['tool.catalog.resolved', 'context.resolved', 'step.phase'],
        ...['model.requested', 'model.completed', 'step.phase', 'message.created'],
      ])
    })
  })

  test('AR-S3.10 AR-EF.5 AR-MR.0 AR-MR.2 AR-MR.4 AR-TC.7 of each request: needs, candidates, choice, reason', () => {
    const chatModel = scriptedModel(({ messages }) => ({
      error: { status: messages.length === 1 ? 401 : 500, message: 'No.' },
    }))
    const limited = refusing(429, { 'retry-after': '3600' })
    const models = {
      chat: { asked: chatModel, fallbacks: ['gone', 'first', 'second'] },
      first: { asked: limited, capabilities: { supportsToolCalls: false }, rateLimit: { concurrency: 2 } },
      gone: { asked: says('Hello.') },
      second: { asked: says('Here.'), capabilities: { supportsToolCalls: false } },
    }
    return withModels({ models, ...WITH_TOOL }, async (desk) => {
      const log = await stepWithout(desk, 'gone')
      const gone = { model: 'gone', excluded: 'not_registered' }
      const first = { model: 'first', lacks: ['tools'], concurrency: 2 }
      const second = { model: 'second', lacks: ['tools'] }
      const base = { kind: 'reply', needs: ['tools'], source: 'prompt', requested: 'chat', mode: 'ordered' }
      const begun = { ...base, candidates: [{ model: 'chat' }, gone, first, second] }
      const chat = { model: 'chat', excluded: 'unavailable' }
      const failed = { ...first, excluded: 'rate_limited' }
      expect(log.filter(([type]) => type !== 'context.resolved')).toMatchObject([
        ['model.requested', { model: 'chat', attempt: 1, routing: { ...begun, reason: 'prompt_model' } }],
        ['model.failed', { next: 'retry' }],
        ['model.requested', { model: 'chat', attempt: 2, routing: { ...begun, reason: 'retry' } }],
        ['model.failed', { next: 'fallback' }],
        [
          'model.requested',
          {
            ...{ model: 'first', attempt: 3 },
            routing: {
              ...{ ...base, candidates: [chat, gone, first, second] },
              ...{ reason: 'fallback', fallbackFrom: 'chat' },
            },
          },
        ],
        ['model.failed', { next: 'fallback' }],
        [
          'model.requested',
          {
            ...{ model: 'second', attempt: 4 },
            routing: {
              ...{ ...base, mode: 'single', candidates: [chat, gone, failed, second] },
              ...{ reason: 'fallback', fallbackFrom: 'first' },
            },
          },
        ],
        ['model.completed', { model: 'second' }],
      ])
    })
  })

  test('AR-S3.10 AR-EF.5 where no model is left, with the failure of each', () => {
    const models = {
      chat: { asked: refusing(401), fallbacks: ['first'] },
      first: { asked: refusing(403) },
    }
    return withModels({ models }, async (desk) => {
      expect(await desk.step()).toMatchObject({ type: 'end', reason: 'model_failed' })
      expect((await logOf(desk)).slice(-2)).toMatchObject([
        ['model.failed', { model: 'first', next: 'none' }],
        [
          'model.unavailable',
          {
            routing: {
              ...{
                kind: 'reply',
                needs: [],
                mode: 'none',
                source: 'prompt',
                requested: 'chat',
                reason: 'none',
              },
              candidates: [
                { model: 'chat', excluded: 'authentication' },
                { model: 'first', excluded: 'authentication' },
              ],
            },
          },
        ],
      ])
    })
  })

  test('where no worker has a model, without a request', () =>
    withModels({ models: { chat: { asked: says('Hello.') } } }, async (desk) => {
      expect(await stepWithout(desk, 'chat', attempt(AFTER_A_MINUTE))).toEqual([
        [
          'model.unavailable',
          {
            routing: {
              ...{
                kind: 'reply',
                needs: [],
                mode: 'none',
                source: 'prompt',
                requested: 'chat',
                reason: 'none',
              },
              candidates: [{ model: 'chat', excluded: 'not_registered' }],
            },
          },
        ],
      ])
    }))

  test('where a fallback serves for a model that no worker has', () => {
    const models = { chat: { asked: says('a'), fallbacks: ['backup'] }, backup: { asked: says('b') } }
    return withModels({ models }, async (desk) => {
      const log = await stepWithout(desk, 'chat', attempt(AFTER_A_MINUTE))
      expect(log[1]).toMatchObject([
        'model.requested',
        { model: 'backup', routing: { requested: 'chat', reason: 'model_excluded' } },
      ])
    })
  })

  test('where the time of the step is over, for the models that had none', () => {
    const silent = scriptedModel(() => ({ text: 'Too late.', wordDelay: 1000 }))
    const models = { chat: { asked: silent, fallbacks: ['backup'] }, backup: { asked: says('Never.') } }
    return withModels({ models, limits: { firstChunk: 100, total: 100 } }, async (desk) => {
      await desk.step()
      expect(await desk.told('model.unavailable')).toMatchObject([
        { routing: { candidates: [{ excluded: 'stalled' }, { model: 'backup', excluded: 'out_of_time' }] } },
      ])
    })
  })

  test('after a wait for the provider the prompt’s model is chosen anew', () => {
    const later = { error: { status: 429, message: 'Later.', headers: { 'retry-after': '30' } } }
    const chat = scriptedModel([later, { text: 'Here.' }])
    return withModels({ models: { chat: { asked: chat } } }, async (desk) => {
      const { until: now } = (await desk.step()) as { readonly until: number }
      await desk.step({ now })
      expect(await desk.told('model.unavailable')).toEqual([])
      expect(await routingsOf(desk)).toMatchObject([
        { reason: 'single_candidate' },
        { reason: 'single_candidate' },
      ])
    })
  })

  test('that the pause of an earlier step sends a request to the fallback at once', () => {
    const later = { error: { status: 429, message: 'Later.', headers: { 'retry-after': '3600' } } }
    const models = {
      chat: { asked: scriptedModel(() => later), fallbacks: ['backup'] },
      backup: { asked: says('Here.') },
    }
    return withModels({ models }, async (desk) => {
      await desk.step({ step: 2, trigger: null, ...afterStep(await desk.step()) })
      expect((await desk.told('model.requested')).slice(-1)).toMatchObject([
        {
          model: 'backup',
          routing: {
            ...{ reason: 'fallback', fallbackFrom: 'chat' },
            candidates: [{ model: 'chat', excluded: 'paused' }, { model: 'backup' }],
          },
        },
      ])
    })
  })

  test('files that the conversation shows and a model does not take are what it lacks', () => {
    const capabilities = { supportsImages: false, supportsDocuments: true }
    const models = {
      chat: { asked: says('Here.'), capabilities, fallbacks: ['eyes'] },
      eyes: { asked: says('Never.') },
    }
    return withModels({ models }, async (desk) => {
      const files = [
        await sendFile(desk, '/view.png', 'image/png'),
        await sendFile(desk, '/paper.pdf', 'application/pdf'),
        await sendFile(desk, '/notes.txt', 'text/plain'),
      ]
      await desk.step({ drain: drainOf(files) })
      expect(await routingsOf(desk)).toMatchObject([
        {
          needs: ['images', 'documents'],
          candidates: [
            { model: 'chat', lacks: ['images'] },
            { model: 'eyes', lacks: ['documents'] },
          ],
        },
      ])
    })
  })

  test('AR-MR.3 a fallback without sight is passed over for images, and called when none is left', () => {
    const models = {
      chat: { asked: refusing(401), fallbacks: ['blind', 'eyes'] },
      blind: { asked: says('Here.'), capabilities: { supportsImages: false }, inputPrice: 1 },
      eyes: { asked: refusing(403) },
    }
    return withModels({ models }, async (desk) => {
      await desk.step({ drain: drainOf([await sendFile(desk, '/view.png', 'image/png')]) })
      const [chat, blind, eyes] = [{ model: 'chat' }, { model: 'blind', inputPrice: 1 }, { model: 'eyes' }]
      const failed = { excluded: 'authentication' }
      const gap = { ...blind, lacks: ['images'] }
      const asked = await desk.told('model.requested')
      expect(asked.map(({ model, routing }) => [model, (routing as Routing).candidates])).toEqual([
        ['chat', [chat, gap, eyes]],
        ['eyes', [{ ...chat, ...failed }, { ...gap, excluded: 'passed_over' }, eyes]],
        ['blind', [{ ...chat, ...failed }, gap, { ...eyes, ...failed }]],
      ])
      expect((await desk.transcript()).map(({ content }) => content)).toContain('Here.')
    })
  })

  test('a fallback whose window is smaller than the request lacks context', () => {
    const models = {
      chat: { asked: says('Here.'), fallbacks: ['small'] },
      small: { asked: says('Never.'), capabilities: { maxContextTokens: 1000 } },
    }
    return withModels({ models }, async (desk) => {
      await desk.step({ drain: drainOf(await desk.send('x'.repeat(8000))) })
      expect(await routingsOf(desk)).toMatchObject([
        { candidates: [{ model: 'chat' }, { model: 'small', lacks: ['context'], contextWindow: 1000 }] },
      ])
    })
  })
})

describe('the manifest of a request', () => {
  test('PL-CM.1 stands before each request, also a repeated one, a fallback’s and that of a resumed step', () => {
    let asked = 0
    const chat = scriptedModel(() => {
      asked += 1
      if (asked === 1) return { text: 'I was about to', wordDelay: 2000 }
      return { error: { status: 500, message: 'No.' } }
    })
    const models = { chat: { asked: chat, fallbacks: ['backup'] }, backup: { asked: says('Here.') } }
    return withModels({ models }, async (desk) => {
      const first = attempt()
      const lost = failureOf(desk.step({}, first))
      await until('the first request', () => asked === 1)
      const second = desk.step()
      await until('the second request', () => asked === 2)
      first.cancel()
      await lost
      await second
      const types = (await desk.events()).flatMap(({ type, payload: { model = '' } }) =>
        /^(?:context|model)\.re/.test(type) ? [`${type} ${String(model)}`] : [],
      )
      const models = ['chat', 'chat', 'chat', 'backup']
      expect(types).toEqual(
        models.flatMap((model) => [`context.resolved ${model}`, `model.requested ${model}`]),
      )
    })
  })

  test('PL-CM.2 PL-CM.5 has the model, its window, and four parts that add up', () => {
    const models = {
      chat: {
        ...{ asked: scriptedModel([{ text: 'Well.' }, { text: 'So.' }]), model: 'gpt-5-mini' },
        capabilities: { maxContextTokens: 8192 },
      },
    }
    return withModels({ models, ...WITH_TOOL }, async (desk) => {
      const next = afterStep(await desk.step())
      await desk.step({ ...next, run: 2, drain: drainOf(await desk.send('And now?', 'Please.')) })
      const manifests = await desk.told('context.resolved')
      expect(manifests).toHaveLength(2)
      for (const manifest of manifests) {
        const { tokens, items, estimatedTokens } = manifest as unknown as ContextManifest
        const parts = Object.values(tokens)
        expect(parts.reduce((one, other) => one + other)).toBe(estimatedTokens)
        expect(items.reduce((sum, item) => sum + item.tokens, 0)).toBe(estimatedTokens)
        expect(Math.min(...parts.slice(0, 2))).toBeGreaterThan(0)
      }
      const named = { agent: 'clerk', provider: 'scripted', model: 'chat', modelId: 'gpt-5-mini' }
      expect(manifests).toMatchObject([
        {
          ...{ ...named, contextWindow: 8192, messages: 1, tools: 1, tokens: { history: 0, user: 10 } },
          items: [{ kind: 'system' }, { kind: 'tools', count: 1 }, { kind: 'user', count: 1 }],
        },
        {
          ...{ ...named, contextWindow: 8192, messages: 4, tokens: { history: 20, user: 20 } },
          items: [
            ...[{ kind: 'system' }, { kind: 'tools' }, { kind: 'messages', count: 2 }],
            { kind: 'user', count: 2 },
          ],
        },
      ])
    })
  })
})
