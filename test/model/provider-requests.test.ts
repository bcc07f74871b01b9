import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { assemblePrompt } from '../../src/model/context/assemble-prompt.js'
import { toolConfiguration } from '../../src/model/context/provider-options.js'
import { streamAnswer } from '../../src/model/stream-answer.js'
import { startProviderMock } from '../support/provider-mock.js'
import type { ProviderMock } from '../support/provider-mock.js'
import { transcriptRow } from '../support/transcript-row.js'
import { REAL_PROVIDERS } from './real-providers.js'

const call = (id: string, input: string) => ({
  id,
  type: 'function',
  function: { name: 'look up', arguments: input },
})

const messages = [
  transcriptRow({ role: 'assistant', content: 'Welcome.', side: 'a' }),
  transcriptRow({ content: 'Find A-17.' }),
  transcriptRow({
    role: 'assistant',
    content: 'Looking.',
    side: 'a',
    tool_calls: JSON.stringify([call('s1-0', '{"order":"A-17"}'), call('s1-1', '{"order":')]),
  }),
  transcriptRow({ content: 'And hurry.' }),
  transcriptRow({ role: 'tool', tool_call_id: 's1-0', tool_status: 'success', content: 'Found.', side: 'a' }),
  transcriptRow({ role: 'system', content: 'The child ended.' }),
  transcriptRow({ role: 'assistant', content: 'It is here.', side: 'a' }),
]

interface WireItem {
  readonly role?: string
  readonly type?: string
  readonly content?: string | readonly { readonly type: string }[] | null
  readonly tool_calls?: readonly unknown[]
  readonly parts?: readonly object[]
}

/** Role and kind of each item on the wire, in the provider's own words. */
function wireOutline(body: unknown): readonly string[] {
  const wire = body as Record<string, readonly WireItem[] | undefined>
  const { messages: chat, input, contents, system = wire['systemInstruction'] } = wire
  const items = (chat ?? input ?? contents ?? []).map(
    ({ role, type, content, tool_calls: calls, parts: pieces }) => {
      const kinds = pieces?.map((piece) => Object.keys(piece)[0]) ?? []
      const parts =
        typeof content === 'string' ? 'text' : (content?.map((part) => part.type) ?? kinds).join('+')
      return role ? `${role}: ${parts}${calls ? `+${calls.length} calls` : ''}` : (type ?? '')
    },
  )
  return system ? ['system', ...items] : items
}

const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  'openai chat': [
    'system: text',
    'user: text',
    'assistant: text',
    'user: text',
    'assistant: text+2 calls',
    'tool: text',
    'tool: text',
    'user: text',
    'user: text',
    'assistant: text',
    'user: text',
  ],
  'openai responses': [
    'system: text',
    'user: input_text',
    'assistant: text',
    'user: input_text',
    'assistant: text',
    'function_call',
    'function_call',
    'function_call_output',
    'function_call_output',
    'user: input_text',
    'user: input_text',
    'assistant: text',
    'user: input_text',
  ],
  anthropic: [
    'system',
    'user: text',
    'assistant: text',
    'user: text',
    'assistant: text+tool_use+tool_use',
    'user: tool_result+tool_result+text+text',
    'assistant: text',
    'user: text',
  ],
  google: [
    'system',
    'user: text',
    'model: text',
    'user: text',
    'model: text+functionCall+functionCall',
    'user: functionResponse+functionResponse',
    'user: text',
    'user: text',
    'model: text',
    'user: text',
  ],
}

describe.each(REAL_PROVIDERS)('$name', ({ name, model }) => {
  let mock: ProviderMock
  beforeAll(async () => {
    mock = await startProviderMock()
  })
  afterAll(() => mock.close())

  test('a difficult transcript is sent in acceptable order', async () => {
    mock.reply({ text: 'Yes.' })
    const inputSchema = { type: 'object', properties: { order: { type: 'string' } } } as const
    await streamAnswer({
      model: model(mock.url),
      options: {
        prompt: assemblePrompt({
          system: 'Be brief.',
          messages,
          perspective: { type: 'ai_human', side: 'a' },
        }),
        tools: toolConfiguration([{ name: 'look_up', description: 'Finds an order.', inputSchema }]),
        providerOptions: { everthread: { prompt: 'desk', side: 'a', threadId: 'thread-1' } },
      },
      signal: new AbortController().signal,
      onDelta: () => undefined,
    })
    const body = mock.requests.at(-1)?.body
    expect(wireOutline(body)).toEqual(EXPECTED[name] ?? EXPECTED['openai chat'])
    const text = JSON.stringify(body)
    expect(text).toContain('look_up')
    expect(text).toContain('No result was recorded.')
    // What names the thread is for scripted models, no provider learns it.
    expect(text).not.toContain('thread-1')
  })
})
