import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { httpTypesText } from './http-types-text.js'

const ROOT = join(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

test('the types of everthread/http are those of the OpenAPI document', async () => {
  expect(read('src/http/generated/api-types.ts'), 'run npm run openapi').toBe(await httpTypesText())
})

test('each operation of the document has a typed call', () => {
  const { paths } = JSON.parse(read('docs/generated/openapi.json')) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>
  }
  const [, table = ''] = read('src/http/generated/api-types.ts').split('export interface Paths {')
  for (const [path, methods] of Object.entries(paths)) {
    const [, entry = ''] = table.split(`    '${path}': {\n`)
    const [typed = ''] = entry.split('\n    };')
    for (const [method, { operationId }] of Object.entries(methods))
      expect(typed).toMatch(new RegExp(`^ +${method}: { input: ${operationId}Data;`, 'im'))
  }
})
