import { readFileSync } from 'node:fs'
import type { WorkflowBundleOption } from '@temporalio/worker'
import { ACTIVITIES } from '../protocol/activity-table.js'
import { ConfigError } from '../protocol/errors.js'
import { THREAD_WORKFLOW } from '../protocol/messages.js'
import { CONVERTER_MARKER } from '../protocol/payload-converter.js'

/**
 * Refuses a prebuilt bundle that would wedge threads: the SDK ignores a worker's `payloadConverterPath` when it has a
 * bundle, so without ours in it one undecodable signal would stop a thread for ever (T10).
 * @throws ConfigError
 */
export function checkWorkflowBundle(bundle: WorkflowBundleOption): void {
  const problems = bundleProblems(codeOf(bundle))
  if (problems.length > 0) throw new ConfigError(problems)
}

function bundleProblems(code: Buffer): readonly string[] {
  const make =
    'make it with bundleWorkflowCode(workflowBundleOptions) from everthread/worker, or, with workflows of your own, ' +
    'with bundleWorkflowCode({ workflowsPath, plugins: [new EverthreadPlugin({ registry })] }).'
  const problems: string[] = []
  // The converter names the workflow type too; the name of an activity that only a thread calls is found in its code alone.
  if (!code.includes(ACTIVITIES.settle))
    problems.push(
      `Expected workflowBundle to hold the workflow ${THREAD_WORKFLOW}, got one without it: ${make}`,
    )
  if (!code.includes(CONVERTER_MARKER))
    problems.push(
      `Expected workflowBundle to hold Everthread's payload converter, got one without it: ${make}`,
    )
  return problems
}

/** As bytes: to decode a bundle costs more than to search and to digest it. @throws ConfigError for a file that cannot be read */
export function codeOf(bundle: WorkflowBundleOption): Buffer {
  if ('code' in bundle) return Buffer.from(bundle.code)
  try {
    return readFileSync(bundle.codePath)
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'an error'
    const expected = `Expected workflowBundle.codePath to be a readable file, got ${reason} for "${bundle.codePath}"`
    throw new ConfigError([`${expected}: bundle the workflows first.`])
  }
}
