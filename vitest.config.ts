import { statfsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { defineConfig } from 'vitest/config'

import { IS_LONG } from './test/support/long.js'
import { RunReporter } from './test/support/run-reporter.js'

const needsServers = [
  './test/support/servers-setup.ts',
  './test/support/postgres-setup.ts',
  './test/support/s3-setup.ts',
]
const quietRuntime = ['./test/support/quiet-runtime.ts']

/** Examples import the package by its name: here that is the source. */
const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

// Each run starts hundreds of processes, which load the same modules: V8 compiles them once.
process.env['NODE_COMPILE_CACHE'] ??= source('.everthread/compile-cache')

// Servers in Go collect their garbage less often than they do by default: here memory has room, and no processor has.
process.env['GOGC'] ??= '400'

// Where memory has room, what tests write stays there: a database of PostgreSQL is 300 files, which cost it 20 ms instead of 300.
if (freeBytes('/dev/shm') > 4 * 1024 ** 3) process.env['TMPDIR'] ??= '/dev/shm'

const INTEGRATION = ['test/{integration,chaos,hostile}/**/*.test.ts']
/** What has hundreds of threads, or kills workers in calls whose rows are those of other crash tests, runs on the second store when it is asked for. */
const LONG = [
  'test/integration/{workflow-tool,mcp,mcp-task,mcp-login}-crash.test.ts',
  'test/integration/{queue,long-turn}.test.ts',
  'test/hostile/**',
  'test/integration/subagent-{tree,crowds}.test.ts',
  'test/integration/subagent-endings/**',
  'test/integration/rolling-deploy.test.ts',
  // How a process ends, a provider's limits, histories and a worker in Python: a store has no part in them but threads.
  'test/integration/{drain,own-histories,provider-limit,python-tool,shutdown}.test.ts',
]

/** And these on the first one: their transactions are harder for the second, and here chaos kills workers at any point. */
const LONG_ON_SQLITE = [
  'test/integration/{run-ahead,worker-lease,crash-model,crash-tool,crash-child}.test.ts',
  'test/integration/{reopen,reopen-family,stop,wait-until-idle}.test.ts',
]

/**
 * Workflow tests without modes (`threeModes`), which would do the same once more. They run on PostgreSQL, and on SQLite when it is asked
 * for: what their activities store in SQLite, the tests of activities store there too.
 */
const WITHOUT_MODES = [
  'test/workflow/{approval-deploy,call-read,cancelled-start,effects-and-variables,http-tools,late-task}.test.ts',
  'test/workflow/{many-turns,stored-again,usage,workflow-tool-ends,workflow-tool-waits,workflow-tools}.test.ts',
]

/**
 * What these decide, a store has no part in: they run on SQLite, with continue-as-new at every point, and in the other mode on PostgreSQL when
 * it is asked for. None of them has a test of one mode only (`skippingTime`, `ofActivities`).
 */
const DECISIONS = [
  'test/workflow/{permissions,run-permissions,permission-sources,permission-summary,approvers,changed-approvals}.test.ts',
  'test/workflow/{policy-changes,policy-contracts,policy-function,deciding-hooks,hook-points,hook-arguments}.test.ts',
  'test/workflow/{hook-abilities,run-end-hooks,fallbacks,stop-conditions,tools-inventory,tool-sources,tool-catalog}.test.ts',
  'test/workflow/{tool-errors,tool-iterations,dual-ai-turns,dual-ai-perspective,prompt-tools,short-form}.test.ts',
  'test/workflow/{subagents-kinds,action-record,folded-readers,agent-runtime-view,handoff,steering}.test.ts',
  'test/workflow/hostile-payloads.test.ts',
]

/** 0 where there is no such folder. */
function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return 0
  }
}

/**
 * Files at a time on two cores. Processes, servers and browsers that are started and killed fill them with four, and with more of them what
 * has to happen in time comes late. Other tests wait for timers and each other a third of that time. The first come first.
 */
const FULL = { maxWorkers: 4, sequence: { groupOrder: 0 } } as const
const WAITING = { maxWorkers: 6, sequence: { groupOrder: 1 } } as const

/** Tests on a dev server of their project's own: two projects with the same files would else have the same thread ids. */
function onServers(
  name: string,
  files: {
    readonly include: string[]
    readonly exclude?: string[]
    readonly env?: Record<string, string>
    readonly maxWorkers?: number
    readonly sequence?: { readonly groupOrder: number }
  },
) {
  return {
    extends: true as const,
    test: {
      name,
      isolate: false,
      ...FULL,
      ...files,
      globalSetup: [
        ...needsServers,
        './test/support/dev-server-setup.ts',
        './test/support/workflow-bundle-setup.ts',
        './test/support/worker-program-setup.ts',
      ],
      setupFiles: quietRuntime,
      // Long: that a machine with two busy cores is slow is no defect of the code.
      testTimeout: 150_000,
      // Of those that say so: each waits for the server most of its time.
      maxConcurrency: 16,
      // Worker processes start in hooks.
      hookTimeout: 120_000,
    },
  }
}

export default defineConfig({
  resolve: {
    alias: [
      { find: /^everthread$/, replacement: source('src/index.ts') },
      { find: /^everthread\/(\w+)$/, replacement: `${source('src')}/$1/index.ts` },
    ],
  },
  test: {
    reporters: ['default', new RunReporter()],
    // The files of a project share a few processes and the modules that these have loaded (`isolate: false`), which halves
    // their time. What a crash test kills is a process of its own.
    pool: 'forks',
    execArgv: ['--require', source('test/support/lean-sandbox.cjs')],
    setupFiles: './test/support/own-environment.ts',
    // Of `expect.poll`, as of `until`: the second that it has by default passes on a busy machine before anything has happened.
    expect: { poll: { timeout: 60_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          isolate: false,
          ...WAITING,
          include: ['{src,scripts,simulation,site}/**/*.test.ts'],
          // A few live through thousands of turns, which takes seconds where other programs use both cores.
          testTimeout: 90_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'types',
          ...WAITING,
          include: [],
          typecheck: {
            enabled: true,
            only: true,
            include: ['test/types/*.test-d.ts'],
            checker: 'tsc',
            // `npm run check` finds these, and names them better.
            ignoreSourceErrors: true,
          },
        },
      },
      {
        extends: true,
        test: {
          name: 'servers',
          isolate: false,
          ...WAITING,
          include: ['test/**/*.test.ts'],
          exclude: ['test/{integration,chaos,hostile,page,site}/**', ...(IS_LONG ? [] : WITHOUT_MODES)],
          // One mode on each store: the other one is that of PostgreSQL, below, where every history is replayed once at the end.
          env: IS_LONG ? {} : { EVERTHREAD_TEST_MODE: 'continued as new at every point' },
          globalSetup: [...needsServers, './test/support/workflow-bundle-setup.ts'],
          setupFiles: quietRuntime,
          // A workflow task that the SDK drops without a cache comes again after ten seconds, and so may a second one.
          testTimeout: 150_000,
          hookTimeout: 120_000,
        },
      },
      onServers('integration', { include: INTEGRATION, exclude: IS_LONG ? [] : LONG_ON_SQLITE }),
      // In a real browser.
      onServers('page', { include: ['test/page/**/*.test.ts'] }),
      // The documents, built and read in a real browser; it needs no server.
      {
        extends: true,
        test: { name: 'site', include: ['test/site/**/*.test.ts'], testTimeout: 60_000, ...WAITING },
      },
      // The same files with another store: what they promise holds on both.
      onServers('workflow-postgres', {
        ...WAITING,
        include: ['test/workflow/**/*.test.ts'],
        exclude: IS_LONG ? [] : DECISIONS,
        env: {
          EVERTHREAD_TEST_STORE: 'postgres',
          ...(!IS_LONG && { EVERTHREAD_TEST_MODE: 'default cache' }),
        },
      }),
      onServers('integration-postgres', {
        include: INTEGRATION,
        exclude: [
          // Of one store only.
          'test/integration/{canary,s3}.test.ts',
          'test/chaos/**',
          // Commands, plugins and other programs meet a store only through threads, which the files below have on both.
          'test/integration/cli/**',
          'test/integration/{doctor,plugin-codec,plugin-converter,plugin,python-example,temporal-cli,temporal-ui}.test.ts',
          'test/integration/{task-queues,trace,two-stores,unregistered-search-attributes}.test.ts',
          ...(IS_LONG ? [] : LONG),
        ],
        env: { EVERTHREAD_TEST_STORE: 'postgres' },
      }),
    ],
  },
})
