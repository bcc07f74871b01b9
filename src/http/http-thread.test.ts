import { expect, test } from 'vitest'

import { createApi } from './api.js'
import { createHttpThread } from './http-thread.js'
import { createSend } from './requests.js'

/** A thread whose requests get these answers in turn. */
function threadWith(answers: readonly object[]) {
  const sent: Request[] = []
  const fetch = async (request: Request): Promise<Response> => {
    sent.push(request)
    return Response.json(answers[sent.length - 1] ?? {})
  }
  const url = 'https://threads.example'
  const send = createSend({ url, fetch })
  const routes = {
    api: createApi(url, send),
    fetch: (path: string, init?: RequestInit) => send(() => new Request(url + path, init)),
    open: () => () => Promise.reject(new Error('Expected no stream.')),
  }
  return { sent, thread: createHttpThread(routes, 'a/b') }
}

test('a result that is not there yet is asked for again', async () => {
  const { sent, thread } = threadWith([
    { idle: false, result: null, reason: 'It works.' },
    { idle: true, result: { status: 'idle', steps: 2 }, reason: null },
  ])
  expect(await thread.waitUntilIdle({ children: true })).toMatchObject({ steps: 2 })
  expect(sent.map(({ url }) => new URL(url).search)).toEqual(Array(2).fill('?seconds=25&children=true'))
})

test('each command has a key of its own, unless it is given', async () => {
  const { sent, thread } = threadWith([])
  await thread.stop()
  await thread.continue()
  await thread.compact({ focus: 'tents' })
  await thread.writeFile('/x', 'text')
  await thread.once('mine').send('Hello')
  const keys = sent.map(({ headers }) => headers.get('idempotency-key'))
  expect(new Set(keys).size).toBe(5)
  expect([keys.includes(null), keys[4]]).toEqual([false, 'mine'])
})

test('a file has its own type, and bytes have none', async () => {
  const { sent, thread } = threadWith([])
  await thread.writeFile('/a b', new Blob(['x'], { type: 'text/plain' }))
  await thread.writeFile('/bytes', new Uint8Array([1]))
  await thread.writeFile('/named', 'x', { type: 'text/csv' })
  expect(sent.map(({ headers }) => headers.get('content-type'))).toEqual([
    ...['text/plain', 'application/octet-stream', 'text/csv'],
  ])
  expect(new URL(sent[0]?.url ?? '').pathname).toBe('/threads/a%2Fb/files/content')
})
