import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

import type { WorkerOptions } from '@temporalio/worker'

import { codeOf } from './workflow-bundle.js'

/**
 * What histories call a worker's workflow code, six times a step: Temporal's own name for it, of 90 characters, is a seventh
 * of a step's history. Null for code that is bundled with a user's own as the worker starts: that name stays Temporal's.
 */
export function codeName({ workflowBundle, workflowsPath }: WorkerOptions): string | null {
  if (workflowBundle !== undefined)
    return `everthread+${createHash('sha256').update(codeOf(workflowBundle)).digest('hex').slice(0, 12)}`
  return workflowsPath === undefined ? `everthread@${packageVersion()}` : null
}

/** The package's own file is two folders up, from the sources as from what is built of them. */
function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  // Written by us.
  return (JSON.parse(text) as { readonly version: string }).version
}
