import { createHmac } from 'node:crypto'
import { fileURLToPath } from 'node:url'

import { Chat } from '@ai-sdk/react'
import { DefaultChatTransport } from 'ai'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import { shop } from '../../examples/first-agent/registry.js'
import { chatRoutes } from '../../examples/next/lib/chat.js'
import { createChatApp } from '../../examples/use-chat/chat-app.js'
import { createTestEnvironment } from '../../src/testing/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { createVoice } from '../support/voice.js'

/** Both back ends of the guide for `useChat`, with the transport of the AI SDK and a worker behind them. */
const voice = createVoice()
const prices = { 'gpt-5-mini': { inputPrice: 0.25, outputPrice: 2 } }
let env: TestEnvironment<typeof shop>

beforeAll(async () => {
  env = await createTestEnvironment({ registry: shop, models: voice.model, prices, server: 'dev' })
}, 60_000)
afterAll(() => env.close())

/** What the official client shows at the end of an answer, with these requests. */
async function shownBy(api: string, ask: (path: string, init: RequestInit) => Promise<Response>) {
  const transport = new DefaultChatTransport({
    api,
    fetch: ((path: string, init: RequestInit) => ask(path, init)) as typeof fetch,
    prepareSendMessagesRequest: ({ messages, trigger }) => ({
      body: { trigger, messages: messages.slice(-1) },
    }),
  })
  const chat = new Chat({ transport })
  voice.says({ text: JSON.stringify({ answer: 'It was sent.', orders: [] }) })
  await chat.sendMessage({ text: 'Where is A-17?' })
  expect(chat.error).toBeUndefined()
  return JSON.stringify(chat.messages.at(-1)?.parts)
}

test('the Hono back end: a login by cookie, a chat of its user, answers to useChat, and nobody else reads it', async () => {
  const app = createChatApp({
    ...{ threads: env.threads as never, agent: 'support', secret: 's'.repeat(32) },
    isPassword: (_user, password) => password === 'tent',
  })
  const login = (user: string, password = 'tent') =>
    app.request('/login', { method: 'POST', body: new URLSearchParams({ user, password }), ...FROM_HERE })
  const cookieOf = (answer: Response) => answer.headers.get('set-cookie')?.split(';')[0] ?? ''
  expect((await login('ann', 'guess')).status).toBe(401)
  const [ann, ben] = [cookieOf(await login('ann')), cookieOf(await login('ben'))]
  const ask = async (path: string, cookie: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers)
    headers.set('cookie', cookie)
    headers.set('origin', 'http://localhost')
    return app.request(path, { ...init, headers })
  }

  expect((await ask('/chats', '', { method: 'POST' })).status).toBe(401)
  expect((await ask('/chats', ann.replace('ann', 'ben'), { method: 'POST' })).status).toBe(401)
  const created = await ask('/chats', ann, { method: 'POST' })
  const { id } = (await created.json()) as { readonly id: string }
  expect(await shownBy(`/chats/${id}/messages`, (path, init) => ask(path, ann, init))).toContain(
    'It was sent.',
  )

  const loaded = (await (await ask(`/chats/${id}/messages`, ann)).json()) as {
    readonly messages: readonly { readonly role: string }[]
    readonly cursor: string
  }
  expect(loaded.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  expect((await ask(`/chats/${id}/stream?after=${loaded.cursor}`, ann)).status).toBe(204)
  for (const path of [`/chats/${id}/messages`, `/chats/${id}/stream`, '/chats/other/messages'])
    expect((await ask(path, ben)).status, path).toBe(404)
  expect((await ask(`/chats/${id}/stop`, ben, { method: 'POST' })).status).toBe(404)
})

const FROM_HERE = { headers: { origin: 'http://localhost' } }

test('the page of the Hono back end is bundled', async () => {
  const input = fileURLToPath(new URL('../../examples/use-chat/page.tsx', import.meta.url))
  const bundle = await rolldown({ input, platform: 'browser' })
  const { output } = await bundle.generate({ format: 'esm' })
  expect(output[0].code).toContain('/login')
})

test('the routes of Next: a signed cookie, answers to useChat, and nobody else reads it', async () => {
  const secret = 'n'.repeat(32)
  vi.stubEnv('COOKIE_SECRET', secret)
  const { POST } = await import('../../examples/next/app/api/chat/[id]/messages/route.js')
  const at = { params: Promise.resolve({ id: 'next-other' }) }
  const signed = `user=ann.${createHmac('sha256', 'x'.repeat(32)).update('ann').digest('base64url')}`
  for (const headers of [{}, { cookie: 'user=ann' }, { cookie: signed }])
    expect((await POST(new Request('http://x/', { headers, method: 'POST' }), at)).status).toBe(401)
  vi.unstubAllEnvs()

  const id = 'examples-next-chat'
  await env.threads.create({ id, agent: 'support', userId: 'ann' })
  let user: string | undefined = 'ann'
  const routes = chatRoutes({ threads: env.threads as never, userOf: () => user })
  const params = { params: Promise.resolve({ id }) }
  const shown = await shownBy('http://x/api', (path, init) => routes.send(new Request(path, init), params))
  expect(shown).toContain('It was sent.')
  const get = (route: typeof routes.resume) => route(new Request('http://x/api'), params)
  expect(await (await get(routes.resume)).text()).toContain('It was sent.')
  user = 'ben'
  for (const route of Object.values(routes)) expect((await get(route)).status).toBe(404)
})
