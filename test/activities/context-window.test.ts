import { describe, expect, test } from 'vitest'
import { readWindow } from '../../src/activities/turn/context-window.js'
import { LIMITS } from '../../src/protocol/limits.js'
import { lastBoundary } from '../../src/store/messages/context-boundaries.js'
import { readTranscript } from '../../src/store/messages/transcript.js'
import { modelInput } from './activity-desk.js'
import { linesOf, step, withContext } from './context-desk.js'
import type { ContextDesk, RequestChanges } from './context-desk.js'

const GAP = 'user: System note:\nEarlier messages of this conversation are left out here.'
/** 100 tokens, about. */
const LONG = 'x'.repeat(400)
/** Room for about 700 tokens of rows. */
const small: RequestChanges = { model: { maxContextTokens: 1000 } }

/** Turns of a person and the agent, of about 210 tokens each. */
async function talk(desk: ContextDesk, first: number, last: number): Promise<void> {
  for (let turn = first; turn <= last; turn += 1)
    await desk.add(
      { content: `ask ${turn} ${LONG}`, run: turn },
      { role: 'assistant', side: 'a', content: `say ${turn} ${LONG}`, run: turn },
    )
}

const heads = (lines: readonly string[]): readonly string[] => lines.map((line) => line.replace(/ x+$/, ''))

async function sent(desk: ContextDesk, changes: RequestChanges = small): Promise<readonly string[]> {
  return heads(linesOf((await desk.request(changes)).options.prompt))
}

describe('a full window', () => {
  test('SA-R-04.2 is cut to half while the transcript stays whole', () =>
    withContext(async (desk) => {
      await talk(desk, 1, 4)
      await desk.add({ content: 'ask 5', run: 5 })
      const request = await desk.request({ ...small, input: { run: 5 } })
      expect(heads(linesOf(request.options.prompt))).toEqual([
        'system: You are the clerk.',
        GAP,
        'user: ask 4',
        'assistant: say 4',
        'user: ask 5',
      ])
      expect(request).toMatchObject({ messages: 3, dropped: 6, tools: 1 })
      expect(request.boundary).toMatchObject({ position: 7, kind: 'window', operation: 'model_5_1' })
      const { tokensBefore = 0, tokensAfter = 0 } = request.boundary ?? {}
      expect([tokensBefore > 800, tokensAfter < 400]).toEqual([true, true])
      expect(request.estimatedTokens).toBe(tokensAfter)
      expect(await desk.store.read((db) => readTranscript(db, 't'))).toHaveLength(9)
    }))

  test('what is not full is sent whole', () =>
    withContext(async (desk) => {
      await talk(desk, 1, 3)
      const request = await desk.request({ ...small, input: { run: 4 } })
      expect(request).toMatchObject({ messages: 6, dropped: 0, boundary: null })
      const whole = await desk.request({ model: { maxContextTokens: null } })
      expect(whole).toMatchObject({ messages: 6, dropped: 0, boundary: null })
    }))

  test('K-22 T12 requests share their beginnings between two cuts', () =>
    withContext(async (desk) => {
      const requests: string[] = []
      const cuts: number[] = []
      for (let turn = 1; turn <= 16; turn += 1) {
        await desk.add({ content: `ask ${turn} ${LONG}`, run: turn })
        const changes = { ...small, input: { run: turn } }
        const { options, boundary } = await desk.request(changes)
        if (boundary !== null) cuts.push(turn)
        requests.push(JSON.stringify([options.tools, ...linesOf(options.prompt)]).slice(0, -1))
        await desk.add({ role: 'assistant', side: 'a', content: `say ${turn} ${LONG}`, run: turn })
      }
      const broken = requests.flatMap((request, index) =>
        index > 0 && !request.startsWith(requests[index - 1] ?? '') ? [index + 1] : [],
      )
      expect(broken).toEqual(cuts)
      expect(cuts.length).toBeGreaterThan(2)
      // A cut leaves room for some turns.
      for (const [index, turn] of cuts.entries()) expect(turn - (cuts[index - 1] ?? 0)).toBeGreaterThan(1)
    }))

  test('of 500 rows is cut however short they are', () =>
    withContext(async (desk) => {
      await desk.add(...Array.from({ length: 501 }, (_, index) => ({ content: `${index + 1}` })))
      const request = await desk.request({ input: { run: 2 } })
      expect(request).toMatchObject({ messages: 250, dropped: 251 })
      expect(request.boundary).toMatchObject({ position: 252 })
      expect((await desk.request({ input: { run: 2 } })).boundary).toBeNull()
    }))

  test('T6 a step reads a window of a long transcript', () =>
    withContext(async (desk) => {
      const rows = Array.from({ length: 3000 }, (_, index) => ({ content: `${index + 1}`, run: 1 }))
      await desk.add(...rows)
      let seen = 0
      const hooks = {
        filterMessages: async <Row>(given: readonly Row[]) => {
          seen = given.length
          return given
        },
      }
      expect(await desk.request({ parts: { hooks }, input: { run: 2 } })).toMatchObject({ dropped: 2750 })
      expect(seen).toBe(LIMITS.contextRows / 2)
    }))

  test('T6 no more than 4 MB of texts are read', () =>
    withContext(async (desk) => {
      const content = 'x'.repeat(100_000)
      await desk.add(...Array.from({ length: 60 }, () => ({ content })))
      const prompt = desk.content.prompts['clerk']
      if (prompt === undefined) throw new Error('Expected the prompt of the clerk.')
      const window = await desk.store.read((db) => readWindow(db, modelInput(), prompt))
      expect(window).toMatchObject({ overflows: true, rows: { length: 41 } })
    }))

  test('4 MB of texts are cut in any case', () =>
    withContext(async (desk) => {
      const content = 'x'.repeat(1024 * 1024)
      for (let turn = 1; turn <= 5; turn += 1) await desk.add({ content, run: turn })
      const request = await desk.request({ model: { maxContextTokens: 10_000_000 }, input: { run: 6 } })
      // The bytes of a row count its other columns too.
      expect(request).toMatchObject({ messages: 1, dropped: 4 })
    }))
})

describe('a run that fills the window by itself', () => {
  test('keeps what it was asked and its newest steps', () =>
    withContext(async (desk) => {
      await desk.add({ content: 'the task' })
      for (let index = 1; index <= 8; index += 1) await desk.add(...step(`c${index}`, `r${index} ${LONG}`))
      const request = await desk.request(small)
      expect(heads(linesOf(request.options.prompt))).toEqual([
        'system: You are the clerk.',
        'user: the task',
        GAP,
        'assistant: call c7',
        'tool: text of c7: r7',
        'assistant: call c8',
        'tool: text of c8: r8',
      ])
      expect(request).toMatchObject({ dropped: 12, boundary: { position: 14, detail: { opening: 1 } } })
      const before = linesOf(request.options.prompt)
      await desk.add(...step('c9', 'r9'))
      const next = await desk.request({ ...small, input: { step: 2 } })
      expect(linesOf(next.options.prompt).slice(0, before.length)).toEqual(before)
      expect(next).toMatchObject({ boundary: null, dropped: 12 })
    }))

  test('keeps its task over a second cut, then forgets it', () =>
    withContext(async (desk) => {
      await desk.add({ content: 'the task' })
      for (const round of [1, 2]) {
        for (let index = 1; index <= 8; index += 1)
          await desk.add(...step(`c${round}${index}`, `r${index} ${LONG}`))
        expect((await sent(desk))[1]).toBe('user: the task')
      }
      await talk(desk, 2, 5)
      expect(await sent(desk, { ...small, input: { run: 5 } })).not.toContain('user: the task')
    }))

  test('a step that is too large has its results clipped', () =>
    withContext(async (desk) => {
      await desk.add({ content: 'the task' }, ...step('c1', `begins ${'y'.repeat(40_000)} ends`))
      const changes = { model: { maxContextTokens: 5000 } }
      const request = await desk.request(changes)
      const lines = linesOf(request.options.prompt)
      expect(lines.at(-1)).toMatch(
        /^tool: text of c1: begins y+\n\n\[… \d+ bytes are left out here …\]\n\ny+ ends$/,
      )
      expect(lines[1]).toBe('user: the task')
      expect(request.estimatedTokens).toBeLessThan(2000)
      await desk.add(...step('c2', 'short'))
      const next = await desk.request({ ...changes, input: { step: 2 } })
      expect(linesOf(next.options.prompt).slice(0, lines.length)).toEqual(lines)
      expect(next.boundary).toBeNull()
    }))

  test('one message that is too large goes to the provider', () =>
    withContext(async (desk) => {
      await desk.add({ content: 'x'.repeat(10_000) })
      expect(await desk.request(small)).toMatchObject({ messages: 1, dropped: 0, boundary: null })
    }))
})

describe('a provider that refuses the length', () => {
  test('gets half, and then half of that', () =>
    withContext(async (desk) => {
      await talk(desk, 1, 16)
      const estimates: number[] = []
      for (const cuts of [0, 1, 2]) {
        const request = await desk.request({ parts: { cuts }, input: { run: 17 } })
        estimates.push(request.estimatedTokens)
        if (cuts > 0) expect(request.boundary).toMatchObject({ kind: 'context_length', detail: { cuts } })
      }
      const [whole = 0, half = 0, quarter = 0] = estimates
      expect([half / whole, quarter / whole].map((share) => share.toFixed(1))).toEqual(['0.5', '0.3'])
      // The next step begins where this one ended.
      expect(await desk.request({ input: { run: 17, step: 2 } })).toMatchObject({ estimatedTokens: quarter })
    }))

  test('is cut as often when nothing was stored between', () =>
    withContext(async (desk) => {
      await talk(desk, 1, 16)
      const fallback = { prompt: { model: 'other' } }
      const whole = await desk.request(fallback)
      const quarter = await desk.request({ ...fallback, parts: { cuts: 2 } })
      expect(quarter.boundary).toBeNull()
      expect(quarter.estimatedTokens).toBeLessThan(whole.estimatedTokens / 3)
    }))

  test('a cut that another attempt stored is not made again', () =>
    withContext(async (desk) => {
      await talk(desk, 1, 16)
      const first = await desk.request({ parts: { cuts: 1 } })
      const again = await desk.request({ parts: { cuts: 1 } })
      expect(again).toMatchObject({ estimatedTokens: first.estimatedTokens, boundary: null })
    }))
})

test('a fallback or a nested step cuts nothing for good', () =>
  withContext(async (desk) => {
    await talk(desk, 1, 6)
    const frame = { callId: 'call_1_1_0', prompt: 'clerk', depth: 1 }
    for (const changes of [{ prompt: { model: 'other' } }, { input: { frame } }])
      expect(await desk.request({ ...small, ...changes })).toMatchObject({ boundary: null, dropped: 10 })
    expect(await desk.store.read((db) => lastBoundary(db, 't', 'a'))).toBeNull()
  }))

test('a prompt without the conversation misses nothing of it', () =>
  withContext(async (desk) => {
    await talk(desk, 1, 6)
    const changes = { ...small, prompt: { includeChat: false }, input: { run: 6 } }
    expect(await sent(desk, { ...small, input: { run: 7 } })).toContain(GAP)
    expect(await sent(desk, changes)).toEqual([
      'system: You are the clerk.',
      'user: ask 6',
      'assistant: say 6',
      'user: Continue.',
    ])
  }))

test('system text and tools take their part of the window', () =>
  withContext(async (desk) => {
    await talk(desk, 1, 3)
    const system = 'x'.repeat(2000)
    expect((await desk.request({ ...small, input: { run: 4 }, parts: { system } })).boundary).not.toBeNull()
  }))

test('each side has its own window', () =>
  withContext(async (desk) => {
    await talk(desk, 1, 6)
    await desk.request({ ...small, input: { run: 7 } })
    const ends = await desk.store.read(async (db) => [
      (await lastBoundary(db, 't', 'a'))?.position,
      await lastBoundary(db, 't', 'b'),
    ])
    expect(ends).toEqual([11, null])
  }))
