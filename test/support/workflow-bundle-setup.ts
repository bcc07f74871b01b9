import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import type { TestProject } from 'vitest/node'
import { workflowBundleOptions } from '../../src/worker/workflow-bundle.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** The workflow code, as a production worker takes it: each worker process would bundle for seconds. */
    readonly workflowBundlePath: string
  }
}

/** Global setup: the workflow code is bundled once for all worker processes of the run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-bundle-'))
  const path = join(folder, 'workflows.js')
  const { code } = await bundleWorkflowCode({ ...workflowBundleOptions, logger: new DefaultLogger('WARN') })
  await writeFile(path, code)
  project.provide('workflowBundlePath', path)
  return () => rm(folder, { recursive: true, force: true })
}
