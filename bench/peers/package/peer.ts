import type { BundleOptions, BundlerPlugin, WorkerPlugin } from '@temporalio/worker'
import type { Client, ClientPlugin } from '@temporalio/client'

/** What differs between the two integrations. */
export interface Peer {
  readonly plugin: BundlerPlugin & ClientPlugin & WorkerPlugin
  /** What its workflow is bundled from. */
  readonly workflow: BundleOptions
  readonly workflowType: string
  /** The workflow's argument: tool calls that had these results, a question, and how many model calls it may make. */
  turnInput(results: readonly string[], maxSteps: number): unknown
  /** Reads the live text of a turn until its end, if there is any; resolves with the number of its pieces. */
  readText?(client: Client, workflowId: string): Promise<number>
}
