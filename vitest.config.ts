import { fileURLToPath } from 'node:url'

import { defineConfig } from 'vitest/config'

import { RunReporter } from './test/support/run-reporter.js'

const needsServers = [
  './test/support/servers-setup.ts',
  './test/support/postgres-setup.ts',
  './test/support/s3-setup.ts',
]
const quietRuntime = ['./test/support/quiet-runtime.ts']

/** Examples import the package by its name: here that is the source. */
const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
  resolve: {
    alias: [
      { find: /^everthread$/, replacement: source('src/index.ts') },
      { find: /^everthread\/(\w+)$/, replacement: `${source('src')}/$1/index.ts` },
    ],
  },
  test: {
    reporters: ['default', new RunReporter()],
    // A process a file: the SDK's runtime is installed once a process, and a crash test may take it down.
    pool: 'forks',
    // Two cores, and each file may bring a worker and a server.
    maxWorkers: 2,
    projects: [
      { extends: true, test: { name: 'unit', include: ['src/**/*.test.ts', 'scripts/**/*.test.ts'] } },
      {
        extends: true,
        test: {
          name: 'types',
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
          include: ['test/**/*.test.ts'],
          exclude: ['test/{integration,chaos}/**'],
          globalSetup: [...needsServers, './test/support/workflow-bundle-setup.ts'],
          setupFiles: quietRuntime,
          // A workflow task that the SDK drops without a cache comes again after ten seconds, and so may a second one.
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/{integration,chaos}/**/*.test.ts'],
          globalSetup: [
            ...needsServers,
            './test/support/dev-server-setup.ts',
            './test/support/workflow-bundle-setup.ts',
          ],
          setupFiles: quietRuntime,
          testTimeout: 60_000,
          // Of those that say so: each waits for the server most of its time.
          maxConcurrency: 16,
          // Worker processes start in hooks.
          hookTimeout: 60_000,
        },
      },
    ],
  },
})
