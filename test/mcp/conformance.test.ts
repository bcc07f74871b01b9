/**
 * The official conformance suite, its scenarios of clients for each version. Our client lists and calls the tools of each scenario as a
 * thread does (`conformance-client.ts`).
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SUITE = join(ROOT, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
const CLIENT = `${process.execPath} --import ./test/store/processes/resolve-typescript.ts test/mcp/conformance-client.ts`

const APPLY: Readonly<Record<string, readonly string[]>> = {
  '2026-07-28': [
    ...['tools_call', 'request-metadata', 'sep-2322-client-request-state', 'http-standard-headers'],
    ...['http-custom-headers', 'http-invalid-tool-headers', 'json-schema-ref-no-deref'],
    'json-schema-2020-12-preservation',
  ],
  '2025-11-25': ['initialize', 'tools_call', 'sse-retry', 'json-schema-2020-12-preservation'],
  '2025-06-18': ['initialize', 'tools_call'],
}

/** Why a scenario does not apply. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^auth\//, 'tokens are given: this client runs no login'],
  [/^elicitation-sep1034-/, 'a question on the connection of a call is declined'],
  [/^sep-2640-/, 'skills are not used'],
]

interface Check {
  readonly id: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
}

const run = promisify(execFile)

/** All scenarios of clients that the suite has for a version. */
async function scenariosOf(version: string): Promise<readonly string[]> {
  const { stdout } = await run(process.execPath, [SUITE, 'list', '--client'], { cwd: ROOT })
  return [...stdout.matchAll(/^ {2}- (\S+) \[(.*)\]$/gm)].flatMap(([, name = '', versions = '']) =>
    versions.split(',').includes(version) ? [name] : [],
  )
}

async function checksOf(scenario: string, version: string): Promise<readonly Check[]> {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-mcp-client-'))
  const line = ['client', '--command', CLIENT, '--scenario', scenario, '--spec-version', version]
  // A scenario that fails says so in its checks, too.
  await run(process.execPath, [SUITE, ...line, '-o', folder], { cwd: ROOT, maxBuffer: 2 ** 26 })
  const [made = ''] = await readdir(folder)
  const checks = JSON.parse(await readFile(join(folder, made, 'checks.json'), 'utf8')) as readonly Check[]
  await rm(folder, { recursive: true })
  return checks
}

test.each(Object.entries(APPLY))(
  'each scenario of clients of %s applies, or says why not',
  async (version, applying) => {
    const known = await scenariosOf(version)
    expect(known).toEqual(expect.arrayContaining([...applying]))
    for (const scenario of known.filter((name) => !applying.includes(name)))
      expect(REASONS.find(([name]) => name.test(scenario))?.[1], scenario).toBeDefined()
  },
)

const CASES = Object.entries(APPLY).flatMap(([version, applying]) =>
  applying.map((scenario) => [scenario, version] as const),
)

test.each(CASES)('the scenario %s of %s passes', async (scenario, version) => {
  const checks = await checksOf(scenario, version)
  expect(checks.filter(({ status }) => status === 'FAILURE')).toEqual([])
  expect(checks.some(({ status }) => status === 'SUCCESS')).toBe(true)
})
