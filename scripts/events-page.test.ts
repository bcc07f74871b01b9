import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { emittedEvents } from './emitted-events.js'
import { eventsPage } from './events-page.js'
import { eventsSchema, eventsSchemaText } from './events-schema.js'

const page = readFileSync(new URL('../docs/generated/events.md', import.meta.url), 'utf8')

test('the reference of events is made from the event table', () => {
  expect(page, 'run npm run events').toBe(eventsPage())
})

test('the JSON Schema of events is made from the event table', () => {
  const schema = readFileSync(new URL('../docs/generated/events.schema.json', import.meta.url), 'utf8')
  expect(schema, 'run npm run events').toBe(eventsSchemaText())
})

describe('the JSON Schema of events is a strict validator', () => {
  const validator = z.fromJSONSchema(eventsSchema() as Parameters<typeof z.fromJSONSchema>[0])
  const valid = (event: object): boolean => validator.safeParse(event).success
  const envelope = {
    ...{
      threadId: 't',
      sessionId: 'r',
      runtimeId: 's',
      schemaVersion: 1,
      timestamp: '2026-01-01T00:00:00.000Z',
    },
    ...{ sequence: 4, eventId: 't:4', cursor: '4', runId: 'run_1' },
  }
  const failed = { code: 'Activity.Failed', activity: 'thread.callModel', errorId: 'e' }
  const event = { ...envelope, type: 'runtime.error', payload: failed }

  test('AR-RM.14 an event with all of its fields is valid', () => {
    expect(valid(event)).toBe(true)
    expect(valid({ ...event, traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) })).toBe(true)
    const delta = { attempt: 1, offset: 0, text: 'x' }
    const { sequence: _sequence, eventId: _eventId, ...streamed } = envelope
    expect(valid({ ...streamed, messageId: 'm', type: 'model.delta', payload: delta })).toBe(true)
  })

  test.each([
    ['an unknown type', { ...event, type: 'runtime.other' }],
    ['an unknown field', { ...event, color: 'red' }],
    ['an unknown field of the payload', { ...event, payload: { ...failed, text: 'x' } }],
    ['no session', { ...event, sessionId: undefined }],
    ['a payload of another type', { ...event, payload: { names: ['A'] } }],
    ['a code that is not listed', { ...event, type: 'message.ended', payload: { end: 'lost' } }],
    ['no sequence', { ...event, sequence: undefined }],
  ])('%s is refused', (_what, wrong) => {
    expect(valid(JSON.parse(JSON.stringify(wrong)) as object)).toBe(false)
  })
})

test('every event type of the table is emitted', () => {
  const emitted = [...emittedEvents().types]
  const types = found(/^## `([\w.]+)`$/gm)
  expect(types).toContain('step.phase')
  expect(types.filter((type) => !emitted.some((made) => fits(type, made)))).toEqual([])
})

test('every code of a warning is emitted', () => {
  const [, section = ''] = page.split('\n### WarningCode\n')
  const codes = [...(section.split('\n## ')[0] ?? '').matchAll(/^- `(\w+)`/gm)].map(([, code]) => code)
  expect(new Set(codes)).toEqual(emittedEvents().warnings)
})

function found(pattern: RegExp): readonly string[] {
  return [...page.matchAll(pattern)].map(([, name = '']) => name)
}

/** Whether a type is emitted under this name, whose end may be computed. */
function fits(type: string, emitted: string): boolean {
  return emitted.endsWith('*') ? type.startsWith(emitted.slice(0, -1)) : type === emitted
}
