import type { TestProject } from 'vitest/node'

import { startDevServer } from './servers.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** The dev server that all integration tests share, each with its own task queue and ids. */
    readonly devServerAddress: string
  }
}

/** Global setup: one dev server for all integration tests of the run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startDevServer()
  project.provide('devServerAddress', server.address)
  return () => server.stop()
}
