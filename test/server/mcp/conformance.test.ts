/**
 * The official conformance suite, all of its server scenarios for each version. Most of them call tools, resources or prompts that a test
 * server has to offer; what is left says something about any server, and has to pass.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'

import { listen } from '../../../src/server/serve-threads.js'
import { mcpFixture } from './mcp-fixture.js'

const SUITE = fileURLToPath(
  new URL('../../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
)

// The suite sends no token: who calls is decided here.
const desk = mcpFixture({ authenticate: async () => ({ account: 'acme', user: 'mia' }) })

const APPLY: Readonly<Record<string, readonly string[]>> = {
  '2026-07-28': [
    ...['caching', 'dns-rebinding-protection', 'http-header-validation', 'server-sse-multiple-streams'],
    ...['server-stateless', 'sep-2164-resource-not-found', 'tools-list'],
    ...['input-required-result-ignore-extra-params', 'input-required-result-missing-input-response'],
    ...['input-required-result-unsupported-methods', 'input-required-result-validate-input'],
  ],
  '2025-11-25': [
    ...['dns-rebinding-protection', 'ping', 'server-initialize', 'server-session-lifecycle'],
    ...['server-sse-multiple-streams', 'server-sse-polling', 'tools-list'],
  ],
  '2025-06-18': ['ping', 'server-initialize', 'server-session-lifecycle', 'tools-list'],
}

/** Why a scenario does not apply: it is about something that this server does not have. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^tools-call-|^json-schema-2020-12$|^elicitation-sep/, 'it calls a tool of the suite'],
  [/^input-required-result-/, 'it calls a tool or a prompt of the suite'],
  [/^resources-/, 'there are no resources'],
  [/^prompts-/, 'there are no prompts'],
  [/^completion-complete$/, 'there is nothing to complete'],
  [/^logging-set-level$/, 'nothing is logged to clients'],
  [/^http-custom-header-server-validation$/, 'no tool wants a header'],
]

/** Checks within scenarios that apply, which are about tools of the suite, prompts and resources. */
const OTHERS = [
  ...['sep-2575-server-rejects-undeclared-capability', 'sep-2575-missing-capability-http-400'],
  ...['sep-2575-http-server-no-independent-requests-on-stream', 'sep-2575-server-no-log-without-loglevel'],
  ...['sep-2549-prompts-list-caching-hints', 'sep-2549-resources-list-caching-hints'],
  'sep-2549-resources-templates-list-caching-hints',
]

interface Check {
  readonly id: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
  readonly errorMessage?: string
}

/** The checks of each scenario for a version. */
async function runSuite(url: string, version: string): Promise<ReadonlyMap<string, readonly Check[]>> {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-conformance-'))
  const line = [SUITE, 'server', '--url', url, '--suite', 'all', '--spec-version', version, '-o', folder]
  // It ends with 1, because of the scenarios that do not apply.
  await promisify(execFile)(process.execPath, line, { maxBuffer: 2 ** 26 }).catch(() => undefined)
  const checks = new Map<string, readonly Check[]>()
  for (const name of await readdir(folder)) {
    const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '')
    const text = await readFile(join(folder, name, 'checks.json'), 'utf8')
    checks.set(scenario, JSON.parse(text) as readonly Check[])
  }
  await rm(folder, { recursive: true })
  return checks
}

test.each(Object.keys(APPLY))(
  'the scenarios of %s that apply pass, and the others say why',
  async (version) => {
    const { fetch } = desk.app
    const server = await listen({ fetch, port: 0, hostname: '127.0.0.1', onClose: () => undefined })
    const scenarios = await runSuite(`${server.url}/mcp`, version)
    await server.close()
    const applying = APPLY[version] ?? []
    expect([...scenarios.keys()]).toEqual(expect.arrayContaining([...applying]))
    for (const [scenario, checks] of scenarios) {
      const failed = checks.filter(({ id, status }) => status === 'FAILURE' && !OTHERS.includes(id))
      if (applying.includes(scenario)) expect(failed, scenario).toEqual([])
      else expect(REASONS.find(([name]) => name.test(scenario))?.[1], scenario).toBeDefined()
      // Whatever the server answers has the form that the version demands.
      expect(failed.map(({ id }) => id)).not.toContain('wire-schema-valid')
    }
  },
)
