import { expect, test } from 'vitest'
import { createEventStream } from '../../src/client/events/follow-events.js'
import { readEventPage } from '../../src/client/events/event-page.js'
import type { ThreadEvent } from '../../src/client/index.js'
import { openReports } from '../../src/activities/tool/live-reports.js'
import type { HeldCall } from '../../src/activities/tool/held-call.js'
import { createRedactor } from '../../src/activities/variables/redactor.js'
import type { ToolDefinition } from '../../src/definitions/tool.js'
import { StoreError } from '../../src/store/store-error.js'
import type { Store } from '../../src/store/store.js'
import { createGate } from '../support/gate.js'
import { until } from '../support/until.js'
import { withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { success } from './tool-outcomes.js'

type Execute = ToolDefinition['execute']

/** A tool as the desk declares it. */
const tool = (execute: Execute) => execute as never

/** What somebody sees who follows the thread from now on. */
function follower({ store }: Pick<ActivityDesk, 'store'>) {
  const stream = createEventStream({ sequence: 0, streamed: null })
  const seen: ThreadEvent[] = []
  const look = async () => {
    const { position } = stream
    const place = { threadId: 't', runtimeId: store.id, ...position }
    seen.push(...stream.take(await store.read((db) => readEventPage(db, place))))
  }
  const reports = () => seen.filter(({ type }) => type === 'tool.output' || type === 'tool.progress')
  return {
    seen,
    reports,
    look,
    outputs: () => reports().flatMap((event) => (event.type === 'tool.output' ? [event.payload.text] : [])),
    progress: () => reports().flatMap((event) => (event.type === 'tool.progress' ? [event.payload] : [])),
  }
}

const deltas = (store: Store) => store.read((db) => db.selectFrom('deltas').selectAll().execute())

/** Counts the transactions that write. */
function counting(store: Store): { readonly store: Store; readonly writes: () => number } {
  let writes = 0
  const counted = new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...given: unknown[]) => {
        if (name === 'write') writes += 1
        return Reflect.apply(member, target, given) as unknown
      }
    },
  })
  return { store: counted, writes: () => writes }
}

test('AR-EC.9 progress and output of a tool are seen while it runs, and its result replaces them', async () => {
  const gate = createGate()
  const work = tool(async (_state, _args, call) => {
    call.progress({ progress: 1, total: 3, message: 'Reads' })
    call.output('one\n')
    await gate.passed
    return success('done')
  })
  await withDesk({ work }, async (desk) => {
    const input = await desk.call('work')
    const running = desk.run(input)
    const early = follower(desk)
    await until('both reports', async () => {
      await early.look()
      return early.reports().length === 2
    })
    expect(early.reports()).toMatchObject([
      { toolCallId: input.callId, payload: { progress: 1, total: 3, message: 'Reads' } },
      { toolCallId: input.callId, payload: { offset: 0, text: 'one\n' } },
    ])
    gate.open()
    await running
    await early.look()
    const types = early.seen.map(({ type }) => type).filter((type) => type.startsWith('tool.'))
    expect(types).toEqual([
      ...['tool.catalog.resolved', 'tool.started'],
      ...['tool.progress', 'tool.output'],
      'tool.result',
    ])
    expect(await deltas(desk.store)).toEqual([])
    const late = follower(desk)
    await late.look()
    expect(late.reports()).toEqual([])
  })
})

test('T5 a secret that comes in two pieces is not shown', async () => {
  const gate = createGate()
  const work = tool(async (state, _args, call) => {
    const key = await state.env('API_KEY')
    call.output(`begin ${key.slice(0, 9)}`)
    call.progress({ message: `with ${key}` })
    await new Promise((resolve) => setTimeout(resolve, 250))
    call.output(`${key.slice(9)} end, and more that is long enough to be shown`)
    await gate.passed
    return success('done')
  })
  await withDesk({ work }, async (desk) => {
    const env = { API_KEY: 'nightingale-in-the-tree' }
    const running = desk.run(await desk.call('work'), { ...desk.dependencies, env })
    const shown = follower(desk)
    await until('the second piece', async () => {
      await shown.look()
      return shown.outputs().join('').includes('end')
    })
    expect(shown.outputs().join('')).toMatch(/^begin \[secret API_KEY\] end, and/)
    expect(shown.progress()).toMatchObject([{ message: 'with [secret API_KEY]' }])
    expect(JSON.stringify(await deltas(desk.store))).not.toContain('nightingale')
    gate.open()
    await running
  })
})

test('T4 another attempt begins anew, and leaves nothing of the one before', async () => {
  const gates = [createGate(), createGate()]
  let begun = 0
  const execute = tool(async (_state, _args, call) => {
    begun += 1
    call.output(`attempt ${begun}`)
    await gates[begun - 1]?.passed
    return success('done')
  })
  await withDesk({ work: execute }, async (desk) => {
    const input = await desk.call('again')
    const shown = follower(desk)
    const first = desk.run(input)
    const sees = (text: string) =>
      until(text, async () => {
        await shown.look()
        return shown.outputs().at(-1) === text
      })
    await sees('attempt 1')
    const second = desk.run(input)
    await sees('attempt 2')
    const [before = 0, after = 0] = shown
      .reports()
      .flatMap(({ payload }) => ('attempt' in payload ? [payload.attempt as number] : []))
    expect(after).toBeGreaterThan(before)
    gates[1]?.open()
    await second
    expect(await deltas(desk.store)).toEqual([])
    gates[0]?.open()
    await first.catch(() => undefined)
    expect(await deltas(desk.store)).toEqual([])
  })
})

test('a tool that reports nothing writes as before, and 1,000 reports at once are a few writes', async () => {
  const writesOf = async (reports: number) => {
    let writes = 0
    const work = tool(async (_state, _args, call) => {
      for (let at = 1; at <= reports; at += 1) {
        call.progress({ progress: at, total: reports })
        call.output(`${at}\n`)
      }
      return success('done')
    })
    await withDesk({ work }, async (desk) => {
      const counted = counting(desk.store)
      await desk.run(await desk.call('work'), { ...desk.dependencies, store: counted.store })
      writes = counted.writes()
    })
    return writes
  }
  const silent = await writesOf(0)
  expect(await writesOf(1000)).toBe(silent + 1)
  expect(silent).toBe(2)
})

test('more output than a call may show is cut with a note', async () => {
  const gate = createGate()
  const work = tool(async (_state, _args, call) => {
    for (let at = 0; at < 100; at += 1) call.output('x'.repeat(1000))
    await gate.passed
    return success('done')
  })
  await withDesk({ work }, async (desk) => {
    const running = desk.run(await desk.call('work'))
    const shown = follower(desk)
    await until('the note', async () => {
      await shown.look()
      return shown.outputs().join('').includes('not shown')
    })
    const text = shown.outputs().join('')
    expect(text.startsWith('x'.repeat(64 * 1024))).toBe(true)
    expect(text.slice(64 * 1024)).toBe('\n[The rest of the output is not shown.]')
    gate.open()
    await running
  })
})

test.each([
  [{ progress: NaN }, 'Expected "progress" of progress to be a finite number, got NaN.'],
  [{ message: 7 }, 'Expected "message" of progress to be a text, got a number.'],
  ['half', 'Expected progress to be an object, got a string.'],
])('progress refuses %j', async (given, problem) => {
  const work = tool((_state, _args, call) => {
    call.progress(given as never)
    return success('done')
  })
  await withDesk({ work }, async (desk) => {
    await desk.run(await desk.call('work'))
    const [result] = (await desk.transcript()).slice(-1)
    expect(result?.content).toContain(problem)
  })
})

test('reports that the store cannot take, or of a stale attempt, are dropped', async () => {
  await withDesk({}, async (desk) => {
    const input = await desk.call('work')
    const operation = { threadId: 't', id: input.callId, attempt: 7 } as HeldCall['operation']
    const call = { input, operation, live: { isUsed: false } }
    const options = { number: 1, redactor: createRedactor() }
    const stale = openReports(desk.store, call, options)
    stale.output('of a stale attempt')
    await stale.end()
    const failing = { write: () => Promise.reject(new StoreError('unavailable', 'The store is away.')) }
    const unheard = openReports(failing as never, call, options)
    unheard.progress({ progress: 1 })
    await unheard.end()
    unheard.output('after the end')
    expect(await deltas(desk.store)).toEqual([])
  })
})
