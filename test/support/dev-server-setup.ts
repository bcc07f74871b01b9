import type { TestProject } from 'vitest/node'

import { startDevServer } from './servers.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** The dev server that all integration tests share, each with its own task queue and ids. */
    readonly devServerAddress: string
  }
}

/** A deleted history is gone when these queues have noted how far they are: every 30 seconds without this. */
const SOON_DELETED = {
  'history.transferProcessorUpdateAckInterval': '1s',
  'history.visibilityProcessorUpdateAckInterval': '1s',
}

/** Global setup: one dev server for all integration tests of the run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startDevServer({ dynamicConfig: SOON_DELETED })
  project.provide('devServerAddress', server.address)
  return () => server.stop()
}
