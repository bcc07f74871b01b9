import { describe, expect, test } from 'vitest'

import { keepAction, recordOf } from './action-record.js'
import type { KeptDecision } from './action-record.js'
import { judge } from './judge.js'

const ALLOWED: KeptDecision = { decision: 'allowed', source: 'default' }
const kept = (args: unknown, text: string): KeptDecision =>
  keepAction(ALLOWED, { kind: 'tool', args, traits: {} }, text)

function record(decision: KeptDecision, given: Partial<Parameters<typeof recordOf>[0]> = {}) {
  const call = { id: 'call_1', name: 'refund', arguments: '{"euros":5}', startedAt: 7 }
  return recordOf({ ...call, decision, preview: [], files: [], ...given })
}

describe('what the row of a call keeps', () => {
  test.each([
    ['the same arguments', { a: 1, b: { c: [2] } }, '{"b":{"c":[2]},"a":1}'],
    ['none', {}, ' '],
    ['what JSON cannot carry', { big: 1n }, '{"big":1}'],
    ['what is undefined', { a: 1, b: undefined }, '{"a":1}'],
  ])('is nothing more for %s', (_what, args, text) => {
    expect(kept(args, text)).toEqual(ALLOWED)
  })

  test('is what the check has made of the arguments', () => {
    const args = { euros: 10, at: new Date(0) }
    expect(kept(args, '{"euros":"10"}').action).toEqual({
      arguments: '{"euros":10,"at":"1970-01-01T00:00:00.000Z"}',
    })
  })

  test('T10 is nothing of arguments that are nested too deep', () => {
    let deep: unknown = 1
    for (let level = 0; level < 50_000; level += 1) deep = { deep }
    expect(kept(deep, '{}')).toEqual(ALLOWED)
  })

  test('is replaced, not added to', () => {
    const before: KeptDecision = { ...ALLOWED, action: { arguments: '{"a":1}' } }
    expect(keepAction(before, { kind: 'tool', args: { a: 2 }, traits: {} }, '{"a":2}')).toEqual(ALLOWED)
  })
})

describe('the record of an action', () => {
  test('hides secret fields, and shows nothing of broken arguments', () => {
    const shown = (text: string) => record(ALLOWED, { arguments: text }).action.arguments
    expect(shown('{"apiKey":"k","euros":5}')).toEqual({ apiKey: '[redacted]', euros: 5 })
    expect(shown('{"euros":')).toBe(null)
    expect(shown('')).toEqual({})
    const checked = { ...ALLOWED, action: { arguments: '{"euros":7}' } }
    expect(record(checked).action.arguments).toEqual({ euros: 7 })
  })

  test.each([
    [{}, 7, { state: 'unavailable', reason: 'worker_process' }, 'local'],
    [{ remote: true }, 7, { state: 'unavailable', reason: 'remote_worker' }, 'remote'],
    [{ kind: 'subagent' }, 7, { state: 'not_applicable', reason: 'no_code' }, 'subagent'],
    [{ kind: 'hand_off' }, null, { state: 'not_applicable', reason: 'not_begun' }, 'agent'],
  ] as const)('names the boundary of %j, begun at %j', (action, startedAt, sandbox, owner) => {
    const made = record({ ...ALLOWED, action }, { startedAt })
    expect(made.sandbox).toEqual(sandbox)
    expect(made.action.runtimeOwner).toBe(owner)
  })

  test('has what the sources demanded, also where something else answered', () => {
    const traits = { capabilities: ['a'] }
    const rules = [{ source: 'worker', permissions: { a: 'require_approval' } }] as const
    const opinions = [{ source: 'tool', effect: 'require_approval' }] as const
    const asked = { traits, rules, opinions, interactive: false, hasFailed: false }
    const { permission } = record(judge({ ...asked, modes: ['untrusted'], grant: 'g' }))
    const sources = ['worker', 'tool', 'mode']
    expect(permission).toEqual({ mode: 'untrusted', rules: ['worker:a'], sources, interactive: false })
    expect(record(ALLOWED).permission).toEqual({
      ...{ mode: 'default', rules: [], sources: ['default'], interactive: true },
    })
  })

  test('has the preview and the files of the result as artifacts', () => {
    const part = { type: 'json', value: { euros: 5 }, title: 'Payment' } as const
    const file = {
      id: 'f',
      type: 'file',
      path: 'bill.pdf',
      name: 'bill.pdf',
      mimeType: 'application/pdf',
      size: 3,
    } as const
    expect(record(ALLOWED, { preview: [part], files: [file] }).action.artifacts).toEqual([
      { kind: 'preview', name: 'Payment', mediaType: 'application/json', actionId: 'call_1', parts: [part] },
      {
        ...{
          kind: 'result',
          name: 'bill.pdf',
          uri: 'bill.pdf',
          mediaType: 'application/pdf',
          actionId: 'call_1',
        },
        metadata: { id: 'f', size: 3 },
      },
    ])
    const shown = { type: 'file', path: 'draft.md' } as const
    expect(record(ALLOWED, { preview: [shown] }).action.artifacts).toMatchObject([
      { kind: 'preview', name: 'preview', uri: 'draft.md' },
    ])
  })
})
