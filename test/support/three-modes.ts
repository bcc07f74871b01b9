import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { Registry } from '../../src/definitions/registry.js'
import { assertReplays, createTestEnvironment } from '../../src/testing/index.js'
import type { TestEnvironment, TestEnvironmentOptions } from '../../src/testing/index.js'
import { recordedRuns, searchForContent } from './histories.js'
import type { RecordedRun } from './histories.js'

/** Every workflow test runs in each: the same facts must hold however often a workflow's state is rebuilt. */
const MODES = [
  { mode: 'default cache' },
  { mode: 'every task replayed', worker: { maxCachedWorkflows: 0 } },
  { mode: 'continued as new at every point', continueAsNewEveryStep: true },
] as const

/** The environment of one mode. */
export interface ModeEnvironment<R extends Registry> {
  readonly mode: string
  readonly env: TestEnvironment<R>
  /** Inline signals are in history by their sender's choice. */
  allowInline(threadId: string, signal: string): void
  /** All Temporal runs of a thread, through continue-as-new. */
  runs(threadId: string): Promise<readonly RecordedRun[]>
}

/**
 * Runs a suite of workflow tests three times, each in an environment of its own; then replays the histories of all its
 * threads, children included, and searches them for content.
 */
export function threeModes<R extends Registry>(
  options: TestEnvironmentOptions<R>,
  suite: (environment: ModeEnvironment<R>) => void,
): void {
  describe.each(MODES)('$mode', ({ mode, ...modeOptions }) => {
    const inline: string[] = []
    let environment: TestEnvironment<R> | undefined
    const inMode: ModeEnvironment<R> = {
      mode,
      get env() {
        if (environment === undefined) throw new Error('The environment is not there before the first test.')
        return environment
      },
      allowInline: (threadId, signal) => void inline.push(`${threadId}/${signal}`),
      runs: (threadId) => recordedRuns(inMode.env.threads.temporal, threadId),
    }

    beforeAll(async () => {
      environment = await createTestEnvironment({ ...options, ...modeOptions })
    })
    afterAll(() => environment?.close())

    suite(inMode)

    test('SA-R-01.0 every history of this file replays', async () => {
      const runs = await allRuns(inMode)
      expect(await assertReplays(runs)).toBe(runs.length)
      expect(runs.length).toBeGreaterThan(0)
    })

    test('no text, argument or result is in a history', async () => {
      const { bytes, leaks } = searchForContent(await allRuns(inMode), inline)
      expect(leaks).toEqual([])
      expect(bytes).toBeGreaterThan(1000)
    })
  })
}

async function allRuns<R extends Registry>({
  env,
  runs,
}: ModeEnvironment<R>): Promise<readonly RecordedRun[]> {
  const all: RecordedRun[] = []
  for await (const { threadId } of env.threads.list()) all.push(...(await runs(threadId)))
  return all
}
