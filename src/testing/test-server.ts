import type { ClientOptions } from '@temporalio/client'
import { msToTs } from '@temporalio/common/lib/time.js'
import { requirePeer } from '../activities/peer-packages.js'
import { DEV_SERVER_ARGUMENTS } from './dev-server-arguments.js'

/** `@temporalio/testing`, an optional peer, for all code of this package that runs it. */
const { TestWorkflowEnvironment } = requirePeer<typeof import('@temporalio/testing')>('@temporalio/testing')

type TestWorkflowEnvironment = import('@temporalio/testing').TestWorkflowEnvironment

/** `time-skipping` skips timers of days but cannot list; `dev` is a real server, with real time. */
export type TestServerKind = 'time-skipping' | 'dev'

/** The SDK gives a server five seconds to answer, and a busy machine may take longer than that. */
const ATTEMPTS = 5

/**
 * Starts a server for tests: the executable that TEMPORAL_TEST_SERVER_PATH or TEMPORAL_CLI_PATH names, else the one
 * that Temporal's SDK downloads.
 */
export async function startTestServer(kind: TestServerKind): Promise<TestWorkflowEnvironment> {
  const variable = kind === 'dev' ? 'TEMPORAL_CLI_PATH' : 'TEMPORAL_TEST_SERVER_PATH'
  const path = process.env[variable]
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startServer(kind, path)
    } catch (error) {
      if (attempt < ATTEMPTS) continue
      const place = path ?? 'the download of the SDK'
      throw new Error(
        `Expected a test server from ${place}, got none: set ${variable} to the path of one; ` +
          '"./temporal-dev.sh install" in the repository of Everthread installs it, and "locate" prints its path.',
        { cause: error },
      )
    }
  }
}

function startServer(kind: TestServerKind, path: string | undefined): Promise<TestWorkflowEnvironment> {
  const executable = path ? { executable: { type: 'existing-path' as const, path } } : {}
  if (kind === 'dev') return TestWorkflowEnvironment.createLocal({ server: { ...executable, ...DEV_SERVER } })
  return TestWorkflowEnvironment.createTimeSkipping({ server: executable, client: EAGER_RETRIES })
}

const DEV_SERVER = {
  log: { format: 'pretty', level: 'error' },
  extraArgs: [...DEV_SERVER_ARGUMENTS],
}

/**
 * Client options for the time-skipping server. A worker without a cache sometimes drops a workflow task, and the server
 * delivers it again after the task's timeout: ten seconds of real time by default. Subagents have the timeout of their parent.
 */
export const EAGER_RETRIES: Pick<ClientOptions, 'interceptors'> = {
  interceptors: {
    workflow: [
      {
        startWithDetails: ({ options, ...input }, next) =>
          next({ ...input, options: { ...options, workflowTaskTimeout: msToTs('2s') } }),
      },
    ],
  },
}
