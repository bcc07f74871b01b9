import type { ClientOptions } from '@temporalio/client'
import { SearchAttributeType, defineSearchAttributeKey } from '@temporalio/common'
import { msToTs } from '@temporalio/common/lib/time.js'
import { SEARCH_ATTRIBUTES } from '../protocol/messages.js'
import { requirePeer } from '../activities/peer-packages.js'

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
  // An unregistered search attribute blocks a thread, so these are registered before the first thread.
  searchAttributes: Object.values(SEARCH_ATTRIBUTES).map((name) =>
    name === SEARCH_ATTRIBUTES.tags
      ? defineSearchAttributeKey(name, SearchAttributeType.KEYWORD_LIST)
      : defineSearchAttributeKey(name, SearchAttributeType.KEYWORD),
  ),
  extraArgs: [
    // A dispatch costs one poll of a queue that the server polls 20 times a second: 200 ms a step instead of 12.
    ...['--dynamic-config-value', 'history.transferProcessorMaxPollRPS=2000'],
    ...['--dynamic-config-value', 'history.timerProcessorMaxPollRPS=2000'],
    // A history is deleted when these queues have recorded their progress: every 30 seconds without this.
    ...['--dynamic-config-value', 'history.transferProcessorUpdateAckInterval="1s"'],
    ...['--dynamic-config-value', 'history.visibilityProcessorUpdateAckInterval="1s"'],
    // One connection to SQLite: without these every transaction waits for the disk.
    ...['--sqlite-pragma', 'journal_mode=wal'],
    ...['--sqlite-pragma', 'synchronous=normal'],
  ],
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
