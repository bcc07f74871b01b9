import { expect, test } from 'vitest'
import type { ViewedFact } from './view.js'
import { uiMessageStreamView } from './ui-message-stream.js'

const view = uiMessageStreamView({ fileUrl: (path) => path })

/** Events of one run, with what the view reads. */
function chunksOf(...events: readonly object[]): readonly object[] {
  let state = view.begin
  return events.flatMap((event) => {
    const [next, items] = view.take(state, { runId: 'run_1', payload: {}, ...event } as ViewedFact)
    state = next
    return items
  })
}

const begun = { type: 'run.started' }
const args = (toolCallId: string, offset: number, text: string, attempt = 1) => ({
  ...{ type: 'tool.args', messageId: 'm', toolCallId },
  payload: { attempt, offset, text, name: 'refund' },
})
const stored = (...given: readonly string[]) => {
  const calls = given.map((text, index) => ({
    ...{ id: `c${index + 1}`, type: 'function' },
    function: { name: 'refund', arguments: text },
  }))
  const message = {
    ...{ id: 'm', role: 'assistant', depth: 0, silent: false, attachments: [], content: 'I do.' },
    tool_calls: JSON.stringify(calls),
  }
  return { type: 'message.created', messageId: 'm', payload: { message } }
}
const said = { type: 'model.delta', messageId: 'm', payload: { attempt: 1, offset: 0, text: 'I do.' } }
const input = (toolCallId: string, value: unknown) => ({
  ...{ type: 'tool-input-available', toolCallId, toolName: 'refund', input: value, dynamic: true },
})

test('arguments are told as they come, behind the text, and the stored call has the last word', () => {
  const streamed = [begun, said, args('c1', 0, '{"eu'), args('c1', 2, 'euros":'), args('c2', 0, '{')]
  const told = chunksOf(...streamed, stored('{"euros":1}', '{}')).slice(4)
  expect(told).toEqual([
    { type: 'text-end', id: 'm' },
    { type: 'tool-input-start', toolCallId: 'c1', toolName: 'refund', dynamic: true },
    { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: '{"eu' },
    { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: 'ros":' },
    { type: 'tool-input-start', toolCallId: 'c2', toolName: 'refund', dynamic: true },
    { type: 'tool-input-delta', toolCallId: 'c2', inputTextDelta: '{' },
    input('c1', { euros: 1 }),
    input('c2', {}),
  ])
})

test.each([
  ['a hook has changed them', [said, args('c1', 0, '{"eu')], ['{"order":1}']],
  ['a call is dropped', [said, args('c1', 0, '{}'), args('c2', 0, '{')], ['{}']],
  ['text came behind them', [args('c1', 0, '{'), said], ['{}']],
  ['a piece is missing', [args('c1', 0, '{'), args('c1', 5, '}')], ['{}']],
] as const)('U1 the step is told again where %s', (_why, streamed, given) => {
  const told = chunksOf(begun, ...streamed, stored(...given))
  const again = told.slice(told.findLastIndex((chunk) => 'type' in chunk && chunk.type === 'reset-step') + 1)
  expect(again.slice(0, 3)).toMatchObject([{ type: 'text-start' }, { delta: 'I do.' }, { type: 'text-end' }])
  expect(again.slice(3)).toHaveLength(given.length)
})

test('another attempt begins the step anew', () => {
  const told = chunksOf(begun, args('c1', 0, '{"a'), args('c1', 0, '[', 2))
  expect(told.slice(-3)).toMatchObject([
    { type: 'reset-step' },
    { type: 'tool-input-start' },
    { inputTextDelta: '[' },
  ])
})

const started = { type: 'tool.started', toolCallId: 'c1', payload: { preview: '{}' } }
const output = (offset: number, text: string, attempt = 1) => ({
  ...{ type: 'tool.output', toolCallId: 'c1', payload: { attempt, offset, text } },
})
const preliminary = (text: string) => ({
  ...{ type: 'tool-output-available', toolCallId: 'c1', output: text, preliminary: true },
})

test('U4 what a call shows while it runs is a preliminary output, told again as it grows', () => {
  const running = [begun, stored('{}'), started]
  const from = chunksOf(...running).length
  const progress = { type: 'tool.progress', toolCallId: 'c1', payload: { attempt: 1, progress: 1, total: 3 } }
  const told = chunksOf(
    ...[...running, progress, output(0, 'one '), output(4, 'two '), output(0, 'anew', 2), output(8, 'late')],
    {
      type: 'tool.result',
      toolCallId: 'c1',
      payload: { outcome: 'succeeded', preview: 'Done.', attachments: [] },
    },
  ).slice(from)
  expect(told).toEqual([
    {
      ...{ type: 'data-tool-progress', id: 'c1', transient: true },
      data: { toolCallId: 'c1', toolName: 'refund', progress: 1, total: 3 },
    },
    ...[preliminary('one '), preliminary('one two '), preliminary('anew')],
    { type: 'tool-output-available', toolCallId: 'c1', output: 'Done.' },
  ])
  const long = chunksOf(
    ...running,
    output(0, 'x'.repeat(1_600)),
    output(1_600, 'y'),
    output(1_601, 'z'.repeat(100)),
  )
  expect(long.slice(from).map((chunk) => ('output' in chunk ? String(chunk.output).length : 0))).toEqual([
    1_600, 1_701,
  ])
})

test('U4 the output of a call that waits, or whose run ends, is taken back', () => {
  const running = [begun, stored('{"a":1}'), started, output(0, 'It asks.')]
  const asked = { type: 'action.required', toolCallId: 'c1', payload: { requestId: 'r', kind: 'call' } }
  const from = chunksOf(...running).length
  expect(chunksOf(...running, asked).slice(from)).toMatchObject([
    input('c1', { a: 1 }),
    { type: 'data-request' },
  ])
  const connect = { server: 'tracker', url: 'https://login.example.com/', state: 's' }
  const login = { ...asked, payload: { ...asked.payload, connect } }
  expect(chunksOf(...running, login).at(-1)).toMatchObject({
    data: { kind: 'call', status: 'open', connect },
  })
  const cancelled = { type: 'run.cancelled', payload: { reason: 'stopped' } }
  expect(chunksOf(...running, cancelled).slice(from)).toMatchObject([
    ...[input('c1', { a: 1 }), { type: 'finish-step' }, { type: 'abort' }, { type: 'finish' }],
  ])
})
