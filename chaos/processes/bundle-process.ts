/** Bundles the workflow of an old package, whose own process this is, into the file that it is told. */
import { bundleWorkflow } from './bundle-workflow.js'

await bundleWorkflow(process.argv[2] ?? '')
