/** kill -9 of server, worker and Temporal while an answer streams: what the official clients of two doors have then. */
import type { HttpAgent } from '@ag-ui/client'
import { Chat } from '@ai-sdk/react'
import { DefaultChatTransport } from 'ai'
import { expect, test } from 'vitest'

import { DoorAgent, shownBy, tell, transcriptOf } from '../../doors/ag-ui-fixture.js'
import { tale } from '../../page/page-desk.js'
import { until } from '../../support/until.js'
import { openRestartPlace, TOKEN } from './restart-place.js'
import type { RestartPlace } from './restart-place.js'

const headers = { authorization: `Bearer ${TOKEN}` }

/** The tests wait most of their time: each has all of it for itself, and they run at once. */
async function inPlace(taskQueue: string, work: (place: RestartPlace) => Promise<void>): Promise<void> {
  const place = await openRestartPlace(taskQueue)
  try {
    await place.startTemporal()
    await place.startWorker()
    await work(place)
  } finally {
    await place.close()
  }
}

/** Everything dies, and comes again; the worker finishes the answer that it had begun. */
async function restart(place: RestartPlace, threadId: string): Promise<string> {
  await place.killAll()
  await place.startTemporal()
  await place.startWorker()
  const url = await place.serve()
  await until(
    'the end of the run',
    async () => (await place.threads.get(threadId).snapshot()).lastRun !== null,
  )
  return url
}

async function expectOnce(place: RestartPlace, threadId: string): Promise<void> {
  const { messages } = await place.threads.get(threadId).messages()
  expect(messages.map(({ content }) => content)).toEqual(['tell 200', tale(200)])
}

/** Begins a thread over HTTP. */
async function begin(url: string, id: string): Promise<void> {
  const body = JSON.stringify({ agent: 'desk', id })
  const asked = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body }
  expect((await fetch(`${url}/threads`, asked)).status).toBe(201)
}

/** Until the client shows the words in the middle of the answer. */
function middle(shown: () => unknown): Promise<unknown> {
  return until('half of the answer', async () => JSON.stringify(shown()).includes('word20') || undefined)
}

test.concurrent(
  'useChat has the answer once, after kill -9 of all in the middle of it',
  () =>
    inPlace('doors-chat', async (place) => {
      const url = await place.serve()
      await begin(url, 'doors-chat')
      const api = `${url}/threads/doors-chat/ui-messages`
      const transport = new DefaultChatTransport({
        ...{ api, headers },
        prepareSendMessagesRequest: ({ messages, trigger }) => ({
          body: { trigger, messages: messages.slice(-1) },
        }),
        prepareReconnectToStreamRequest: () => ({ api: `${api}/stream?after=0` }),
      })
      const chat = new Chat({ id: 'doors-chat', transport })
      const sent = chat.sendMessage({ text: 'tell 200' })
      await middle(() => chat.messages)
      await restart(place, 'doors-chat')
      await sent
      expect(chat.status).toBe('error')
      await chat.resumeStream()
      expect(chat.status).toBe('ready')
      const stored = (await (await fetch(api, { headers })).json()) as { readonly messages: unknown }
      expect(JSON.parse(JSON.stringify(chat.messages))).toEqual(stored.messages)
      await expectOnce(place, 'doors-chat')
    }),
  180_000,
)

/** The client leaves the error of a broken connection to nobody, unless it looks as if somebody had aborted the request. */
async function fetchWithAborts(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init)
  async function* parts(): AsyncGenerator<Uint8Array> {
    try {
      yield* response.body ?? []
    } catch {
      throw new DOMException('The connection broke.', 'AbortError')
    }
  }
  return new Response(ReadableStream.from(parts()), response)
}

test.concurrent(
  'the client of AG-UI has the answer once, after kill -9 of all in the middle of it',
  () =>
    inPlace('doors-ag-ui', async (place) => {
      const url = await place.serve()
      await begin(url, 'doors-ag-ui')
      const agent: HttpAgent = new DoorAgent({
        ...{
          url: `${url}/threads/doors-ag-ui/ag-ui`,
          threadId: 'doors-ag-ui',
          headers,
          fetch: fetchWithAborts,
        },
      })
      tell(agent, 'tell 200')
      const run = agent.runAgent({ runId: 'first' }).catch((error: unknown) => error)
      await middle(() => agent.messages)
      await restart(place, 'doors-ag-ui')
      await run
      await agent.connectAgent({ runId: 'first' })
      expect(shownBy(agent)).toEqual(await transcriptOf(place.threads, 'doors-ag-ui'))
      await expectOnce(place, 'doors-ag-ui')
    }),
  180_000,
)
