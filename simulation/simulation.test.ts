import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { describe, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const COMMAND = [
  '--import',
  './test/store/processes/resolve-typescript.ts',
  'simulation/simulate.ts',
  '--json',
]

/** A process of its own: it puts another SDK below the workflows. */
async function simulate(...given: readonly string[]): Promise<readonly Record<string, unknown>[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [...COMMAND, ...given], {
    cwd: ROOT,
    maxBuffer: 2 ** 24,
  })
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

/** What no run of some thousand lives goes without. */
const EXPLORED = [
  ...['callModel', 'executeTool', 'prepareChild', 'prepareMessage', 'completeCall', 'deliverReport'].map(
    (name) => `activity thread.${name}`,
  ),
  ...['settle', 'runEffect', 'checkChildren', 'expireChild', 'storeStop'].map(
    (name) => `activity thread.${name}`,
  ),
  ...[
    'answered',
    'begun',
    'moved',
    'activates',
    'refused',
    'nothing_to_do',
    'interrupted',
    'end',
    'wait',
  ].map((type) => `answer thread.callModel ${type}`),
  ...['result', 'kind', 'remote', 'pending', 'end', 'terminated'].map(
    (type) => `answer thread.executeTool ${type}`,
  ),
  ...['children', 'sent', 'frame', 'response', 'remote'].map((kind) => `completion ${kind}`),
  ...['result', 'failure', 'notice', 'closed', 'timed_out'].map((kind) => `report ${kind}`),
  ...['continueAsNew', 'child', 'signal', 'cancelWorkflow', 'cancelActivity', 'complete', 'cancelled'].map(
    (kind) => `command ${kind}`,
  ),
  ...['die', 'evict', 'miss', 'an answer is lost', 'an answer comes too late', 'a commit comes too late'].map(
    (kind) => `fault ${kind}`,
  ),
  'fault an activity fails for good',
  'fault an activity is completed with no answer',
  'fault a child is terminated by an operator',
]

describe('simulated lives of whole families of threads', { timeout: 120_000 }, () => {
  test('T1 to T9 hold in every one of them', async () => {
    const figures = await simulate('--schedules', '3000', '--seed', '1')
    const valueOf = (figure: string): unknown => figures.find((line) => line['figure'] === figure)?.['value']
    expect([valueOf('schedules'), valueOf('failures')]).toEqual([3000, 0])
    expect(EXPLORED.filter((what) => valueOf(`seen ${what}`) === undefined)).toEqual([])
  })

  test('each known fault of the logic is found', async () => {
    const mutations = await simulate('--mutations', '--schedules', '3000', '--seed', '1')
    expect(mutations.length).toBeGreaterThanOrEqual(16)
    expect(mutations.filter(({ found }) => found === null)).toEqual([])
  })

  test('a failure is repeated by the shorter schedule that it prints', async () => {
    const fault = ['--mutation', 'a new item goes to the head of the queue']
    const failed = await failureOf('--schedules', '200', '--seed', '1', ...fault)
    const [, word = ''] = /--replay (\w+)/.exec(failed) ?? []
    expect(await failureOf('--replay', word, ...fault)).toContain(ruleOf(failed))
    expect(await simulate('--replay', word)).toContainEqual(
      expect.objectContaining({ figure: 'failures', value: 0 }),
    )
  })
})

/** What a run that fails says of it. */
async function failureOf(...given: readonly string[]): Promise<string> {
  const failed: unknown = await simulate(...given).catch((error: unknown) => error)
  return typeof failed === 'object' && failed !== null && 'stderr' in failed ? String(failed.stderr) : ''
}

function ruleOf(failure: string): string {
  return /^Broken: (.+)$/m.exec(failure)?.[0] ?? 'a broken rule'
}
