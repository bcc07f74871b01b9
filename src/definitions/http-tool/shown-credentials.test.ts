import { expect, test } from 'vitest'
import { z } from 'zod'
import { servicesOfTests } from '../../../test/support/http-service.js'
import { callHttpTool, httpTool } from '../../../test/support/http-tool-call.js'
import type { ThreadState } from '../thread-state.js'
import type { ToolResult } from '../tool-result.js'
import type { ToolDefinition } from '../tool.js'

const serve = servicesOfTests()

/** The parts of a state that such a tool uses. */
const stateWith = (env: Readonly<Record<string, string>>): ThreadState =>
  ({ execution: null, env: async (name: string) => env[name] }) as unknown as ThreadState

const run = (tool: ToolDefinition<never>, args: object, state: ThreadState): Promise<ToolResult> =>
  callHttpTool(tool, { args, state })

const SECRET = 'canary"of the shop'

// The word has what services escape, and what UTF-8 and Latin-1 write in two ways.
const HARD = 'pä/s&s"w+o<rd-12345'
const escaped = (text: string): string => JSON.stringify(text).replaceAll('/', String.raw`\/`)

const cases: readonly (readonly [
  how: string,
  status: number,
  type: string,
  body: Buffer,
  answerBytes?: number,
])[] = [
  ['slashes are escaped in JSON', 400, 'application/json', Buffer.from(escaped(HARD))],
  [
    'letters are escaped in JSON',
    400,
    'text/plain',
    Buffer.from(String.raw`"p\u00e4\/s\u0026s\"w+o\u003crd-12345"`),
  ],
  ['slashes are escaped within another text', 400, 'text/plain', Buffer.from(`it: ${escaped(HARD)}`)],
  ['HTML', 200, 'text/html', Buffer.from('<p>pä/s&amp;s&quot;w+o&lt;rd-12345')],
  ['HTML by numbers', 200, 'text/html', Buffer.from('<p>pä/s&#38;s&#34;w+o&#60;rd-12345')],
  ['it is Latin-1', 400, 'text/plain', Buffer.from(`it: ${HARD}`, 'latin1')],
  ['it is UTF-16', 400, 'text/plain; charset=utf-16le', Buffer.from(`it: ${HARD}`, 'utf16le')],
  ['it is a file in UTF-8', 200, 'image/png', Buffer.from(HARD)],
  ['the answer is cut within it', 400, 'text/plain', Buffer.from(`it: ${HARD}`), 18],
  ['the character set', 200, 'text/plain; charset=word-12345-no-set', Buffer.from('a')],
]
const named = cases.map(([how, status, type, body, answerBytes = 10_000]) => {
  return [how, { status, type, body, answerBytes }] as const
})

test.each(named)('a password is not shown where %s', async (_how, { status, type, body, answerBytes }) => {
  const { url } = await serve(
    (_asked, response) => void response.writeHead(status, { 'content-type': type }).end(body),
  )
  const state = stateWith({ USER: 'word-12345', KEY: HARD })
  const tool = httpTool({ url, auth: { basic: { user: 'USER', password: 'KEY' } }, answerBytes })
  const came = await run(tool, {}, state).catch((error: unknown) => String(error))
  const files =
    typeof came === 'string'
      ? []
      : (came.attachments ?? []).map((file) => ('data' in file ? String(file.data) : ''))
  const words = JSON.stringify([came, files]).replaceAll(/\\u0000|\0/g, '')
  for (const part of ['w+o', 'rd-12345', 's&s', 'p\u00e4']) expect(words).not.toContain(part)
})

test('a pair in base64 is not shown where its slashes are escaped', async () => {
  const state = stateWith({ USER: 'user-??>', KEY: '???>>>???' })
  const { url } = await serve(
    ({ headers }, response) =>
      void response.writeHead(401).end(`no: ${escaped(String(headers.authorization))}`),
  )
  const tool = httpTool({ url, auth: { basic: { user: 'USER', password: 'KEY' } } })
  await expect(run(tool, {}, state)).rejects.toThrow(
    'The service answered 401 (Unauthorized): no: "Basic [secret KEY]"',
  )
})

test('the name of a file has no secret, wherever a redirect led', async () => {
  const { url } = await serve(({ url: path }, response) =>
    path === '/'
      ? void response.writeHead(302, { location: `/${SECRET}` }).end()
      : void response.writeHead(200, { 'content-type': 'image/png' }).end('a'),
  )
  const came = await run(httpTool({ url, auth: { bearer: 'KEY' } }), {}, stateWith({ KEY: SECRET }))
  expect(came.attachments).toMatchObject([{ name: 'secret_KEY_' }])
})

test('an argument does not stand before the credential of its name', async () => {
  const { url, asked } = await serve((_asked, response) => void response.end())
  const tool = httpTool({ url, args: z.object({ key: z.string() }), auth: { query: 'key', variable: 'KEY' } })
  await run(tool, { key: 'mine' }, stateWith({ KEY: 'canary-1' }))
  expect(asked[0]?.url).toBe('/?key=canary-1')
})
