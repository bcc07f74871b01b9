import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { PromptDefinition } from '../../src/index.js'
import { PART_METADATA_BYTES } from '../../src/model/answer-collector.js'
import type { CallModelAnswer, CallModelInput } from '../../src/protocol/activities.js'
import { LIMITS } from '../../src/protocol/limits.js'
import { statFile, putFile } from '../../src/store/files/files.js'
import type { BlobStore } from '../../src/store/files/blob-store.js'
import { readDeltas } from '../../src/store/messages/deltas.js'
import { readTranscript } from '../../src/store/messages/transcript.js'
import { scriptedModel } from '../../src/testing/index.js'
import { REAL_PROVIDERS } from '../model/real-providers.js'
import { fakeStreamModel, FINISH } from '../support/fake-stream-model.js'
import { startProviderMock } from '../support/provider-mock.js'
import type { MockAnswer, ProviderMock } from '../support/provider-mock.js'
import { until } from '../support/until.js'
import { attempt, drainOf, modelInput, NOW, runModel } from './activity-desk.js'
import { withModels } from './model-desk.js'
import type { ModelDesk } from './model-desk.js'

const CALL = { name: 'look', input: '{"order":"A-17"}' }
const PNG = Buffer.from('\x89PNG\r\n\x1a\n and so on', 'latin1')
const REASONED = { text: 'The order is to be looked up.', signature: 'signed thought' }
const BUDGET = { reasoning: { maxTokens: 2000 } }

/** What each provider signs of a step that calls a tool, and refuses the next request without. */
const SIGNED: Readonly<Record<string, MockAnswer>> = {
  'openai chat': { text: 'One moment.', toolCalls: [CALL] },
  'openai responses': { reasoning: REASONED, text: 'One moment.', phase: 'commentary', toolCalls: [CALL] },
  anthropic: { reasoning: REASONED, text: 'One moment.', toolCalls: [CALL] },
  'openai-compatible': {
    toolCalls: [
      { ...CALL, signature: 'signed call' },
      { ...CALL, input: '{}' },
    ],
  },
  google: { reasoning: REASONED, text: 'One moment.', toolCalls: [{ ...CALL, signature: 'signed call' }] },
}

/** Of the test at hand. */
let mock: ProviderMock
beforeEach(async () => {
  mock = await startProviderMock()
})
afterEach(() => mock.close())

/** The step behind one that called tools. */
function nextStep(
  desk: ModelDesk,
  first: CallModelAnswer,
  patch: Partial<CallModelInput> = {},
): Promise<CallModelAnswer> {
  const plan = first.type === 'answered' ? (first.plan?.digest ?? null) : null
  return desk.step({ step: 2, plan, knownPlan: plan, trigger: null, drain: [], ...patch })
}

interface Body {
  readonly input?: readonly object[]
  readonly store?: boolean
  readonly thinking?: unknown
}

/** What the provider was asked last. */
const asked = (): Body => (mock.requests.at(-1)?.body ?? {}) as Body
const lastBody = (): string => JSON.stringify(asked())

/** A thread whose model is a real provider library on the mock. */
function withProvider(
  name: string,
  prompt: Partial<PromptDefinition>,
  work: (desk: ModelDesk) => Promise<void>,
): Promise<void> {
  const provider = REAL_PROVIDERS.find((one) => one.name === name)
  if (provider === undefined) throw new Error(`Expected a provider ${name}.`)
  return withModels({ models: { chat: { asked: provider.model(mock.url) } }, prompt }, work)
}

describe.each(REAL_PROVIDERS)('P1 $name', ({ name }) => {
  test('what came with a call goes back with the next request', () =>
    withProvider(name, BUDGET, async (desk) => {
      mock.reply(SIGNED[name] ?? {}, { text: 'Found.' })
      const first = await desk.step()
      expect(first).toMatchObject({ type: 'answered', calls: SIGNED[name]?.toolCalls?.map(() => ({})) })
      // T5: the store and the provider have it, Temporal has not.
      expect(JSON.stringify(first)).not.toContain('signed')
      expect(await nextStep(desk, first)).toMatchObject({ type: 'answered', text: true })
    }))
})

describe('P1', () => {
  test('a phase and sealed reasoning of OpenAI go back without ids', () =>
    withProvider('openai responses', {}, async (desk) => {
      mock.reply(SIGNED['openai responses'] ?? {}, { text: 'Found.' })
      await nextStep(desk, await desk.step())
      const { input, store } = asked()
      expect(store).toBe(false)
      expect(input?.slice(-4, -1)).toMatchObject([
        { type: 'reasoning', encrypted_content: 'signed thought' },
        { role: 'assistant', phase: 'commentary' },
        { type: 'function_call', name: 'look' },
      ])
      expect(lastBody()).not.toMatch(/reasoning-1|message-1|item-0/)
    }))

  test('a later turn has the signed calls and not the thoughts', () =>
    withProvider('google', {}, async (desk) => {
      mock.reply(SIGNED['google'] ?? {}, { text: 'Found.' }, { text: 'You are welcome.' })
      const first = await desk.step()
      await nextStep(desk, first)
      await nextStep(desk, first, { step: 3, drain: drainOf(await desk.send('Thanks.')) })
      expect(lastBody()).toContain('"thoughtSignature":"signed call"')
      expect(lastBody()).not.toContain('"thought":true')
    }))

  test('metadata above its limit is left out, and the event says so', async () => {
    const large = { google: { thoughtSignature: 's'.repeat(PART_METADATA_BYTES) } }
    const call = { type: 'tool-call', toolName: 'look', input: '{}' } as const
    const model = fakeStreamModel(() => [
      { ...call, toolCallId: '1', providerMetadata: large },
      { ...call, toolCallId: '2', providerMetadata: { google: { thoughtSignature: 'small' } } },
      FINISH,
    ])
    await withModels({ models: { chat: { asked: model } } }, async (desk) => {
      await desk.step()
      const row = (await desk.store.read((db) => readTranscript(db, 't'))).at(-1)
      expect(row?.answer_parts).toContain('small')
      expect(row?.answer_parts?.length).toBeLessThan(1000)
      expect(await desk.told('model.completed')).toMatchObject([{ metadataLeftOut: 1 }])
    })
  })
})

describe('P6 thinking on Anthropic', () => {
  test('goes back within its turn where nothing is included', () =>
    withProvider('anthropic', BUDGET, async (desk) => {
      mock.reply(SIGNED['anthropic'] ?? {}, { text: 'Found.' }, { text: 'You are welcome.' })
      const first = await desk.step()
      expect(await nextStep(desk, first)).toMatchObject({ type: 'answered', text: true })
      expect(asked().thinking).toMatchObject({ type: 'enabled' })
      expect(lastBody()).toContain('"signature":"signed thought"')
      await nextStep(desk, first, { step: 3, drain: drainOf(await desk.send('Thanks.')) })
      expect(lastBody()).not.toContain('signed thought')
    }))

  test('is not asked for behind calls without it, and comes back', () =>
    withProvider('anthropic', { reasoning: { effort: 'high' } }, async (desk) => {
      mock.reply({ toolCalls: [CALL] }, { text: 'Found.' }, { text: 'You are welcome.' })
      const first = await desk.step()
      expect(asked().thinking).toMatchObject({ type: 'enabled' })
      expect(await nextStep(desk, first)).toMatchObject({ type: 'answered', text: true })
      expect(asked().thinking).not.toMatchObject({ type: 'enabled' })
      await nextStep(desk, first, { step: 3, drain: drainOf(await desk.send('Thanks.')) })
      expect(asked().thinking).toMatchObject({ type: 'enabled' })
    }))
})

describe('P2 files that a model makes', () => {
  const painted = { mediaType: 'image/png', data: PNG.toString('base64'), signature: 'signed image' }

  test('are attachments of its message and go back to it', () =>
    withProvider('google', {}, async (desk) => {
      mock.reply({ text: 'A plan:', files: [painted], toolCalls: [CALL] }, { text: 'Done.' })
      const first = await desk.step()
      const row = (await desk.transcript()).at(-1)
      expect(row).toMatchObject({ role: 'assistant', content: 'A plan:' })
      expect(row?.attachments).toEqual([
        {
          ...{ id: '/attachments/image.png', type: 'file', path: '/attachments/image.png' },
          ...{ name: 'image.png', mimeType: 'image/png', size: PNG.byteLength },
        },
      ])
      const file = await desk.store.read((db) => statFile(db, 't', '/attachments/image.png'))
      expect(await desk.store.blobs.read(file?.blob ?? '')).toEqual(PNG)
      expect(await nextStep(desk, first)).toMatchObject({ type: 'answered', text: true })
      expect(lastBody()).toContain(painted.data)
      expect(lastBody()).toContain('image.png (image/png, 18 bytes) at /attachments/image.png')
    }))

  test('alone are an answer, which is not asked for again', () =>
    withProvider('google', {}, async (desk) => {
      const plain = { mediaType: 'image/png', data: PNG.toString('base64') }
      mock.reply({ files: [plain, plain] })
      expect(await desk.step()).toMatchObject({ type: 'answered', text: true, calls: [] })
      const row = (await desk.transcript()).at(-1)
      expect(row).toMatchObject({ content: null, tool_calls: null })
      expect(row?.attachments.map(({ path }) => path)).toEqual([
        '/attachments/image.png',
        '/attachments/image-2.png',
      ])
    }))

  test('are told by their path to a model that did not make them', () => {
    const chat = scriptedModel([{ error: { status: 401, message: 'No.' } }, { text: 'I see a path.' }])
    const painter = scriptedModel([{ files: [painted], toolCalls: [{ name: 'look' }] }])
    const models = { chat: { asked: chat, fallbacks: ['painter'] }, painter: { asked: painter } }
    return withModels({ models }, async (desk) => {
      await nextStep(desk, await desk.step())
      const prompt = chat.requests.at(-1)?.raw.prompt ?? []
      expect(prompt.flatMap(({ content }) => content as object[])).not.toContainEqual(
        expect.objectContaining({ type: 'file' }),
      )
      expect(chat.requests.at(-1)?.messages[1]?.text).toBe(
        'Attached files:\n- image.png (image/png, 18 bytes) at /attachments/image.png',
      )
    })
  })

  test('take another path where theirs is taken before the commit', () => {
    const model = scriptedModel([{ files: [painted], toolCalls: [{ name: 'look' }] }, { text: 'Done.' }])
    return withModels({ models: { chat: { asked: model } } }, async (desk) => {
      const { store } = desk.dependencies
      const taken = { threadId: 't', path: '/attachments/image.png', mimeType: 'text/plain', now: NOW }
      const write: BlobStore['write'] = async (content) => {
        const written = await store.blobs.write(content)
        await store.write((tx) => putFile(tx, { ...taken, blob: written.digest, size: written.size }))
        return written
      }
      const busy = { ...desk.dependencies, store: { ...store, blobs: { ...store.blobs, write } } }
      const first = await runModel(busy, modelInput({ drain: drainOf(await desk.send('Paint.')) }))
      const row = (await desk.transcript()).find(({ role }) => role === 'assistant')
      expect(row?.attachments).toMatchObject([{ path: '/attachments/image-2.png', name: 'image-2.png' }])
      await nextStep(desk, first)
      expect(JSON.stringify(model.requests.at(-1)?.raw.prompt)).toContain('"filename":"image-2.png"')
    })
  })

  test('that came before a stop are kept with the words', () => {
    const model = fakeStreamModel(() => [
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: PNG } },
      { type: 'text-delta', id: '1', delta: 'A plan' },
      'never',
    ])
    return withModels({ models: { chat: { asked: model } } }, async (desk) => {
      const environment = attempt()
      const running = desk.step({}, environment)
      await until('a word', async () => (await desk.store.read((db) => readDeltas(db, 't'))).length > 0)
      environment.cancel()
      expect(await running).toMatchObject({ type: 'interrupted' })
      expect((await desk.transcript()).at(-1)).toMatchObject({
        ...{ content: 'A plan', status: 'interrupted' },
        attachments: [{ path: '/attachments/image.png' }],
      })
    })
  })

  test('are refused by name when there are too many', () => {
    const files = Array.from({ length: LIMITS.messageAttachments + 1 }, () => painted)
    const model = scriptedModel([{ files }])
    return withModels({ models: { chat: { asked: model } } }, async (desk) => {
      expect(await desk.step()).toMatchObject({ type: 'end', reason: 'model_failed' })
      expect(await desk.told('model.failed')).toMatchObject([{ error: 'too_large' }])
    })
  })
})
