import { mkdirSync, writeFileSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SerializedError } from 'vitest'
import type { Reporter, TestModule, TestRunEndReason, TestSpecification, Vitest } from 'vitest/node'

/** A test of a run, as kept in `test-results/last-run.json`. */
export interface RunTest {
  readonly title: string
  readonly fullName: string
  readonly file: string
  readonly state: 'passed' | 'failed' | 'skipped'
}

interface RunCounts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/**
 * Ends a run with `N passed, N failed` alone on the last line, and keeps the tests of a full run for
 * the conformance report.
 */
export class RunReporter implements Reporter {
  #vitest: Vitest | undefined
  #full = false
  #counts: RunCounts | undefined

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
    // At the exit of the process, because other reporters and the closing of servers still print.
    process.once('exit', (code) => {
      const counts = countsAtExit(this.#counts, code)
      if (counts.failed > 0 && code === 0) process.exitCode = 1
      writeSync(1, `${lastLine(counts)}\n`)
    })
  }

  async onTestRunStart(specifications: readonly TestSpecification[]): Promise<void> {
    this.#full = await isFullRun(this.#vitest, specifications)
  }

  onTestRunEnd(
    modules: readonly TestModule[],
    unhandledErrors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    const tests = modules.flatMap(testsOf)
    // What failed outside a test must show in the one line that people and machines read.
    const failedOutside =
      unhandledErrors.length + modules.reduce((sum, module) => sum + brokenSuites(module), 0)
    this.#counts = countTests(tests, failedOutside)
    if (this.#full && reason !== 'interrupted' && this.#vitest) {
      const file = join(this.#vitest.config.root, 'test-results', 'last-run.json')
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, `${JSON.stringify({ tests }, null, 2)}\n`)
    }
  }
}

function lastLine({ passed, failed, skipped }: RunCounts): string {
  return `${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`
}

function countTests(tests: readonly RunTest[], failedOutside: number): RunCounts {
  const count = (state: RunTest['state']): number => tests.filter((test) => test.state === state).length
  return { passed: count('passed'), failed: count('failed') + failedOutside, skipped: count('skipped') }
}

// A run that never got to its tests, or failed after them, is told apart only by its exit code.
function countsAtExit(counts: RunCounts | undefined, code: number): RunCounts {
  const known = counts ?? { passed: 0, failed: 0, skipped: 0 }
  return code !== 0 && known.failed === 0 ? { ...known, failed: 1 } : known
}

function testsOf(module: TestModule): RunTest[] {
  return Array.from(module.children.allTests(), (test) => {
    const { state } = test.result()
    return {
      title: test.name,
      fullName: test.fullName,
      file: module.relativeModuleId,
      // Never run because the run broke off: it proves nothing.
      state: state === 'pending' ? 'skipped' : state,
    }
  })
}

// Files that do not load, and suites whose hooks fail: their tests do not count as failed by themselves.
function brokenSuites(module: TestModule): number {
  return [module, ...module.children.allSuites()].filter((suite) => suite.errors().length > 0).length
}

async function isFullRun(
  vitest: Vitest | undefined,
  specifications: readonly TestSpecification[],
): Promise<boolean> {
  if (!vitest) return false
  const { testNamePattern, tagsFilter, shard, project, cliExclude } = vitest.config
  const filters = [
    testNamePattern,
    shard,
    ...(tagsFilter ?? []),
    ...(cliExclude ?? []),
    ...[project ?? []].flat(),
  ]
  if (filters.some((filter) => filter !== undefined)) return false
  return specifications.length === (await vitest.globTestSpecifications()).length
}
