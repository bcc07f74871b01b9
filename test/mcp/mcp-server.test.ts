import { setTimeout as pause } from 'node:timers/promises'

import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import type { McpServer as Options } from '../../src/mcp/index.js'
import { callOf, EVERYTHING, listOf, sourcesOfTests } from './mcp-test-server.js'

const { answering, serving, source } = sourcesOfTests()

const names = (tools: readonly { readonly name: string }[]) => tools.map(({ name }) => name)

describe('the server "everything", over stdio', () => {
  const everything = (options: Partial<Options> = {}) =>
    source({ name: 'everything', ...EVERYTHING, tools: 'all', ...options } as Options)

  test('its tools are listed, by an allow-list, with a prefix and other names', async () => {
    const all = names(await listOf(everything()))
    expect(all).toEqual(expect.arrayContaining(['echo', 'get-sum', 'get-tiny-image']))
    const some = everything({
      prefix: 'demo_',
      tools: [
        'echo',
        { name: 'get-sum', as: 'add', description: 'Adds', readOnly: true, capabilities: ['math'] },
      ],
    })
    const listed = await listOf(some)
    expect(listed).toMatchObject([
      { name: 'demo_echo', capabilities: ['mcp.everything'], needsApproval: false },
      { name: 'demo_add', description: 'Adds', readOnly: true, capabilities: ['math'] },
    ])
    expect(await callOf(some, 'demo_add', { args: { a: 2, b: 3 } })).toMatchObject({
      ...{ status: 'success', content: [{ type: 'text', text: 'The sum of 2 and 3 is 5.' }] },
    })
  })

  test('images are files, and structured content is text', async () => {
    const demo = everything()
    expect(await callOf(demo, 'get-tiny-image')).toMatchObject({
      content: [
        { type: 'text' },
        { type: 'file', file: { name: 'image-2.png', mimeType: 'image/png', data: expect.any(Buffer) } },
        { type: 'text' },
      ],
    })
    const { content } = (await callOf(demo, 'get-structured-content', { args: { location: 'Chicago' } })) as {
      content: readonly { readonly text: string }[]
    }
    expect(JSON.parse(content[0]?.text ?? '')).toMatchObject({ temperature: expect.any(Number) })
    expect(
      await callOf(demo, 'get-resource-reference', { args: { resourceType: 'Text', resourceId: 1 } }),
    ).toMatchObject({ content: [{}, { type: 'text', text: expect.stringMatching(/^\[resource demo:/) }, {}] })
  })

  test('a refusal of the server is an error that says why', async () => {
    expect(await callOf(everything(), 'echo', { args: { message: 7 } })).toMatchObject({
      ...{ status: 'error', error_code: 'mcp_tool_error', error: expect.stringContaining('message') },
    })
  })

  test('a question on the connection of a call is declined with the reason', async () => {
    const answer = await callOf(everything(), 'trigger-elicitation-request')
    expect(JSON.stringify(answer)).toContain('so nobody was asked')
  })

  test('a call that is stopped ends at once, and the next one works', async () => {
    const demo = everything()
    const abort = new AbortController()
    const long = callOf(demo, 'trigger-long-running-operation', {
      ...{ args: { duration: 30, steps: 2 }, signal: abort.signal },
    })
    await listOf(demo)
    abort.abort()
    await expect(long).rejects.toThrow()
    expect(await callOf(demo, 'echo', { args: { message: 'on' } })).toMatchObject({ status: 'success' })
  })

  test('what a call reports of its progress is seen', async () => {
    const reports: unknown[] = []
    await callOf(everything(), 'trigger-long-running-operation', {
      ...{ args: { duration: 0.4, steps: 2 }, progress: (report) => void reports.push(report) },
    })
    // The last one may come behind the result.
    expect(reports).toContainEqual({ progress: 1, total: 2 })
  })

  test('a call that takes too long is an error of the category timeout', async () => {
    const demo = everything({ timeout: 200 })
    await expect(
      callOf(demo, 'trigger-long-running-operation', { args: { duration: 30, steps: 2 } }),
    ).rejects.toMatchObject({ category: 'timeout', code: 'mcp_timeout' })
  })
})

describe('a program', () => {
  const program = (code: string, options: object = {}) =>
    source({
      ...{ name: 'program', command: process.execPath, args: ['-e', code], tools: 'all' },
      ...options,
    } as Options)

  test('that does not exist is an error in seconds', async () => {
    const missing = source({ name: 'missing', command: 'no-such-program', tools: 'all' })
    await expect(listOf(missing)).rejects.toMatchObject({
      ...{ category: 'transient', code: 'mcp_unreachable' },
      message: expect.stringMatching(/^The MCP server "missing" cannot be reached: .*ENOENT/),
    })
  })

  test('that never answers is given up in time', async () => {
    const since = performance.now()
    await expect(listOf(program('process.stdin.resume()', { connectTimeout: 1_000 }))).rejects.toMatchObject({
      ...{ category: 'transient', code: 'mcp_unreachable' },
    })
    expect(performance.now() - since).toBeLessThan(9_000)
  })

  test('that writes why it ends is quoted', async () => {
    const broken = program('console.error("No API key."); process.exit(1)')
    await expect(listOf(broken)).rejects.toThrow(/Its program wrote: No API key\./)
  })

  test('that writes nonsense is given up', async () => {
    const noisy = program('setInterval(() => console.log("{]" + "x".repeat(9999)), 1)', {
      connectTimeout: 1_000,
    })
    await expect(listOf(noisy)).rejects.toMatchObject({ code: 'mcp_unreachable' })
  })
})

/** A program that speaks just enough of 2025, and dies in each call. */
const DYING = `
const { createInterface } = require('node:readline')
const say = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize')
    say(id, { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'dying', version: '1' } })
  else if (method === 'tools/list') say(id, { tools: [{ name: 'die', inputSchema: { type: 'object' } }] })
  else if (method === 'tools/call' && params.name === 'twice') {
    say(id, { content: [{ type: 'text', text: 'first' }] })
    say(id, { content: [{ type: 'text', text: 'second' }] })
  } else if (method === 'tools/call') process.exit(1)
  else if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'No' } }))
})`

test('a program that dies in its calls is started again, and left alone after the third time', async () => {
  const dying = source({
    ...{ name: 'dying', command: process.execPath, args: ['-e', DYING], tools: 'all' },
  })
  for (let time = 1; time <= 3; time += 1) {
    await expect(callOf(dying, 'die')).rejects.toMatchObject({ category: 'transient', code: 'mcp_closed' })
    await pause(20)
  }
  await expect(callOf(dying, 'die')).rejects.toThrow(/has ended 3 times within a minute/)
})

test('a program that answers twice is heard once', async () => {
  const dying = source({
    ...{ name: 'dying', command: process.execPath, args: ['-e', DYING], tools: 'all' },
  })
  expect(await callOf(dying, 'twice')).toMatchObject({ content: [{ text: 'first' }] })
  expect(names(await listOf(dying))).toEqual(['die'])
})

test('the process of a program ends with the source', async () => {
  const code = `${DYING}\nprocess.stderr.write(String(process.pid))`
  const demo = source({ name: 'pid', command: process.execPath, args: ['-e', code], tools: 'all' })
  const before = children()
  await listOf(demo)
  const started = children().filter((pid) => !before.includes(pid))
  expect(started).toHaveLength(1)
  await demo.close?.()
  await expect.poll(() => children().filter((pid) => started.includes(pid)), { timeout: 30_000 }).toEqual([])
  // It is started again where it is needed.
  expect(names(await listOf(demo))).toEqual(['die'])
})

/** The resources of this process that are child processes. */
function children(): readonly number[] {
  const { _getActiveHandles: handles } = process as unknown as {
    _getActiveHandles(): readonly { pid?: number }[]
  }
  return handles.call(process).flatMap(({ pid }) => (pid === undefined ? [] : [pid]))
}

describe('a server over HTTP', () => {
  const echo = (text: string) => ({ content: [{ type: 'text' as const, text }] })

  test('of 2026-07-28 lists and runs its tools', async () => {
    const url = await serving((server) => {
      server.registerTool(
        'greet',
        {
          description: 'Greets',
          inputSchema: z.object({ name: z.string() }),
          annotations: { destructiveHint: true },
        },
        ({ name }) => echo(`Hello ${name}`),
      )
    })
    const demo = source({ name: 'web', url, tools: ['greet'] })
    expect(await listOf(demo)).toMatchObject([{ name: 'greet', destructive: true }])
    expect(await callOf(demo, 'greet', { args: { name: 'Ada' } })).toMatchObject({
      content: [{ text: 'Hello Ada' }],
    })
  })

  test('gets the token of each person, and headers; without a token nothing is sent', async () => {
    const seen: (string | undefined)[] = []
    const url = await serving(
      (server) => {
        server.registerTool('who', { description: 'Who' }, () => echo('you'))
      },
      ({ headers }) => {
        seen.push(`${headers.authorization} ${String(headers['x-team'])}`)
        return false
      },
    )
    const demo = source({
      ...{ name: 'web', url, tools: 'all', headers: { 'x-team': 'blue' } },
      tokens: ({ user }) => (user === 'mia' ? 'token-of-mia' : null),
    })
    await callOf(demo, 'who', { user: 'mia' })
    expect(new Set(seen)).toEqual(new Set(['Bearer token-of-mia blue']))
    seen.length = 0
    await expect(callOf(demo, 'who', { user: 'tom' })).rejects.toMatchObject({
      ...{ category: 'permission', code: 'mcp_no_token' },
      message: 'The MCP server "web" wants a login, and the user "tom" has no token for it.',
    })
    expect(seen).toEqual([])
  })

  test('that is not there is an error in seconds', async () => {
    await expect(
      listOf(source({ name: 'gone', url: 'http://127.0.0.1:9/mcp', tools: 'all' })),
    ).rejects.toMatchObject({
      ...{ category: 'transient', code: 'mcp_unreachable' },
    })
  })

  test.each([
    [401, 'permission', 'mcp_unauthorized'],
    [403, 'permission', 'mcp_unauthorized'],
    [503, 'transient', 'mcp_unreachable'],
  ])('that answers %s is an error of the category %s', async (status, category, code) => {
    const url = await answering((_request, response) => response.writeHead(status).end())
    await expect(listOf(source({ name: 'wall', url, tools: 'all' }))).rejects.toMatchObject({
      category,
      code,
    })
  })

  test('that never answers is given up in time', async () => {
    const url = await answering(() => undefined)
    const since = performance.now()
    await expect(
      listOf(source({ name: 'mute', url, tools: 'all', connectTimeout: 500 })),
    ).rejects.toMatchObject({
      code: 'mcp_unreachable',
    })
    expect(performance.now() - since).toBeLessThan(9_000)
  })

  test('cannot send a caller to another host', async () => {
    let reached = 0
    const other = await answering((_request, response) => {
      reached += 1
      response.end('{}')
    })
    const url = await answering((_request, response) => response.writeHead(307, { location: other }).end())
    await expect(listOf(source({ name: 'guide', url, tools: 'all' }))).rejects.toMatchObject({
      code: 'mcp_unreachable',
    })
    expect(reached).toBe(0)
  })

  test('that sends 100 MB is cut off', async () => {
    const url = await serving((server) => {
      server.registerTool('flood', { description: 'Floods' }, () => echo('x'.repeat(100_000_000)))
    })
    await expect(callOf(source({ name: 'flood', url, tools: 'all' }), 'flood')).rejects.toMatchObject({
      code: expect.stringMatching(/^mcp_/),
    })
  })

  test('whose answer is large is bounded: text and files', async () => {
    const image = {
      type: 'image' as const,
      mimeType: 'image/png',
      data: Buffer.alloc(1_000).toString('base64'),
    }
    const url = await serving((server) => {
      server.registerTool('text', { description: 'Text' }, () => echo('x'.repeat(6_000_000)))
      server.registerTool('images', { description: 'Images' }, () => ({
        content: Array.from({ length: 30 }, () => image),
      }))
    })
    const demo = source({ name: 'large', url, tools: 'all' })
    const { content } = (await callOf(demo, 'text')) as { content: readonly { readonly text: string }[] }
    expect(content[0]?.text.length).toBeLessThan(4_300_000)
    expect(content[0]?.text).toMatch(/The rest was left out/)
    const images = (await callOf(demo, 'images')) as { content: readonly { readonly type: string }[] }
    expect(images.content.filter(({ type }) => type === 'file')).toHaveLength(20)
  })
})
