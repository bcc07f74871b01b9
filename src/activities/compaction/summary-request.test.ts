import { expect, test } from 'vitest'
import { BLANK_ROW } from '../../model/context/transcript-row.js'
import type { TranscriptMessage } from '../../store/messages/transcript.js'
import { startOf } from './compaction-facts.js'
import { summaryRequest } from './summary-request.js'

type Given = Parameters<typeof summaryRequest>

const MODEL = { model: 'm', maxContextTokens: 10_000, maxOutputTokens: 500, providerOptions: {} }
const STEP = {
  input: { side: 'a', frame: null },
  content: { models: { small: MODEL } },
  prompt: { tools: [], reasoning: null, toolChoice: 'auto', compaction: { instructions: 'Prices.' } },
} as unknown as Given[0]

function rows(count: number, text: string): readonly TranscriptMessage[] {
  return Array.from({ length: count }, (_, index) => ({
    ...BLANK_ROW,
    ...{ id: `m${index}`, role: 'user', content: `${index} ${text}`, position: index + 1, run: 1 },
  }))
}

function compacting(leaves: readonly TranscriptMessage[], before: string | null = null): Given[1] {
  const boundary = { kind: 'command', side: 'b' } as Given[1]['compaction']['boundary']
  return {
    compaction: { boundary, leaves, next: null, before, focus: 'Names.' },
    keeps: null,
    model: 'small',
  }
}

test('a request for a summary fits into the window of its model, and says what is left out', () => {
  const request = summaryRequest(STEP, compacting(rows(500, 'x'.repeat(400)), 'BEFORE'))
  expect(request.estimatedTokens).toBeLessThan(7000)
  expect(request.options.maxOutputTokens).toBe(500)
  const [system, user] = request.options.prompt
  expect(system?.content).toMatch(/Keep above all: Prices\.\nKeep above all: Names\.$/)
  const text = JSON.stringify(user?.content)
  expect(text).toContain('BEFORE')
  expect(text).toContain('[Older messages are left out here.]')
  expect(text).toContain('user: 499 x')
  expect(text).not.toContain('user: 1 x')
})

test('one text of a megabyte is shown by its ends', () => {
  const request = summaryRequest(STEP, compacting(rows(1, 'x'.repeat(1_000_000))))
  expect(request.estimatedTokens).toBeLessThan(1500)
})

test('a start says what leaves the context', () => {
  const { compaction } = compacting(rows(3, ''))
  expect(startOf(compaction)).toEqual({
    ...{ side: 'b', trigger: 'command' },
    affected: { messages: 3, from: 1, to: 3, firstRun: 1, lastRun: 1 },
  })
})
