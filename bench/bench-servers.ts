import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startDevServer } from '../test/support/servers.js'

export interface BenchServers {
  readonly address: string
  /** A database and a blob folder of their own. */
  readonly store: { readonly database: string; readonly blobs: string }
}

/** Runs `work` with a tuned dev server and an empty store, installs the server if it is missing, and removes both. */
export async function withServers<T>(work: (servers: BenchServers) => Promise<T>): Promise<T> {
  installServers()
  const folder = await mkdtemp(join(tmpdir(), 'everthread-bench-'))
  try {
    // Kept in a file, as `up` does: a server in memory is quicker than any that keeps what it is told.
    const server = await startDevServer({ dbFilename: join(folder, 'temporal.db') })
    try {
      const store = { database: join(folder, 'threads.db'), blobs: join(folder, 'blobs') }
      return await work({ address: server.address, store })
    } finally {
      await server.stop()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Its progress is for people: the figures have standard output for themselves. */
function installServers(): void {
  execFileSync('./temporal-dev.sh', ['install-servers'], {
    cwd: new URL('..', import.meta.url),
    stdio: ['ignore', process.stderr.fd, 'inherit'],
  })
}
