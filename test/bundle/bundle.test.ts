import { fileURLToPath } from 'node:url'

import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import type { BundleOptions } from '@temporalio/worker'
import { expect, test } from 'vitest'

import { ConfigError } from '../../src/protocol/config-error.js'
import { createWorker, workflowBundleOptions } from '../../src/worker/index.js'
import { checkWorkflowBundle } from '../../src/worker/workflow-bundle.js'
import { emptyRegistry } from '../support/empty-registry.js'

/** All that the sandbox may hold: our contract, logic and wiring, and what Temporal's SDK brings itself. */
const ALLOWED =
  /^(\.\/src\/(protocol|thread|workflows)\/|\.\/node_modules\/(@temporalio\/(common|workflow|worker)|long|ms|nexus-rpc)\/)/

test('the workflow bundle holds protocol, thread and workflows only', async () => {
  const { code } = await bundle(workflowBundleOptions)
  expect(modulesOf(code).length).toBeGreaterThan(50)
  expect(foreignModules(code)).toEqual([])
  expect(() => checkWorkflowBundle({ code })).not.toThrow()
})

test('the workflow bundle names its modules, without a banner for each', async () => {
  const { code } = await bundle(workflowBundleOptions)
  expect(code).toContain('/***/ "./src/workflows/agent-thread.ts"')
  expect(code).not.toContain('!*** ./src/workflows/agent-thread.ts ***!')
})

test('a careless import is seen in the bundle', async () => {
  const { code } = await bundle({ ...workflowBundleOptions, workflowsPath: fixture('careless-workflow') })
  const foreign = foreignModules(code).join('\n')
  for (const name of ['/zod/', '/kysely/', './src/definitions/', './src/store/'])
    expect(foreign).toContain(name)
})

test('a bundle without threads is refused with both reasons', async () => {
  const { code } = await bundle({ workflowsPath: fixture('foreign-workflow') })
  const error = await createWorker({ registry: emptyRegistry, workflowBundle: { code } }).catch(
    (reason: unknown) => reason,
  )
  expect(ConfigError.isInstance(error) && error.problems).toEqual([
    expect.stringContaining('agentThread'),
    expect.stringContaining('payload converter'),
  ])
})

test('a bundle without our payload converter is refused', async () => {
  const { code } = await bundle({ workflowsPath: workflowBundleOptions.workflowsPath })
  expect(() => checkWorkflowBundle({ code })).toThrow('payload converter')
})

test('a bundle that is not there is a configuration error', () => {
  expect(() => checkWorkflowBundle({ codePath: '/nowhere/bundle.js' })).toThrow('ENOENT')
})

function bundle(options: BundleOptions): Promise<{ readonly code: string }> {
  return bundleWorkflowCode({ ...options, logger: new DefaultLogger('ERROR') })
}

function modulesOf(code: string): readonly string[] {
  return [...code.matchAll(/^\/\*\*\*\/ "([^"]+)":?/gm)].map(([, name]) => name ?? '')
}

/** Modules that webpack left out are named `?`; Node's own never get that far: the bundler refuses them. */
function foreignModules(code: string): readonly string[] {
  return modulesOf(code).filter((name) => !name.startsWith('?') && !ALLOWED.test(name))
}

function fixture(name: string): string {
  return fileURLToPath(new URL(`fixtures/${name}.ts`, import.meta.url))
}
