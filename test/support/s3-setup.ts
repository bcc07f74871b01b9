import type { TestProject } from 'vitest/node'

import { locateS3Server, startS3Server } from './s3-server.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** The S3 server that all tests of the run share, each with its own bucket; or why there is none. */
    readonly s3Server: { readonly endpoint: string; readonly folder: string } | { readonly problem: string }
  }
}

/** Global setup: one S3 server for all tests of the run. Only those that need it fail when it is missing. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  try {
    const { endpoint, folder, stop } = await startS3Server(locateS3Server())
    project.provide('s3Server', { endpoint, folder })
    return stop
  } catch (error) {
    project.provide('s3Server', { problem: error instanceof Error ? error.message : String(error) })
    return undefined
  }
}
