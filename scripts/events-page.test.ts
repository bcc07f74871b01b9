import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

import { emittedEvents } from './emitted-events.js'
import { eventsPage } from './events-page.js'

const page = readFileSync(new URL('../docs/generated/events.md', import.meta.url), 'utf8')

test('the reference of events is made from the event table', () => {
  expect(page, 'run npm run events').toBe(eventsPage())
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
