import { expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import type { Behaviour } from '../support/thread-scripts.js'
import { familyRuns } from '../support/family-runs.js'
import { marked } from '../support/marker.js'
import { factsOf, toolResults, transcript } from '../support/thread-facts.js'

const REPORT = marked('The whole report')
const BRIEF = marked('The whole brief')

const order = (files?: string | readonly string[]) => ({
  toolCalls: [{ name: 'pair', args: { task: marked('Write'), ...(files !== undefined && { files }) } }],
})
const approve = (files?: string | readonly string[]) => ({
  toolCalls: [{ name: 'approve', args: { summary: marked('Good'), ...(files !== undefined && { files }) } }],
})
const search = { toolCalls: [{ name: 'search', args: { query: marked('x') } }] }
const draft = { text: marked('Draft') }
const done = { text: marked('Done') }

const writes =
  (path: string, text: string): Behaviour =>
  async (state) => {
    await state.writeFile(path, text, 'text/plain')
    return { status: 'success', result: marked('written') }
  }
const removes =
  (path: string): Behaviour =>
  async (state) => {
    await state.unlinkFile(path)
    return { status: 'success', result: marked('removed') }
  }

async function textOf(thread: ThreadHandle, path: string): Promise<string | null> {
  const bytes = await thread.readFile(path)
  return bytes === null ? null : Buffer.from(bytes).toString()
}

familyRuns((families) => {
  const brief = { name: 'brief.txt', mimeType: 'text/plain', data: Buffer.from(BRIEF) }

  test('SA-R-13.6 SA-R-08.1a SA-R-07.4b a file reaches the child and outlives its source', async () => {
    const family = await families.start({
      message: { content: marked('Hello'), attachments: [brief] },
      voices: {
        planner: [order('/attachments/brief.txt'), { toolCalls: [{ name: 'plan' }] }, done],
        writer: [draft],
        editor: [approve()],
      },
      tools: { plan: removes('/attachments/brief.txt') },
    })
    await family.thread.waitUntilIdle()
    const child = await family.child()
    const [first] = await transcript(child)
    const [file] = first?.attachments ?? []
    expect(first).toMatchObject({ content: marked('Write'), role: 'user' })
    expect(file).toMatchObject({ name: 'brief.txt', mimeType: 'text/plain', size: BRIEF.length })
    expect(await textOf(family.thread, '/attachments/brief.txt')).toBeNull()
    expect(await textOf(child, file?.path ?? '')).toBe(BRIEF)
    // The model of the child was told of it, by the path that its own tools can read.
    expect(family.requests('writer')[0]?.messages[0]?.text).toContain(`at ${file?.path}`)
  })

  test('SA-R-08.1b SA-R-08.2d SA-A-07.12b a path of one thread means nothing in the other', async () => {
    const seen: unknown[] = []
    const family = await families.start({
      voices: {
        planner: [{ toolCalls: [{ name: 'plan' }] }, order('/plans/deep/plan.txt'), done],
        writer: [search, draft],
        editor: [approve('/own/report.txt')],
      },
      tools: {
        plan: writes('/plans/deep/plan.txt', BRIEF),
        search: async (state, _args, call) => {
          seen.push(await state.readFile('/plans/deep/plan.txt'))
          return writes('/own/report.txt', REPORT)(state, {}, call)
        },
      },
    })
    await family.thread.waitUntilIdle()
    const child = await family.child()
    const path = (await transcript(child))[0]?.attachments[0]?.path ?? ''
    expect(path).not.toBe('/plans/deep/plan.txt')
    expect(await textOf(child, path)).toBe(BRIEF)
    expect(await textOf(family.thread, path)).toBeNull()
    expect(seen).toEqual([null])
    const back = (await toolResults(family.thread))[1]?.attachments[0]?.path ?? ''
    expect(back).not.toBe('/own/report.txt')
    expect(await textOf(family.thread, back)).toBe(REPORT)
    expect(await textOf(family.thread, '/own/report.txt')).toBeNull()
  })

  test('SA-R-13.6 SA-R-08.2b AR-RM.8 a file comes back and outlives its source', async () => {
    const family = await families.start({
      voices: {
        planner: [order(), done],
        writer: [search, draft],
        editor: [approve('/report.txt')],
      },
      tools: { search: writes('/report.txt', REPORT) },
    })
    await family.thread.waitUntilIdle()
    const child = await family.child()
    const [result] = await toolResults(family.thread)
    const path = result?.attachments[0]?.path ?? ''
    expect(family.requests('planner')[1]?.messages.at(-1)?.text).toContain(`at ${path}`)
    expect(await textOf(child, '/report.txt')).toBe(REPORT)
    // Neither events nor snapshot nor message have its bytes, as text or as base64.
    const shown = [await factsOf(family.thread), await family.thread.snapshot(), result]
    for (const text of [REPORT, Buffer.from(REPORT).toString('base64')])
      expect(JSON.stringify(shown)).not.toContain(text)
    const { env } = families
    await env.store.write((tx) => tx.deleteFrom('files').where('thread_id', '=', child.threadId).execute())
    expect(await textOf(child, '/report.txt')).toBeNull()
    expect(await textOf(family.thread, path)).toBe(REPORT)
  })

  test("the parent's deletion of a returned file leaves the child's", async () => {
    const family = await families.start({
      voices: {
        planner: [order(), { toolCalls: [{ name: 'plan' }] }, done],
        writer: [search, draft],
        editor: [approve('/report.txt')],
      },
      tools: { search: writes('/report.txt', REPORT), plan: removes('/attachments/report.txt') },
    })
    await family.thread.waitUntilIdle()
    expect((await toolResults(family.thread)).map(({ tool_status }) => tool_status)).toEqual([
      'success',
      'success',
    ])
    expect(await textOf(family.thread, '/attachments/report.txt')).toBeNull()
    expect(await textOf(await family.child(), '/report.txt')).toBe(REPORT)
  })

  test('SA-A-04.4 one path and a list of paths are both copied', async () => {
    const family = await families.start({
      message: { content: marked('Hello'), attachments: [brief, { ...brief, name: 'more.txt' }] },
      voices: {
        planner: [
          order('/attachments/brief.txt'),
          order(['/attachments/brief.txt', '/attachments/more.txt']),
          done,
        ],
        writer: [search, draft, search, draft],
        editor: [approve('/one.txt'), approve(['/one.txt', '/two.txt'])],
      },
      tools: {
        search: async (state) => {
          await state.writeFile('/one.txt', REPORT, 'text/plain')
          await state.writeFile('/two.txt', REPORT, 'text/plain')
          return { status: 'success', result: marked('written') }
        },
      },
    })
    await family.thread.waitUntilIdle()
    const [first, second] = await toolResults(family.thread)
    expect(first?.attachments.map(({ name }) => name)).toEqual(['one.txt'])
    // The second file of that name found the first one there.
    expect(second?.attachments.map(({ path }) => path)).toEqual([
      '/attachments/one-2.txt',
      '/attachments/two.txt',
    ])
    const paths = [...(first?.attachments ?? []), ...(second?.attachments ?? [])].map(({ path }) => path)
    for (const path of paths) expect(await textOf(family.thread, path)).toBe(REPORT)
    const given: (string | null)[] = []
    for (const child of await family.children())
      for (const { path } of (await transcript(child))[0]?.attachments ?? [])
        given.push(await textOf(child, path))
    expect(given).toEqual([BRIEF, BRIEF, BRIEF])
  })

  test('files of a failure come back too', async () => {
    const giveUp = { name: 'give_up', args: { reason: marked('No'), files: ['/log.txt'] } }
    const family = await families.start({
      voices: { planner: [order(), done], writer: [search, { toolCalls: [giveUp] }], editor: [] },
      tools: { search: writes('/log.txt', REPORT) },
    })
    await family.thread.waitUntilIdle()
    const [result] = await toolResults(family.thread)
    expect(result).toMatchObject({ tool_status: 'error', content: `Error: ${marked('No')}` })
    expect(await textOf(family.thread, result?.attachments[0]?.path ?? '')).toBe(REPORT)
  })

  test.each([
    { fact: 'a file that is not there', files: '/nowhere.txt' },
    { fact: 'a folder', files: '/attachments' },
    { fact: 'a path that is none', files: '../brief.txt' },
  ])('a call that names $fact starts no child', async ({ files }) => {
    const family = await families.start({
      message: { content: marked('Hello'), attachments: [brief] },
      voices: { planner: [order(files), done] },
    })
    await family.thread.waitUntilIdle()
    const [result] = await toolResults(family.thread)
    expect(result).toMatchObject({ tool_status: 'error' })
    expect(result?.content).toContain(files)
    expect(await family.children()).toEqual([])
  })

  test('a session stop that names a missing file goes on', async () => {
    const family = await families.start({
      voices: {
        planner: [order(), done],
        writer: [draft, draft],
        editor: [approve('/nowhere.txt'), { text: marked('Again') }, approve()],
      },
    })
    await family.thread.waitUntilIdle()
    const child = await family.child()
    const results = await toolResults(child)
    expect(results.map(({ tool_status }) => tool_status)).toEqual(['error', 'success'])
    expect(results[0]?.content).toContain('/nowhere.txt')
    expect(await toolResults(family.thread)).toMatchObject([{ content: marked('Good'), attachments: [] }])
  })
})
