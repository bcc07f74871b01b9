import { mkdirSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { SerializedError } from 'vitest'
import type { Reporter, TestModule, TestRunEndReason, TestSpecification, Vitest } from 'vitest/node'

/** A test of a run, as kept in `test-results/last-run.json`. */
export interface RunTest {
  readonly title: string
  readonly fullName: string
  readonly project: string
  readonly file: string
  readonly state: 'passed' | 'failed' | 'skipped'
  /** True: it failed, and passed when its file ran again. */
  readonly isUnsteady?: true
}

interface RunCounts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** Files of a full run that may run again: where more of them fail, it is no accident. */
const MOST_FILES_AGAIN = 3

/**
 * Ends a run with `N passed, N failed` alone on the last line, and keeps the tests of a full run for
 * the conformance report. Where tests of a few files of it failed, it leaves the arguments for a run of these
 * alone, which `./temporal-dev.sh test` makes once: with EVERTHREAD_TEST_AGAIN set, what is kept and counted is the full
 * run with the results of this one, and each test that passed only now is named.
 */
export class RunReporter implements Reporter {
  readonly #isAgain = process.env['EVERTHREAD_TEST_AGAIN'] !== undefined
  #vitest: Vitest | undefined
  #full = false
  #counts: RunCounts | undefined
  #unsteady: readonly RunTest[] = []

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
    // At the exit of the process, because other reporters and the closing of servers still print.
    process.once('exit', (code) => {
      const counts = countsAtExit(this.#counts, code)
      if (counts.failed > 0 && code === 0) process.exitCode = 1
      for (const { project, file, fullName } of this.#unsteady)
        writeSync(
          1,
          `unsteady: failed, and passed when its file ran again: ${project} ${file} > ${fullName}\n`,
        )
      writeSync(1, `${lastLine(counts)}\n`)
    })
  }

  async onTestRunStart(specifications: readonly TestSpecification[]): Promise<void> {
    this.#full = await isFullRun(this.#vitest, specifications)
    if (this.#full) rmSync(this.#place('again'), { force: true })
  }

  onTestRunEnd(
    modules: readonly TestModule[],
    unhandledErrors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    const ran = modules.flatMap(testsOf)
    const tests = this.#isAgain ? this.#withEarlier(ran) : ran
    // What failed outside a test must show in the one line that people and machines read.
    const failedOutside =
      unhandledErrors.length + modules.reduce((sum, module) => sum + brokenSuites(module), 0)
    this.#unsteady = tests.filter(({ isUnsteady }) => isUnsteady)
    this.#counts = countTests(tests, failedOutside)
    if ((!this.#full && !this.#isAgain) || reason === 'interrupted' || !this.#vitest) return
    mkdirSync(this.#place('.'), { recursive: true })
    writeFileSync(this.#place('last-run.json'), `${JSON.stringify({ tests }, null, 2)}\n`)
    const failed = this.#isAgain || failedOutside > 0 ? [] : tests.filter(({ state }) => state === 'failed')
    const files = new Set(failed.map(({ file }) => file))
    if (files.size > MOST_FILES_AGAIN || files.size === 0) return
    const projects = new Set(failed.map(({ project }) => project))
    const words = [...Array.from(projects, (project) => `--project=${project}`), ...files]
    writeFileSync(this.#place('again'), words.map((word) => `${word}\n`).join(''))
  }

  /** The tests of the run before, with what those that ran again have come to. */
  #withEarlier(ran: readonly RunTest[]): readonly RunTest[] {
    const kept = JSON.parse(readFileSync(this.#place('last-run.json'), 'utf8')) as {
      readonly tests: readonly RunTest[]
    }
    const nameOf = ({ project, file, fullName }: RunTest): string => JSON.stringify([project, file, fullName])
    const again = new Map(ran.map((test) => [nameOf(test), test]))
    return kept.tests.map((test) => {
      const now = again.get(nameOf(test)) ?? test
      return test.state === 'failed' && now.state === 'passed' ? { ...now, isUnsteady: true } : now
    })
  }

  #place(name: string): string {
    return join(this.#vitest?.config.root ?? '.', 'test-results', name)
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
      project: module.project.name,
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
