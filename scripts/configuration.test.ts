import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { configurationPage, ENVIRONMENT, optionsOf } from './configuration.js'

const ROOT = join(import.meta.dirname, '..')

test('the page of configuration is that of the source', () => {
  const page = readFileSync(join(ROOT, 'docs/generated/configuration.md'), 'utf8')
  expect(page, 'run npm run configuration').toBe(configurationPage())
})

test('every variable of the environment that the source reads is on the page', () => {
  const sources = globSync('src/**/*.ts', { cwd: ROOT }).map((path) => readFileSync(join(ROOT, path), 'utf8'))
  const read = new Set(sources.flatMap((text) => text.match(/EVERTHREAD_[A-Z_]+(?=['"\],} :])/g) ?? []))
  // The code of a warning, not a variable.
  read.delete('EVERTHREAD_SEARCH_ATTRIBUTES')
  const listed = ENVIRONMENT.map(([names]) => names).join(' ')
  expect(read.size).toBeGreaterThan(6)
  expect([...read].filter((name) => !listed.includes(name))).toEqual([])
})

test('an option has its comment, its default and its type', () => {
  const source = `
export interface Lamp extends Thing {
  /** How bright it is. @default 40 */
  readonly watts?: number
  /**
   * Whether it is
   * on. @see switch
   */
  readonly on: boolean
  /** @deprecated write watts */
  readonly power?: number
  shine(): void
}
`
  const sources = new Map([
    ['src/lamp.ts', source],
    ['src/other.ts', 'interface Lamp {\n  readonly no: boolean\n}'],
  ])
  expect(() => optionsOf(sources, 'Lamp')).toThrow('found 2')
  sources.set('src/index.ts', "export type { Lamp } from './lamp.js'")
  expect(optionsOf(sources, 'Lamp')).toEqual([
    { name: 'watts', type: 'number', text: 'How bright it is.', byDefault: '40' },
    { name: 'on', type: 'boolean', text: 'Whether it is on.', byDefault: null },
    { name: 'shine', type: '', text: '', byDefault: null },
  ])
  expect(() => optionsOf(sources, 'Tree')).toThrow('interface Tree')
})
