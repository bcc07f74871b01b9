import { expect, test } from 'vitest'
import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { appendMessage } from '../../src/store/messages/delivery.js'
import { readTranscript } from '../../src/store/messages/transcript.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { Store } from '../../src/store/store.js'
import { NOW } from './activity-desk.js'
import { add, ALL, ask, boundariesOf, usersIn, withTalk } from './compaction-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { linesOf, step } from './context-desk.js'

const LONG = { ...ALL, window: { messages: 500 }, compaction: {} } as const

/** A question of a person, and a step with a call and its result. */
async function talk(store: Store, turn: number, result = 'found'): Promise<void> {
  await add(store, turn, turn)
  await store.write(async (tx) => {
    for (const [index, row] of step(`c${turn}`, result, { run: turn }).entries())
      await appendMessage(tx, {
        ...{ id: `step-${turn}-${index}`, threadId: 't', role: 'tool', content: null, run: turn },
        ...{ createdAt: NOW * 1000, sentBy: 'model', ...row },
      })
  })
}

/** Calls without their result, and results without their call. */
function splitCalls(prompt: LanguageModelV4Prompt): number {
  const ids = (type: 'tool-call' | 'tool-result') =>
    prompt.flatMap(({ content }) =>
      typeof content === 'string'
        ? []
        : content.flatMap((part) => (part.type === type && 'toolCallId' in part ? [part.toolCallId] : [])),
    )
  const [calls, results] = [ids('tool-call'), ids('tool-result')]
  const missing = JSON.stringify(prompt).split('No result was recorded.').length - 1
  const alone = calls.filter((id) => !results.includes(id)).length
  return alone + results.filter((id) => !calls.includes(id)).length + missing
}

/** The share of the earlier request with which the later one begins. */
function sharedPrefix(before: readonly string[], after: readonly string[]): number {
  const [one, two] = [before, after].map((lines) =>
    lines.filter((line) => line !== 'user: Continue.').join('\n'),
  )
  let length = 0
  while (length < (one ?? '').length && one?.[length] === two?.[length]) length += 1
  return length / (one ?? '').length
}

test('T12 2,000 messages with compactions split no call, share their prefix and leave all rows as they are', () => {
  const prompts: LanguageModelV4Prompt[] = []
  const cutBefore: number[] = []
  const chat = scriptedModel(({ raw: { prompt } }) => {
    if (linesOf(prompt)[0]?.startsWith('system: You write the memory')) {
      cutBefore.push(prompts.length)
      return { text: `SUMMARY ${cutBefore.length}` }
    }
    prompts.push(prompt)
    return { text: 'said' }
  })
  return withTalk({ memory: LONG, chat }, async ({ store, dependencies }) => {
    for (let turn = 1; turn <= 660; turn += 1) {
      await talk(store, turn)
      if (turn % 20 === 0) await ask(dependencies, { run: 10_000 + turn })
    }
    const rows = await store.read((db) => readTranscript(db, 't'))
    expect(rows.length).toBeGreaterThan(2000)
    expect(rows.filter(({ id }) => id.startsWith('row-')).map(({ content }) => content)).toEqual(
      Array.from({ length: 660 }, (_, index) => `ask ${index + 1}`),
    )
    expect(cutBefore.length).toBeGreaterThanOrEqual(3)
    expect(prompts.map(splitCalls)).toEqual(prompts.map(() => 0))
    const shares = prompts
      .slice(1)
      .map((prompt, index) => sharedPrefix(linesOf(prompts[index]!), linesOf(prompt)))
    const low = shares.flatMap((share, index) => (share < 0.9 ? [index + 1] : []))
    expect(low).toEqual(cutBefore)
    // What the summary is about is gone; what stays is whole.
    const last = linesOf(prompts.at(-1)!)
    expect(usersIn(last).at(-1)).toBe('user: ask 660')
    expect(last[1]).toContain(`> SUMMARY ${cutBefore.length}`)
  })
})

test('AR-TC.6 a pending approval and a failed call are as they were after a compaction', () =>
  withTalk({ work: () => ({ status: 'error', error: 'It broke.' }) }, async (desk) => {
    const [failed, pays] = await desk.calls([{ name: 'work' }, { name: 'pay', args: { amount: 1 } }])
    if (failed === undefined || pays === undefined) throw new Error('Expected two calls.')
    await desk.run(failed)
    await desk.run(pays)
    const open = () =>
      desk.store.read(async (db) => [
        await db.selectFrom('pending').selectAll().execute(),
        await db.selectFrom('tool_calls').selectAll().orderBy('id').execute(),
      ])
    const before = await open()
    expect(before.map(({ length }) => length)).toEqual([1, 2])
    await add(desk.store, 2, 40)
    await ask(desk.dependencies)
    expect(await desk.told('context.compaction.completed')).toMatchObject([{ affected: { from: 1 } }])
    expect(await open()).toEqual(before)
  }))

test('a step after three compactions reads and writes as often as an early one', () =>
  withTalk({}, async (desk) => {
    const early = await accesses(desk, 1, 10)
    for (const round of [1, 2, 3]) {
      await add(desk.store, round * 100, round * 100 + 39)
      await ask(desk.dependencies, { run: 2000 + round })
    }
    expect(await boundariesOf(desk)).toHaveLength(3)
    expect(await accesses(desk, 900, 901)).toEqual(early)
  }))

async function accesses({ store, dependencies }: ActivityDesk, first: number, last: number) {
  await add(store, first, last)
  const count = { reads: 0, writes: 0 }
  const counted: Store = {
    ...store,
    read: (work) => ((count.reads += 1), store.read(work)),
    write: (work) => ((count.writes += 1), store.write(work)),
    close: () => store.close(),
  }
  await ask({ ...dependencies, store: counted }, { run: 3000 + first })
  return count
}

test('40 facts of what stays are all in the next request', () =>
  withTalk({ memory: { ...ALL, window: { messages: 102 }, compaction: {} } }, async (desk) => {
    await add(desk.store, 1, 85, ' is the fact')
    await ask(desk.dependencies)
    const kept = usersIn(desk.asked.answers[0])
    expect(desk.asked.summaries).toHaveLength(1)
    const facts = Array.from({ length: 40 }, (_, index) => `user: ask ${index + 46} is the fact`)
    expect(kept).toEqual(facts)
  }))

test('old results are cleared first, by an event and a boundary, and no model is asked', () => {
  const memory = { ...ALL, compaction: { threshold: 0.1, keepResults: 2 } }
  return withTalk({ memory }, async (desk) => {
    for (let turn = 1; turn <= 6; turn += 1) await talk(desk.store, turn, `r${turn} ${'x'.repeat(9000)}`)
    await ask(desk.dependencies)
    expect(desk.asked.summaries).toEqual([])
    const results = desk.asked.answers[0]?.filter((line) => line.startsWith('tool: ')) ?? []
    expect(results.map((line) => line.includes('is cleared from the context'))).toEqual([
      ...[true, true, true, true, false, false],
    ])
    expect(await boundariesOf(desk)).toMatchObject([{ kind: 'cleared', position: 0, detail: { dropped: 0 } }])
    expect(await desk.told('context.compaction.completed')).toMatchObject([{ stage: 'cleared' }])
    const [manifest] = await desk.told('context.resolved')
    expect(manifest).toMatchObject({ omissions: [{ kind: 'cleared_results' }] })
    // The next step begins alike.
    const [first = []] = desk.asked.answers
    await talk(desk.store, 7)
    await ask(desk.dependencies, { run: 1001 })
    expect(sharedPrefix(first, desk.asked.answers[1] ?? [])).toBe(1)
    expect(await boundariesOf(desk)).toHaveLength(1)
  })
})
