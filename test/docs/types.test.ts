import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'

import { PAGES, ROOT, writePage } from './pages.js'

const FOLDER = join(ROOT, 'test-results/docs-types')

/** As a user's own, but for names that a page declares and does not use. */
const CONFIG = {
  extends: '../../tsconfig.json',
  compilerOptions: { noUnusedLocals: false, types: ['node'], noEmit: true },
  include: ['**/*.ts'],
}

test('every ts block of README and guide compiles', async () => {
  for (const page of PAGES) await writePage(page, FOLDER)
  await writeFile(join(FOLDER, 'tsconfig.json'), JSON.stringify(CONFIG))
  const compiler = join(ROOT, 'node_modules/.bin/tsc')
  const compiled = promisify(execFile)(compiler, ['-p', FOLDER], { cwd: FOLDER }).catch(
    (failed: { readonly stdout: string }) => failed,
  )
  expect((await compiled).stdout).toBe('')
})
