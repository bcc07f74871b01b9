/**
 * The official conformance suites, their scenarios of clients for each version. Our client lists and calls the tools of each scenario as a
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
const CLIENT = `${process.execPath} --import ./test/store/processes/resolve-typescript.ts test/mcp/conformance-client.ts`

const OF_2025 = {
  '2025-11-25': ['initialize', 'tools_call', 'sse-retry'],
  '2025-06-18': ['initialize', 'tools_call'],
} as const

/** Logins are the same in all versions that have them: these run for the newest, and some of them for the others. */
const LOGINS = [
  ...['metadata-default', 'metadata-var1', 'metadata-var2', 'metadata-var3', 'metadata-issuer-mismatch'],
  ...['basic-cimd', 'pre-registration', 'resource-mismatch', 'authorization-server-migration'],
  ...['scope-from-www-authenticate', 'scope-from-scopes-supported', 'scope-omitted-when-undefined'],
  ...['scope-step-up', 'scope-retry-limit', 'offline-access-scope', 'offline-access-not-supported'],
  ...['token-endpoint-auth-basic', 'token-endpoint-auth-post', 'token-endpoint-auth-none'],
  ...['iss-supported', 'iss-not-advertised', 'iss-supported-missing', 'iss-wrong-issuer', 'iss-unexpected'],
  'iss-normalized',
].map((name) => `auth/${name}`)
const LOGINS_OF_2025 = ['metadata-default', 'scope-step-up', 'token-endpoint-auth-basic'].map(
  (name) => `auth/${name}`,
)
const LOGINS_BEFORE = ['metadata-backcompat', 'endpoint-fallback'].map(
  (name) => `auth/2025-03-26-oauth-${name}`,
)

interface Suite {
  /** Below `node_modules`. */
  readonly folder: string
  /** The scenarios that apply, by version. */
  readonly apply: Readonly<Record<string, readonly string[]>>
}

/** The suite of 2026-07-28, and the last one before it, whose scenarios are its own. */
const SUITES: readonly Suite[] = [
  {
    folder: '@modelcontextprotocol/conformance',
    apply: {
      ...OF_2025,
      '2026-07-28': [
        ...['tools_call', 'request-metadata', 'sep-2322-client-request-state', 'http-standard-headers'],
        ...['http-custom-headers', 'http-invalid-tool-headers', 'json-schema-ref-no-deref'],
        ...['json-schema-2020-12-preservation', ...LOGINS],
      ],
      '2025-11-25': [...[...OF_2025['2025-11-25'], 'json-schema-2020-12-preservation', ...LOGINS_OF_2025]],
      '2025-06-18': [...OF_2025['2025-06-18'], 'auth/token-endpoint-auth-post'],
      '2025-03-26': LOGINS_BEFORE,
      extension: [],
    },
  },
  {
    folder: 'mcp-conformance-2025',
    apply: {
      ...OF_2025,
      '2025-11-25': [...OF_2025['2025-11-25'], ...LOGINS_OF_2025],
      ...{ '2025-03-26': ['auth/2025-03-26-oauth-endpoint-fallback'], draft: [], extension: [] },
    },
  },
]

/** Why a scenario does not apply. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^auth\/(client-credentials|wif-jwt)/, 'no person logs in: `tokens` gives what a service has'],
  [
    /^auth\/(enterprise|cross-app)/,
    'no person logs in: `tokens` gives what an identity provider of the company has',
  ],
  [
    /metadata-backcompat$/,
    'the metadata of that suite name another issuer than the one that was asked, which is refused',
  ],
  [/^auth\/dpop/, 'tokens are not bound to a key'],
  [new RegExp(`^(${LOGINS.join('|')})$`), 'the same login runs for 2026-07-28'],
  [/^elicitation-sep1034-/, 'a question on the connection of a call is declined'],
  [/^sep-2640-/, 'skills are not used'],
]

interface Check {
  readonly id: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
}

const run = promisify(execFile)

/** All scenarios of clients that the suite has for a version. */
async function scenariosOf({ folder }: Suite, version: string): Promise<readonly string[]> {
  const { stdout } = await run(process.execPath, [programOf(folder), 'list', '--client'], { cwd: ROOT })
  return [...stdout.matchAll(/^ {2}- (\S+) \[(.*)\]$/gm)].flatMap(([, name = '', versions = '']) =>
    versions.split(',').includes(version) ? [name] : [],
  )
}

function programOf(folder: string): string {
  return join(ROOT, 'node_modules', folder, 'dist/index.js')
}

interface Case {
  readonly suite: Suite
  readonly scenario: string
  readonly version: string
}

async function checksOf({ suite, scenario, version }: Case): Promise<readonly Check[]> {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-mcp-client-'))
  const line = ['client', '--command', CLIENT, '--scenario', scenario, '--spec-version', version]
  // A scenario that fails says so in its checks, too.
  await run(process.execPath, [programOf(suite.folder), ...line, '-o', folder], {
    cwd: ROOT,
    maxBuffer: 2 ** 26,
  })
  // A name with a slash is a folder more.
  const made = (await readdir(folder, { recursive: true })).find((path) => path.endsWith('checks.json')) ?? ''
  const checks = JSON.parse(await readFile(join(folder, made), 'utf8')) as readonly Check[]
  await rm(folder, { recursive: true })
  return checks
}

const VERSIONS = SUITES.flatMap((suite) =>
  Object.entries(suite.apply).map(([version, applying]) => ({ suite, version, applying })),
)

test.each(VERSIONS)(
  'each scenario of clients of $version in $suite.folder applies, or says why not',
  async ({ suite, version, applying }) => {
    const known = await scenariosOf(suite, version)
    expect(known).toEqual(expect.arrayContaining([...applying]))
    expect(known.length).toBeGreaterThan(0)
    for (const scenario of known.filter((name) => !applying.includes(name)))
      expect(REASONS.find(([name]) => name.test(scenario))?.[1], scenario).toBeDefined()
  },
)

const CASES: readonly Case[] = VERSIONS.flatMap(({ suite, version, applying }) =>
  applying.map((scenario) => ({ suite, scenario, version })),
)

test.each(CASES)('the scenario $scenario of $version in $suite.folder passes', async (one) => {
  const checks = await checksOf(one)
  expect(checks.filter(({ status }) => status === 'FAILURE')).toEqual([])
  expect(checks.some(({ status }) => status === 'SUCCESS')).toBe(true)
})
