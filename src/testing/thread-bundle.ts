import { DefaultLogger, bundleWorkflowCode } from '../worker/temporal-worker.js'
import { workflowBundleOptions } from '../worker/workflow-bundle.js'

let bundle: Promise<{ readonly code: string }> | undefined

/** Bundles the workflow code of threads once a process: that takes seconds, and each worker of a test needs it. */
export function threadBundle(): Promise<{ readonly code: string }> {
  return (bundle ??= bundleWorkflowCode({ ...workflowBundleOptions, logger: new DefaultLogger('WARN') }))
}
