import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { assemblePrompt } from '../../src/model/context/assemble-prompt.js'
import { toolConfiguration, withCacheHints } from '../../src/model/context/provider-options.js'
import { streamAnswer } from '../../src/model/stream-answer.js'
import type { ModelRequest } from '../../src/model/stream-answer.js'
import { drainOf, modelInput, runModel, withDesk } from '../activities/activity-desk.js'
import { startProviderMock } from '../support/provider-mock.js'
import type { ProviderMock } from '../support/provider-mock.js'
import { viewOf } from '../support/view-rules.js'
import { answerParts, AUTHOR, transcriptRow } from '../support/transcript-row.js'
import { log } from '../views/recorded.js'
import { REAL_PROVIDERS } from './real-providers.js'

const PNG = Buffer.from('\x89PNG\r\n\x1a\n and so on', 'latin1')
const BASE64 = PNG.toString('base64')
const perspective = { type: 'ai_human', side: 'a' } as const
const image = (path: string) =>
  ({ id: path, type: 'file', path, name: 'plan.png', mimeType: 'image/png', size: 18 }) as const
const plan = image('/plan.png')
const view = image('/view.png')
const call = { id: '1', type: 'function', function: { name: 'look', arguments: '{}' } }
const inputSchema = { type: 'object', properties: {} } as const
const tools = toolConfiguration([{ name: 'look', description: 'Looks.', inputSchema }])

const messages = [
  transcriptRow({ content: 'See', attachments: [plan] }),
  transcriptRow({
    role: 'assistant',
    side: 'a',
    prompt: 'desk',
    tool_calls: JSON.stringify([call]),
    reasoning_content: 'Hm.\n\nAh.',
    answer_parts: answerParts({
      text: null,
      reasoning: 'Hm.\n\nAh.',
      parts: [
        { kind: 'reasoning', from: 0, to: 3, providerMetadata: { anthropic: { signature: 'signed' } } },
        {
          ...{ kind: 'reasoning', from: 5, to: 8 },
          providerMetadata: { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'sealed' } },
        },
        { kind: 'call', id: '1' },
      ],
    }),
  }),
  transcriptRow({ role: 'tool', side: 'a', tool_call_id: '1', content: 'Seen.', attachments: [view] }),
]
const prompt = assemblePrompt({
  system: 'Be brief.',
  messages,
  perspective,
  files: new Map([plan, view].map((file) => [file, { mediaType: 'image/png', data: PNG }])),
  author: AUTHOR,
})

describe.each(REAL_PROVIDERS)('$name', ({ name, model }) => {
  let mock: ProviderMock
  beforeAll(async () => {
    mock = await startProviderMock()
  })
  afterAll(() => mock.close())

  async function sent(options: Partial<ModelRequest>): Promise<string> {
    mock.reply({ text: 'Yes.' })
    await streamAnswer({
      model: model(mock.url),
      options: { prompt, ...options },
      signal: new AbortController().signal,
      onDelta: () => undefined,
    })
    return JSON.stringify(mock.requests.at(-1)?.body)
  }

  test('SA-R-04.7 images of messages and results arrive as images', async () => {
    const body = await sent({})
    expect(body.split(BASE64)).toHaveLength(3)
    const kinds: Readonly<Record<string, string>> = {
      anthropic: '"type":"image"',
      google: '"inlineData"',
      'openai responses': '"type":"input_image"',
    }
    const kind = kinds[name]
    expect(body.split(kind ?? '"type":"image_url"')).toHaveLength(3)
  })

  test('reasoning goes back in the words of its provider', async () => {
    const body = await sent({ providerOptions: { openai: { store: false } } })
    if (name === 'anthropic')
      expect(body).toContain('{"type":"thinking","thinking":"Hm.","signature":"signed"}')
    if (name === 'openai responses') expect(body).toContain('"encrypted_content":"sealed"')
    if (name === 'openai-compatible') expect(body).toContain('"reasoning_content":"Hm.Ah."')
    // The ids of items are the provider's own.
    expect(body).not.toContain('rs_1')
  })

  test('parallel calls are turned off where that can be said', async () => {
    const providerOptions = {
      openai: { parallelToolCalls: false },
      anthropic: { disableParallelToolUse: true },
    }
    const body = await sent({ tools, toolChoice: { type: 'auto' }, providerOptions })
    const word = name === 'anthropic' ? '"disable_parallel_tool_use":true' : '"parallel_tool_calls":false'
    expect(body.includes(word)).toBe(!['openai-compatible', 'google'].includes(name))
  })

  test('cache hints are seen by Anthropic only', async () => {
    const body = await sent({ prompt: withCacheHints(prompt, 0), tools })
    const hints = body.split('"cache_control":{"type":"ephemeral"}').length - 1
    expect(hints).toBe(name === 'anthropic' ? 2 : 0)
    if (name !== 'anthropic') expect(body).not.toMatch(/cache/i)
  })
})

test('AR-S4.2 AR-VA.2 providers of different wire formats leave the same events', async () => {
  const mock = await startProviderMock()
  onTestFinished(() => mock.close())
  const told: unknown[] = []
  for (const { model } of REAL_PROVIDERS) {
    mock.reply({ text: 'One moment.', toolCalls: [{ name: 'work', input: '{"task":"count"}' }] })
    await withDesk({ chat: model(mock.url) }, async (desk) => {
      await runModel(desk.dependencies, modelInput({ drain: drainOf(await desk.send('one')) }))
      const events = (await desk.events()).map(({ type, payload }) => {
        const { milliseconds: _differs, provider: _named, ...same } = payload
        return { type, payload: same }
      })
      told.push({ events, texts: (await desk.transcript()).map(({ role, content }) => [role, content]) })
    })
  }
  expect(new Set(mock.requests.map(({ path }) => path)).size).toBeGreaterThan(2)
  expect(JSON.stringify(told[0])).toContain('model.completed')
  for (const one of told) expect(one).toEqual(told[0])
})

test('AR-ES.10 the id that each provider gives its answer is a reference of the event, and so is its error', async () => {
  const mock = await startProviderMock()
  onTestFinished(() => mock.close())
  for (const { name, model } of REAL_PROVIDERS) {
    mock.reply({ status: 500, message: 'No.' }, { text: 'Yes.' })
    await withDesk({ chat: model(mock.url) }, async (desk) => {
      await runModel(desk.dependencies, modelInput({ drain: drainOf(await desk.send('one')) }))
      const subject = { threadId: 't', sessionId: 't', agent: 'desk' }
      const events = viewOf('ar', subject, log(...(await desk.events())))
      const refsOf = (wanted: string) => events.find(({ type }) => type === wanted)?.refs
      expect(refsOf('model.completed'), name).toMatchObject({ raw: 'answer-1' })
      expect(refsOf('model.failed'), name).toMatchObject({ raw: expect.stringMatching('^/threads/t/errors') })
    })
  }
})
