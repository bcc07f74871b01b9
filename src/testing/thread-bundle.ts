import { DefaultLogger, bundleWorkflowCode } from '../worker/temporal-worker.js'
import { workflowBundleOptions } from '../worker/workflow-bundle.js'

let bundle: Promise<{ readonly code: string }> | undefined

/** The workflow code of threads, bundled once a process: it takes seconds, and each worker of a test needs it. */
export function threadBundle(): Promise<{ readonly code: string }> {
  return (bundle ??= bundleWorkflowCode({ ...workflowBundleOptions, logger: new DefaultLogger('WARN') }))
}
