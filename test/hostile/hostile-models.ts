import type { LanguageModelV4StreamPart, LanguageModelV4StreamResult } from '@ai-sdk/provider'

import { marked } from '../support/marker.js'
import type { HostileChoices } from './hostile-values.js'

type Part = Readonly<Record<string, unknown>> | null | undefined | string
/** What a provider does in place of a sound stream. */
export type HostileStream = () => LanguageModelV4StreamResult | Promise<LanguageModelV4StreamResult>

const USAGE = {
  inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 2, text: 2, reasoning: 0 },
}
const STOP = { unified: 'stop', raw: 'stop' }
const finish: Part = { type: 'finish', finishReason: STOP, usage: USAGE }
const text = (delta: unknown): readonly Part[] => [
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta },
  { type: 'text-end', id: '1' },
]
const call = (fields: object = {}): Part => ({
  ...{ type: 'tool-call', toolCallId: 'c1', toolName: 'odd', input: '{"kind": "none"}' },
  ...fields,
})

/** One answer of a provider that is wrong, strange, or too much. */
export function hostileStream(random: HostileChoices): HostileStream {
  const word = marked(random.text())
  const odd = (): unknown => random.anything()
  return random.pick<() => HostileStream>([
    // Words.
    () => parts(...text(word), finish),
    () => parts(...text(odd()), finish),
    () => parts(...text(''), finish),
    () => parts(...text(marked('x'.repeat(random.pick([70_000, 900_000])))), finish),
    () => parts(...Array.from({ length: 6 }, () => text('y'.repeat(800_000))).flat(), finish),
    () => parts({ type: 'text-delta', id: 'never-started', delta: word }, finish),
    () => parts(finish, ...text(word)),
    // Streams that end too soon, or badly.
    () => parts(...text(word)),
    () => parts(),
    () => parts(...text(word), { type: 'error', error: odd() }),
    () => async () => ({ stream: failing(odd()) }),
    () => () => Promise.reject(odd()),
    () => () => {
      throw odd()
    },
    () => () => odd() as LanguageModelV4StreamResult,
    () => async () => ({ stream: odd() }) as LanguageModelV4StreamResult,
    // Ends that say nonsense.
    () => parts(...text(word), { type: 'finish', finishReason: odd(), usage: USAGE }),
    () =>
      parts(...text(word), { type: 'finish', finishReason: { unified: odd(), raw: odd() }, usage: USAGE }),
    () => parts(...text(word), { type: 'finish', finishReason: STOP, usage: odd() }),
    () => parts(...text(word), { type: 'finish', finishReason: STOP, usage: strangeUsage(random) }),
    () => parts(...text(word), { type: 'finish', finishReason: STOP, usage: strangeUsage(random) }),
    () => parts({ type: 'finish' }),
    // Parts that nobody knows, or that say nonsense.
    () => parts({ type: odd(), value: odd() }, ...text(word), finish),
    () => parts(random.pick<Part>([null, undefined, 'text', {}]), ...text(word), finish),
    () =>
      parts(
        { type: 'response-metadata', id: odd(), modelId: odd(), timestamp: odd() },
        ...text(word),
        finish,
      ),
    () =>
      parts({ type: 'response-metadata', id: random.text(), modelId: random.text() }, ...text(word), finish),
    () =>
      parts(
        { type: 'source', url: odd() },
        { type: 'file', data: odd(), mediaType: odd() },
        ...text(word),
        finish,
      ),
    () => parts({ type: 'tool-result', toolCallId: 'none', result: odd() }, ...text(word), finish),
    () => parts(...reasoning(random, odd()), ...text(word), finish),
    () => parts(...reasoning(random, word), ...text(word), finish),
    // Calls.
    () =>
      parts(
        call({ toolName: random.pick([word, `n${'n'.repeat(100_000)}`, '', ' ', '__proto__', 'toString']) }),
        finish,
      ),
    () => parts(call({ toolName: odd() }), finish),
    () =>
      parts(
        call({
          input: random.pick(['{', '', 'null', '[]', '7', '"text"', 'undefined', word, '{"kind": "none"}}']),
        }),
        finish,
      ),
    () => parts(call({ input: odd() }), finish),
    () =>
      parts(
        { type: 'tool-input-start', id: 'c1', toolName: 'odd' },
        { type: 'tool-input-delta', id: 'c1', delta: '{}' },
        call({ input: odd() }),
        finish,
      ),
    () => parts(call({ input: `${'['.repeat(30_000)}${']'.repeat(30_000)}` }), finish),
    () =>
      parts(
        call({ input: JSON.stringify({ kind: random.json(), more: random.json(), text: word }) }),
        finish,
      ),
    () =>
      parts(
        call({ input: `{"kind": "none", "kind": "none", "__proto__": {"kind": 7}, "x": "\\ud800\\u0000"}` }),
        finish,
      ),
    () => parts(call({ input: JSON.stringify({ kind: marked('z'.repeat(1_500_000)) }) }), finish),
    () => parts(call({ toolCallId: odd() }), finish),
    () => parts(call({ toolCallId: random.text() }), call({ toolCallId: random.text() }), finish),
    () => parts(call({ providerMetadata: odd() }), finish),
    () => parts(call({ providerExecuted: odd() }), ...text(word), finish),
    () => parts(...Array.from({ length: 140 }, () => call({ toolName: 'unlisted' })), finish),
    () => parts(...text(word), call(), call(), finish),
  ])()
}

function reasoning(random: HostileChoices, delta: unknown): readonly Part[] {
  const providerMetadata = random.chance(0.5)
    ? { anthropic: { signature: random.anything() } }
    : random.anything()
  return [
    { type: 'reasoning-start', id: 'r', providerMetadata },
    { type: 'reasoning-delta', id: 'r', delta, providerMetadata },
    { type: 'reasoning-end', id: 'r', providerMetadata },
  ]
}

function strangeUsage(random: HostileChoices): unknown {
  const number = (): unknown =>
    random.pick([-5, Number.NaN, Infinity, 1.5, '7', null, undefined, 7n, 2 ** 60, 1e300, -0, {}, [], true])
  return {
    inputTokens: random.chance(0.8)
      ? { total: number(), noCache: number(), cacheRead: number(), cacheWrite: 0 }
      : number(),
    outputTokens: random.chance(0.8) ? { total: number(), text: number(), reasoning: 0 } : number(),
  }
}

function parts(...given: readonly Part[]): HostileStream {
  return async () => ({
    stream: new ReadableStream<LanguageModelV4StreamPart>({
      start(controller) {
        controller.enqueue({ type: 'stream-start', warnings: [] })
        // What a provider sends has no types.
        for (const part of given) controller.enqueue(part as unknown as LanguageModelV4StreamPart)
        controller.close()
      },
    }),
  })
}

function failing(error: unknown): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream<LanguageModelV4StreamPart>({
    start(controller) {
      controller.enqueue({ type: 'text-delta', id: '1', delta: 'half' })
      controller.error(error)
    },
  })
}
