/** What a provider runs itself: its calls, their results, and sources. */
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { agent, ConfigError, registry } from '../../src/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import { readTranscript } from '../../src/store/messages/transcript.js'
import { fakeStreamModel, FINISH } from '../support/fake-stream-model.js'
import { drainOf } from './activity-desk.js'
import { withModels } from './model-desk.js'

const metadata = { fake: { sealed: 'page' } }
const call = { type: 'tool-call', toolName: 'web_search', providerExecuted: true } as const
const words = (delta: string): LanguageModelV4StreamPart[] => [
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta },
  { type: 'text-end', id: '1' },
]
const searched: readonly LanguageModelV4StreamPart[] = [
  { ...call, toolCallId: 's1', input: '{"query":"tents"}', providerMetadata: metadata },
  { type: 'tool-result', toolCallId: 's1', toolName: 'web_search', result: [{ url: 'https://a.example' }] },
  { ...call, toolCallId: 's2', input: '{"query":"never answered"}' },
  { type: 'source', sourceType: 'url', id: 'a', url: 'https://a.example', title: 'Tents' },
  { type: 'source', sourceType: 'document', id: 'b', mediaType: 'application/pdf', title: 'Manual' },
  ...words('A tent.'),
  FINISH,
]
/** As `openai.tools.webSearch()` gives one. */
const webSearch = {
  type: 'provider' as const,
  id: 'fake.web_search' as const,
  isProviderExecuted: true,
  args: { maxUses: 3 },
  inputSchema: {},
}

test('what a provider has run is offered, stored, not run again, and goes back in its order with its result', async () => {
  const asked: LanguageModelV4CallOptions[] = []
  const model = fakeStreamModel(
    (options) => {
      asked.push(options)
      return searched
    },
    (options) => {
      asked.push(options)
      return [...words('Welcome.'), FINISH]
    },
  )
  const prompt = { providerTools: { web_search: webSearch } }
  await withModels({ models: { chat: { asked: model } }, prompt }, async (desk) => {
    const first = await desk.step()
    expect(first).toMatchObject({ type: 'answered', text: true, calls: [] })
    // An attempt whose answer was lost finds the row: nothing is asked, stored or counted again.
    expect(await desk.step()).toEqual(first)
    expect(model.calls).toBe(1)
    expect(asked[0]?.tools).toEqual([
      { type: 'provider', name: 'web_search', id: 'fake.web_search', args: { maxUses: 3 } },
    ])
    const row = (await desk.store.read((db) => readTranscript(db, 't'))).at(-1)
    expect(row).toMatchObject({ content: 'A tent.', tool_calls: null })
    expect(row?.answer_parts).toContain('https://a.example')
    const plan = first.type === 'answered' ? (first.plan?.digest ?? null) : null
    const drain = drainOf(await desk.send('Thanks.'))
    await desk.step({ step: 2, plan, knownPlan: plan, trigger: null, drain })
    expect(asked[1]?.prompt.find(({ role }) => role === 'assistant')?.content).toEqual([
      {
        ...{ type: 'tool-call', toolCallId: 's1', toolName: 'web_search', input: { query: 'tents' } },
        ...{ providerExecuted: true, providerOptions: metadata },
      },
      {
        ...{ type: 'tool-result', toolCallId: 's1', toolName: 'web_search' },
        output: { type: 'json', value: [{ url: 'https://a.example' }] },
      },
      { type: 'text', text: 'A tent.' },
    ])
    expect(asked[1]?.prompt.some(({ role }) => role === 'tool')).toBe(false)
  })
})

test('an agent takes tools of its provider among its tools, and refuses what is none by name', () => {
  const agentWith = (tool: object) =>
    registry({
      agents: [
        agent({
          ...{ name: 'desk', model: scriptedModel([]), instructions: 'You help.' },
          tools: { web_search: tool as never },
        }),
      ],
    })
  const known = agentWith(webSearch) as unknown as { prompt(name: string): { providerTools?: object } }
  expect(known.prompt('desk_prompt').providerTools).toEqual({ web_search: webSearch })
  expect(() => agentWith({ ...webSearch, isProviderExecuted: false })).toThrow(ConfigError)
  expect(() => agentWith({ ...webSearch, id: 'web_search' })).toThrow('expected an id such as')
  expect(() => agentWith({ ...webSearch, args: 7 })).toThrow('expected args as an object of JSON')
})
