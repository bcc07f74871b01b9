import { expect, test } from 'vitest'

import type { JsonObject, ToolResult, ToolSource } from '../../src/index.js'
import { createTaskBench } from './mcp-task-server.js'
import { callOf, resumeOf, sourcesOfTests } from './mcp-test-server.js'

const { serving, source } = sourcesOfTests()

interface Waits {
  readonly status: 'pending'
  readonly after?: number
  readonly form?: JsonObject
  readonly resume: JsonObject
}

/** A server whose tool begins a task, and a call of it. */
async function begin(order: string, interval?: number) {
  const bench = createTaskBench(interval)
  let isDown = false
  const url = await serving(bench.register, ({ socket }) => {
    if (isDown) socket.destroy()
    return isDown
  })
  const make = (): ToolSource => source({ name: 'oven', url, tools: 'all' })
  const args = { order }
  const first = (await callOf(make(), 'bake', { args })) as Waits
  return {
    bench,
    first,
    make,
    /** Each part on a worker of its own. */
    goOn: async ({ resume }: Waits, answer: ToolResult | null = null) =>
      (await resumeOf(make(), 'bake', { args, resume, answer })) as Waits,
    goDown: (down: boolean) => {
      isDown = down
    },
  }
}

test('a task is a call that goes on after a time, on any worker, until its result is there', async () => {
  const { bench, first, goOn } = await begin('bread')
  const { id } = bench.of('bread')
  expect(first).toMatchObject({ status: 'pending', after: 1_000, resume: { task: { id, interval: 1_000 } } })
  const waits = await goOn(first)
  expect(waits).toMatchObject({ status: 'pending', after: 1_000, resume: { task: { id } } })
  bench.finish('bread', 'Baked.')
  expect(await goOn(waits)).toEqual({ status: 'success', content: [{ type: 'text', text: 'Baked.' }] })
  expect(bench.asked('tasks/get', 'bread')).toBe(2)
})

test('the server says how often it is asked, within bounds, and a long task is asked for less often', async () => {
  const often = await begin('roll', 1)
  expect(often.first.after).toBe(1_000)
  expect((await begin('cake', 7_000)).first.after).toBe(7_000)
  expect((await begin('stone', 1e15)).first.after).toBe(3_600_000)
  const { task } = often.first.resume as { task: JsonObject }
  const aged = (since: number): Waits => ({ ...often.first, resume: { task: { ...task, since } } })
  const { after = 0 } = await often.goOn(aged(Date.now() - 80_000))
  expect(after).toBeGreaterThanOrEqual(20_000)
  expect(after).toBeLessThan(60_000)
  expect((await often.goOn(aged(Date.now() - 86_400_000))).after).toBe(300_000)
  await expect(often.goOn(aged(0))).rejects.toMatchObject({ category: 'timeout', code: 'mcp_task_overdue' })
})

test('a question within a task is a form, and its answer is sent by a part that may run again', async () => {
  const { bench, first, goOn, goDown } = await begin('pie')
  bench.ask('pie', 'How large?')
  const asked = await goOn(first)
  expect(asked).toMatchObject({
    form: { description: 'How large?', required: ['size'] },
    resume: { input: { keys: ['size'] }, task: { id: bench.of('pie').id } },
  })
  expect(asked.after).toBeUndefined()
  const kept = await goOn(asked, { status: 'success', result: { size: 3 } })
  expect(kept).toMatchObject({ status: 'pending', after: 0 })
  expect(bench.answers).toEqual([])
  goDown(true)
  const later = await goOn(kept)
  expect(later).toMatchObject({ status: 'pending', after: 5_000, resume: { tries: 1 } })
  goDown(false)
  const sent = await goOn(later)
  expect(sent).toMatchObject({ status: 'pending', after: 1_000 })
  expect(sent.resume).not.toHaveProperty('answer')
  // A crash behind the sending repeats it: the task goes on as before.
  await goOn(later)
  expect(bench.answers).toEqual(
    Array.from({ length: 2 }, () => ({ size: { action: 'accept', content: { size: 3 } } })),
  )
  bench.finish('pie', 'A large one.')
  expect(await goOn(sent)).toMatchObject({ content: [{ text: 'A large one.' }] })
})

test('a server that is down while it is asked for a task is asked again, for about an hour', async () => {
  const { bench, first, goOn, goDown } = await begin('tart')
  goDown(true)
  let waits = first
  const pauses: (number | undefined)[] = []
  for (let time = 0; time < 18; time += 1) {
    waits = await goOn(waits)
    pauses.push(waits.after)
  }
  expect(pauses.slice(0, 4)).toEqual([5_000, 10_000, 20_000, 40_000])
  expect(pauses.at(-1)).toBe(300_000)
  await expect(goOn(waits)).rejects.toMatchObject({ category: 'transient', code: 'mcp_unreachable' })
  goDown(false)
  const back = await goOn(waits)
  expect(back.resume).not.toHaveProperty('tries')
  expect(bench.asked('tasks/get', 'tart')).toBe(1)
})

test('a task that fails, is cancelled or is forgotten is an error that says so', async () => {
  const { bench, first, goOn } = await begin('flan')
  bench.fail('flan', 'The oven is cold.')
  await expect(goOn(first)).rejects.toMatchObject({
    ...{ code: 'mcp_error', message: expect.stringContaining('The oven is cold.') },
  })
  bench.of('flan').status = 'cancelled'
  await expect(goOn(first)).rejects.toMatchObject({ code: 'mcp_task_cancelled' })
  bench.forget('flan')
  await expect(goOn(first)).rejects.toMatchObject({
    ...{ category: 'not_found', code: 'mcp_task_lost', message: expect.stringContaining('is not known') },
  })
})

test.each([
  ['no result', undefined],
  ['a result without parts that are known', { content: [{ type: 'text', text: 7 }] }],
])('a task that ends with %s is an error', async (_what, result) => {
  const { bench, first, goOn } = await begin('mud')
  Object.assign(bench.of('mud'), { status: 'completed', more: { result } })
  await expect(goOn(first)).rejects.toMatchObject({ category: 'permanent', code: 'mcp_invalid' })
})

test('a stopped call cancels its task, and one without a task asks nothing', async () => {
  const { bench, first, make } = await begin('soup')
  const call = { threadId: 'mcp', agent: 'guide', account: null, user: null }
  const { signal } = new AbortController()
  await make().cancel?.({ ...call, resume: { input: { keys: ['size'] } }, signal })
  expect(bench.of('soup').status).toBe('working')
  await make().cancel?.({ ...call, resume: first.resume, signal })
  await make().cancel?.({ ...call, resume: first.resume, signal })
  expect(bench.of('soup').status).toBe('cancelled')
})
