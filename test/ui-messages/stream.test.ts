/** Streams as subscribers of real threads got them, cut anywhere, read by the AI SDK's own client. */
import { Chat } from '@ai-sdk/react'
import { readUIMessageStream, uiMessageChunkSchema } from 'ai'
import type { ChatTransport, UIMessage as SDKMessage, UIMessageChunk as SDKChunk } from 'ai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contextOf } from '../../src/client/thread-client.js'
import { createThreadUIMessages } from '../../src/client/thread-ui-messages.js'
import { makeWhole } from '../../src/client/ui-messages/follow.js'
import type { UIMessage, UIPart } from '../../src/client/index.js'
import type { ThreadEvent } from '../../src/protocol/events.js'
import { createTestEnvironment } from '../../src/testing/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { pauseChunks, uiMessageStreamView } from '../../src/views/ui-message-stream.js'
import { liveAfter } from '../doors/recorded-streams.js'
import { chatDesk, chatModels, converse, SCENARIOS } from '../support/chat-scenarios.js'
import { seededRandom } from '../support/seeded-random.js'

interface Recorded {
  readonly events: readonly ThreadEvent[]
  readonly messages: readonly UIMessage[]
  /** The texts of the transcript, as rows have them. */
  readonly texts: readonly string[]
  /** The fates of its calls, as rows have them. */
  readonly calls: readonly string[]
}

let env: TestEnvironment
const recorded = new Map<string, Recorded>()
const view = uiMessageStreamView({ fileUrl: (path) => path })

beforeAll(async () => {
  const models = chatModels() as never
  env = (await createTestEnvironment({ registry: chatDesk, models, server: 'dev' })) as never
  for (const name of SCENARIOS) {
    const { thread, events } = await converse((options) => env.threads.create(options), name)
    const whole: ThreadEvent[] = []
    for (const event of events) whole.push(await makeWhole(env.store, thread.threadId, event))
    const { messages } = await createThreadUIMessages(contextOf(env.threads), thread.threadId).uiMessages({
      fileUrl: (path) => path,
    })
    const { messages: rows } = await thread.messages()
    const texts = rows.filter(({ role }) => role !== 'tool').flatMap(({ content }) => content ?? [])
    const calls = rows.flatMap(({ tool_calls: made }) =>
      made === null ? [] : (JSON.parse(made) as { id: string }[]),
    )
    const fates = await Promise.all(calls.map(({ id }) => thread.toolCall(id)))
    recorded.set(name, {
      events: whole,
      messages,
      texts,
      calls: fates.map((call) => `${call?.toolCallId} ${call?.status}`),
    })
  }
}, 120_000)
afterAll(() => env.close())

function recordedOf(name: string): Recorded {
  const found = recorded.get(name)
  if (found === undefined) throw new Error(`Expected a record of ${name}.`)
  return found
}

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T
const isQuestion = ({ type, childId }: ThreadEvent): boolean =>
  type === 'action.required' && childId === undefined
const isEnd = ({ type }: ThreadEvent): boolean => /^run\.(completed|failed|cancelled)$/.test(type)

const payloadOf = (event: ThreadEvent | undefined): Readonly<Record<string, string>> =>
  (event?.payload ?? {}) as never

/** The events of each run, in order. */
function runsOf(events: readonly ThreadEvent[]): readonly (readonly ThreadEvent[])[] {
  const runs: ThreadEvent[][] = []
  for (const event of events) {
    if (event.type === 'run.started') runs.push([])
    runs.at(-1)?.push(event)
  }
  return runs.map((run) => run.slice(0, run.findIndex(isEnd) + 1))
}

/** What a subscriber gets who comes when so many events are over: stored facts, what is live, and then the rest. */
function joinedAt(run: readonly ThreadEvent[], at: number): readonly ThreadEvent[] {
  const before = run.slice(0, at)
  const live = liveAfter(before)?.pieces ?? []
  return [...before.filter(({ sequence }) => sequence !== undefined), ...live, ...run.slice(at)]
}

interface Told {
  readonly chunk: SDKChunk
  /** Events that are over once it was told. */
  readonly at: number
}

/** What a stream tells whose reader came at that moment: until a question that nobody has answered by then, or the end. */
function told(run: readonly ThreadEvent[], at: number, behind?: string): readonly Told[] {
  const chunks: Told[] = []
  let state = view.begin
  let isShown = behind === undefined
  const events = joinedAt(run, at)
  const shift = events.length - run.length
  for (const [index, event] of events.entries()) {
    const [next, items] = view.take(state, event)
    state = next
    const over = Math.max(at, index + 1 - shift)
    const of = items.filter((item) => item.type !== 'user-message')
    if (isShown) for (const chunk of of) chunks.push({ chunk: plain(chunk) as SDKChunk, at: over })
    if (!isQuestion(event)) continue
    if (!isShown && (event.payload as { requestId: string }).requestId === behind) {
      isShown = true
      chunks.push({ chunk: { type: 'start', messageId: run[0]?.runId ?? '' }, at: over })
    } else if (isShown && index - shift >= at) {
      for (const chunk of pauseChunks(state)) chunks.push({ chunk: plain(chunk) as SDKChunk, at: over })
      return chunks
    }
  }
  return chunks
}

function streamOf(chunks: readonly Told[], cut: number): ReadableStream<SDKChunk> {
  const left = [...chunks]
  let count = 0
  return new ReadableStream({
    pull(controller) {
      const next = left.shift()
      if (count === cut) controller.error(new TypeError('network error'))
      else if (next === undefined) controller.close()
      else controller.enqueue(next.chunk)
      count += 1
    },
  })
}

/** Reads a run with the real `Chat`, each connection cut at a random chunk; returns the messages that it has. */
async function readWithCuts(
  run: readonly ThreadEvent[],
  messages: readonly UIMessage[],
  random: () => number,
): Promise<readonly SDKMessage[]> {
  let place = 0
  let behind: string | undefined
  const open = (at: number, from?: string): ReadableStream<SDKChunk> => {
    const chunks = told(run, at, from)
    const cut = random() < 0.6 ? Math.floor(random() * chunks.length) : Infinity
    place = Math.max(place, (cut === Infinity ? chunks.at(-1) : chunks[cut])?.at ?? 0)
    return streamOf(chunks, cut)
  }
  const transport: ChatTransport<SDKMessage> = {
    resumeStreamIsReplay: true,
    sendMessages: () => Promise.resolve(open(place, behind)),
    reconnectToStream() {
      // Time goes on while the reader is away, but nobody answers.
      const question = run.findIndex((event, index) => index >= place && isQuestion(event))
      const latest = question === -1 ? run.length : question
      return Promise.resolve(open(place + Math.floor(random() * (latest - place + 1))))
    },
  }
  const chat = new Chat<SDKMessage>({ transport, messages: plain(messages) as SDKMessage[] })
  const question = { text: 'Asked.', messageId: undefined } as never
  await chat.sendMessage(question)
  for (let turn = 0; turn < 200; turn += 1) {
    if (chat.error?.message === 'network error') await chat.resumeStream()
    else {
      const asked = run.findIndex((event, index) => index + 1 === place && isQuestion(event))
      if (asked === -1 || place >= run.length) break
      const { requestId, kind } = payloadOf(run[asked])
      const { decision } = payloadOf(
        run.find((event) => event.type === 'action.resolved' && payloadOf(event)['requestId'] === requestId),
      )
      if (kind === 'approval')
        await chat.addToolApprovalResponse({ id: requestId ?? '', approved: decision !== 'denied' })
      behind = requestId
      await chat.sendMessage()
    }
  }
  return chat.messages
}

describe.each(SCENARIOS)('%s', (name) => {
  test('each chunk fits the schema of the AI SDK, and its reader ends with the transcript', async () => {
    const { events, messages } = recordedOf(name)
    const schema = uiMessageChunkSchema()
    const answers = messages.filter(({ role }) => role === 'assistant')
    const read: SDKMessage[] = []
    for (const run of runsOf(events)) {
      const state = { current: view.begin }
      const chunks = run.flatMap((event) => {
        const [next, items] = view.take(state.current, event)
        state.current = next
        return items.filter((item) => item.type !== 'user-message')
      })
      for (const chunk of chunks) {
        const checked = await schema.validate?.(plain(chunk))
        expect(checked?.success, JSON.stringify(chunk)).toBe(true)
      }
      let last: SDKMessage | undefined
      const stream = ReadableStream.from(plain(chunks)) as ReadableStream<SDKChunk>
      for await (const message of readUIMessageStream({ stream, onError: () => undefined })) last = message
      if (last !== undefined) read.push(last)
    }
    expect(plain(read)).toEqual(plain(answers))
  })

  test('its transcript has the texts and the fates of calls that the rows have', () => {
    const { messages, texts, calls } = recordedOf(name)
    const parts = messages.flatMap((message) => message.parts)
    const shown: readonly UIPart[] = parts.flatMap<UIPart>((part) =>
      part.type === 'steering-message' ? part.parts : part,
    )
    expect(shown.flatMap((part) => (part.type === 'text' ? part.text : []))).toEqual(texts)
    const states: Readonly<Record<string, string>> = {
      ...{ 'output-available': 'succeeded', 'output-error': 'failed', 'output-denied': 'denied' },
    }
    // What a provider runs is no call of the runtime.
    const made = parts.flatMap((part) =>
      part.type === 'dynamic-tool' && part.providerExecuted !== true
        ? `${part.toolCallId} ${states[part.state]}`
        : [],
    )
    expect(made.filter((call) => !call.startsWith('call_1_1_0_0'))).toEqual(calls)
  })

  test('with 500 cuts anywhere, useChat ends with the transcript', async () => {
    const { events, messages } = recordedOf(name)
    const runs = runsOf(events)
    const random = seededRandom(name.length * 7 + 1).next
    for (let round = 0; round < 500; round += 1) {
      const run = runs[round % runs.length] ?? []
      const answer = messages.find(({ id }) => id === run[0]?.runId)
      const read = await readWithCuts(run, [], random)
      expect(plain(read.slice(1)), `round ${round}`).toEqual([plain(answer)])
    }
  })
})

test('the records have arguments and reports while they came', () => {
  const types = new Set(SCENARIOS.flatMap((name) => recordedOf(name).events.map(({ type }) => type)))
  for (const type of ['tool.args', 'tool.output', 'tool.progress'] as const) expect(types).toContain(type)
})
