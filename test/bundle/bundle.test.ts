import { readdir, readFile } from 'node:fs/promises'
import { SourceMap } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import type { BundleOptions } from '@temporalio/worker'
import { expect, test } from 'vitest'
import { ConfigError } from '../../src/protocol/errors.js'
import { createWorker, workflowBundleOptions } from '../../src/worker/index.js'
import withoutComments from '../../src/worker/without-comments.js'
import { checkWorkflowBundle } from '../../src/worker/workflow-bundle.js'
import { emptyRegistry } from '../support/empty-registry.js'

/** All that the sandbox may hold: our contract, logic and wiring, and what Temporal's SDK brings itself. */
const ALLOWED =
  /^(src\/(protocol|thread|workflows)|node_modules\/(@temporalio\/(common|workflow|worker)|long|ms|nexus-rpc))\//

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

test('AR-W.1 the workflow bundle holds protocol, thread and workflows only', async () => {
  const { code } = await bundle(workflowBundleOptions)
  expect(modulesOf(code).length).toBeGreaterThan(50)
  expect(foreignModules(code)).toEqual([])
  expect(() => checkWorkflowBundle({ code })).not.toThrow()
})

test('modules of the workflow bundle have no banner, and most are joined with the one that needs them', async () => {
  const { code } = await bundle(workflowBundleOptions)
  expect(modulesOf(code)).toContain('src/workflows/agent-thread.ts')
  expect(code).not.toContain('!*** ./')
  const separate = [...code.matchAll(/^\/\*\*\*\/ "\.\/src\/[^"]+"/gm)]
  expect(separate.length).toBeLessThan(10)
})

test('the workflow bundle has no comment line of ours, and its source map holds', async () => {
  const { code } = await bundle(workflowBundleOptions)
  const [source, map] = partsOf(code)
  expect(source).not.toContain('Continue-as-new: possible whenever nothing is in flight')
  const words = 'Expected a carried state of version'
  const lines = source.split('\n')
  const line = lines.findIndex((text) => text.includes(words))
  const found = map.findEntry(line, lines[line]?.indexOf(words) ?? 0)
  if (!('originalSource' in found)) throw new Error('Expected a place in the sources.')
  const file = await readFile(found.originalSource, 'utf8')
  expect(found.originalSource).toMatch(/src\/thread\/continue-as-new\.ts$/)
  expect(file.split('\n')[found.originalLine]).toContain(words)
})

test.each(['protocol', 'thread', 'workflows'])('only comments are left out of src/%s', async (folder) => {
  const root = fileURLToPath(new URL(`../../src/${folder}/`, import.meta.url))
  const names = (await readdir(root)).filter((name) => name.endsWith('.ts'))
  expect(names.length).toBeGreaterThan(10)
  for (const name of names) {
    const source = await readFile(join(root, name), 'utf8')
    let kept = ''
    withoutComments.call({ callback: (_error, lean) => void (kept = lean) }, source, null)
    const [lines, left] = [source.split('\n'), kept.split('\n')]
    expect(left.length, name).toBe(lines.length)
    for (const [index, line] of lines.entries()) {
      if (line === left[index]) continue
      expect([left[index], line.trim()], name).toEqual(['', expect.stringMatching(/^(\/\/|\/\*|\*)|\*\/$/)])
      const isInText = left.slice(0, index).join('\n').split('`').length % 2 === 0
      expect(isInText, `${name}:${index + 1} is in a template`).toBe(false)
    }
  }
})

test('a careless import is seen in the bundle', async () => {
  const { code } = await bundle({ ...workflowBundleOptions, workflowsPath: fixture('careless-workflow') })
  const foreign = foreignModules(code).join('\n')
  for (const name of ['/zod/', '/kysely/', 'src/definitions/', 'src/store/']) expect(foreign).toContain(name)
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

/** A bundle's code, and the source map at its end. */
function partsOf(code: string): readonly [source: string, map: SourceMap] {
  const [source = '', map = ''] = code.split(
    '\n//# sourceMappingURL=data:application/json;charset=utf-8;base64,',
  )
  // Its types: what `JSON.parse` gives is a source map of webpack's.
  return [source, new SourceMap(JSON.parse(Buffer.from(map, 'base64').toString()))]
}

/** By their paths in this project. Webpack's own small modules have none. */
function modulesOf(code: string): readonly string[] {
  const [, { payload }] = partsOf(code)
  return payload.sources
    .filter((source) => source.startsWith(ROOT))
    .map((source) => source.slice(ROOT.length))
}

/** Node's own never get that far: the bundler refuses them. */
function foreignModules(code: string): readonly string[] {
  return modulesOf(code).filter((name) => !ALLOWED.test(name))
}

function fixture(name: string): string {
  return fileURLToPath(new URL(`fixtures/${name}.ts`, import.meta.url))
}
