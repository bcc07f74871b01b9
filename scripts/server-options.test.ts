import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

const text = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), 'utf8')

/** The rows of the table that README has of them. */
const [, table = ''] = /\n(\| option of `serveThreads`[\s\S]*?)\n\n/.exec(text('README.md')) ?? []

test.each([
  ['src/server/tokens.ts', 'Authentication'],
  ['src/server/endpoints/thread-endpoints.ts', 'ThreadEndpoints'],
  ['src/server/serve-threads.ts', 'ServeThreadsOptions'],
  ['src/server/thread-app.ts', 'ThreadAppOptions'],
])('README names every option that %s has in %s', (path, name) => {
  const [, body = ''] =
    new RegExp(`export interface ${name} [^{]*\\{\\n([\\s\\S]*?)\\n\\}`).exec(text(path)) ?? []
  const options = [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, option = '']) => option)
  expect(options.length).toBeGreaterThan(1)
  expect(options.filter((option) => !table.includes(`\`${option}\``))).toEqual([])
})
