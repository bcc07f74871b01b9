import { LogTimestamp } from '@temporalio/worker'
import { expect, test } from 'vitest'
import { jsonLogger } from './logging.js'

function logged(message: string, meta?: Record<string | symbol, unknown>): Record<string, unknown> {
  const lines: string[] = []
  jsonLogger('INFO', (line) => lines.push(line)).info(message, meta)
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(/^[^\n]+\n$/)
  return JSON.parse(lines[0] ?? '') as Record<string, unknown>
}

test('a line is one JSON object with time and level', () => {
  const line = logged('Two\nlines', { [LogTimestamp]: 1_763_767_000_000_000_000n, run: 3 })
  expect(line).toEqual({ time: '2025-11-21T23:16:40.000Z', level: 'info', message: 'Two\nlines', run: 3 })
})

test('lines of thread workflows name their thread', () => {
  expect(logged('x', { workflowType: 'agentThread', workflowId: 't' })).toMatchObject({ threadId: 't' })
  expect(logged('x', { workflowType: 'order', workflowId: 't' })).not.toHaveProperty('threadId')
})

test('fields never hide those of the line', () => {
  expect(logged('x', { message: 'other', level: 9 })).toMatchObject({
    message: 'x',
    message_: 'other',
    level: 'info',
  })
})

test('what JSON cannot carry costs no line', () => {
  const ring: Record<string, unknown> = { name: 'ring' }
  ring['self'] = ring
  const twice = { a: 1 }
  const error = new Error('broken', { cause: ring })
  const line = logged('x', { ring, big: 5n, twice: [twice, twice], error, nothing: undefined })
  expect(line).toMatchObject({
    ring: { name: 'ring', self: '[circular]' },
    big: '5',
    twice: [{ a: 1 }, { a: 1 }],
    error: { name: 'Error', message: 'broken', cause: { name: 'ring', self: '[circular]' } },
  })
})

test('lines below the level are not written', () => {
  const lines: string[] = []
  const logger = jsonLogger('WARN', (line) => lines.push(line))
  logger.info('no')
  logger.warn('yes')
  expect(lines).toHaveLength(1)
})
