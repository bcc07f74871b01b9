import { describe, expect, test } from 'vitest'
import { answerParts, AUTHOR, transcriptRow } from '../../../test/support/transcript-row.js'
import { assistantParts, madeFiles, partsText } from './answer-parts.js'
import type { Author, StoredPart } from './answer-parts.js'
import { assemblePrompt } from './assemble-prompt.js'
import type { TranscriptRow } from './transcript-row.js'

const perspective = { type: 'ai_human', side: 'a' } as const
const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }
const signed = { anthropic: { signature: 'sig' } }
const thought: StoredPart = { kind: 'reasoning', from: 0, to: 3, providerMetadata: signed }
const unsigned: StoredPart = { kind: 'reasoning', from: 0, to: 3 }
const google = (thoughtSignature: string) => ({ google: { thoughtSignature } })

/** An answer of the author with its parts. */
function answerRow(parts: readonly StoredPart[], fields: Partial<TranscriptRow> = {}): TranscriptRow {
  const made = { role: 'assistant', side: 'a', prompt: 'desk', content: 'Yes.' } as const
  const details = answerParts({ text: 'Yes.', reasoning: 'Hm.', parts })
  return transcriptRow({ ...made, reasoning_content: 'Hm.', answer_parts: details, ...fields })
}

/** The content of the first answer, as the author is sent it. */
function sent(rows: readonly TranscriptRow[], author: Author | null = AUTHOR): unknown {
  const messages = [transcriptRow({ content: 'Well?' }), ...rows]
  return assemblePrompt({ system: '', messages, perspective, author })[1]?.content
}

const said = { type: 'text', text: 'Yes.' }
const made = { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: {} }
const thinking = { type: 'reasoning', text: 'Hm.', providerOptions: signed }

test('P1 words that are in no part are sent with the others', () => {
  const part: StoredPart = { kind: 'text', from: 3, to: 4, providerMetadata: google('sig') }
  expect(sent([answerRow([part])])).toEqual([said])
  const all: StoredPart = { kind: 'text', from: 0, to: 4, providerMetadata: google('sig') }
  expect(sent([answerRow([all])])).toEqual([{ ...said, providerOptions: google('sig') }])
})

describe('reasoning', () => {
  test('K-21 goes back to its author once', () => {
    expect(sent([answerRow([thought, { kind: 'text', from: 0, to: 4 }])])).toEqual([thinking, said])
  })

  test('K-21 goes to no other prompt or model', () => {
    const rows = [answerRow([thought])]
    for (const other of [{ prompt: 'other' }, { model: 'other' }, { modelId: 'other' }])
      expect(sent(rows, { ...AUTHOR, ...other })).toEqual([said])
    expect(sent(rows, null)).toEqual([said])
  })

  test('P6 of the turn goes back signed, whatever is included', () => {
    const author = { ...AUTHOR, includesReasoning: false }
    const calling = { tool_calls: JSON.stringify([call]) }
    const parts: readonly StoredPart[] = [thought, { kind: 'call', id: 'c1' }]
    expect(sent([answerRow(parts, calling)], author)).toEqual([thinking, said, made])
    expect(sent([answerRow([unsigned], calling)], author)).toEqual([said, made])
    const ended = [answerRow(parts, calling), answerRow([])]
    expect(sent(ended, author)).toEqual([said, made])
    // Another prompt of the same model goes on with it, if it reasons.
    expect(sent([answerRow(parts, calling)], { ...author, prompt: 'heir' })).toEqual([thinking, said, made])
    const silent = { ...author, prompt: 'heir', reasons: false }
    expect(sent([answerRow(parts, calling)], silent)).toEqual([said, made])
  })

  test('K-14 ids of what a provider keeps are not sent, and an item once', () => {
    const openai = { itemId: 'rs_1', reasoningEncryptedContent: 'sealed' }
    const half = { kind: 'reasoning', providerMetadata: { openai } } as const
    const parts = [
      { ...half, from: 0, to: 1 },
      { ...half, from: 1, to: 3 },
    ]
    const sealed = { openai: { reasoningEncryptedContent: 'sealed' } }
    expect(sent([answerRow(parts)])).toEqual([
      { type: 'reasoning', text: 'Hm.', providerOptions: sealed },
      said,
    ])
  })

  test('that nothing follows any more is left out', () => {
    const parts: readonly StoredPart[] = [
      { kind: 'text', from: 0, to: 4 },
      thought,
      { kind: 'call', id: 'c1' },
    ]
    expect(sent([answerRow(parts)])).toEqual([said])
  })

  test('that was changed is not sent', () => {
    expect(sent([answerRow([thought], { reasoning_content: 'No.' })])).toEqual([said])
  })
})

describe('P1 the parts of an answer', () => {
  test('keep their order, each with what was given with it', () => {
    const parts: readonly StoredPart[] = [
      { kind: 'text', from: 0, to: 2, providerMetadata: google('one') },
      { kind: 'call', id: 'c1', providerMetadata: google('two') },
      { kind: 'text', from: 2, to: 4 },
    ]
    const row = answerRow(parts, { tool_calls: JSON.stringify([call, { ...call, id: 'c2' }]) })
    expect(sent([row])).toEqual([
      { type: 'text', text: 'Ye', providerOptions: google('one') },
      { ...made, providerOptions: google('two') },
      { type: 'text', text: 's.' },
      { ...made, toolCallId: 'c2' },
    ])
  })

  test('are one text where the words were changed, and calls keep theirs', () => {
    const parts: readonly StoredPart[] = [
      { kind: 'text', from: 0, to: 4, providerMetadata: google('one') },
      { kind: 'call', id: 'c1', providerMetadata: google('two') },
    ]
    const row = answerRow(parts, { content: 'No!!', tool_calls: JSON.stringify([call]) })
    expect(sent([row])).toEqual([
      { type: 'text', text: 'No!!' },
      { ...made, providerOptions: google('two') },
    ])
  })

  test('without words go back where they carry a signature', () => {
    const empty: StoredPart = { kind: 'text', from: 4, to: 4, providerMetadata: google('end') }
    const [bare, phase] = [{ openai: { phase: 'commentary' } }, { openai: { itemId: 'msg' } }].map(
      (providerMetadata): StoredPart => ({ ...empty, providerMetadata }),
    )
    const row = answerRow([
      { kind: 'text', from: 0, to: 4 },
      empty,
      ...[bare, phase].flatMap((one) => one ?? []),
    ])
    expect(sent([row])).toEqual([said, { type: 'text', text: '', providerOptions: google('end') }])
  })

  test('a caller among the tools of the provider is not named', () => {
    const anthropic = { caller: { type: 'code_execution', toolId: 'srvtoolu_1' } }
    const row = answerRow([{ kind: 'call', id: 'c1', providerMetadata: { anthropic } }], {
      tool_calls: JSON.stringify([call]),
    })
    expect(sent([row])).toEqual([said, made])
  })
})

test.each(['{', 'null', '{}', '{"model":"chat","modelId":"m"}', '[]'])('details %s are none', (details) => {
  expect(sent([answerRow([], { answer_parts: details })])).toEqual([said])
})

test('the files of an answer are those of its author only', () => {
  const row = answerRow([
    { kind: 'file', path: '/made.png' },
    { kind: 'text', from: 0, to: 4 },
  ])
  expect(madeFiles(row, AUTHOR)).toEqual(new Set(['/made.png']))
  expect(madeFiles(row, { ...AUTHOR, modelId: 'other' })).toEqual(new Set())
  expect(madeFiles(row, null)).toEqual(new Set())
})

test('the note of its files stands before the calls: providers refuse text behind them', () => {
  const row = answerRow([{ kind: 'call', id: 'c1' }], { tool_calls: JSON.stringify([call]) })
  const input = { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: {} } as const
  const content = { text: 'Yes.', note: 'Attached files: …', files: new Map(), inTurn: true }
  const parts = assistantParts(row, AUTHOR, { ...content, calls: [{ ...input, toolCallId: 'c2' }, input] })
  expect(parts.map((part) => ('text' in part ? part.text : 'toolCallId' in part && part.toolCallId))).toEqual(
    ['Yes.', 'Attached files: …', 'c1', 'c2'],
  )
})

test('the estimate counts what is sent again, and nothing else', () => {
  const author = { ...AUTHOR, includesReasoning: false }
  const row = answerRow([thought])
  expect(partsText(row, author, true)).toBe(JSON.stringify([thinking]))
  expect(partsText(row, author, false)).toBe('')
  const stored = answerRow([{ ...thought, kind: 'text', providerMetadata: { openai: { itemId: 'rs_1' } } }])
  expect(partsText(stored, author, true)).toBe('')
})
