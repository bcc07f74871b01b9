import { readFileSync } from 'node:fs'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { Connection, WorkflowClient } from '@temporalio/client'

import type { BenchServers } from './bench-servers.js'
import { postgresVersion } from './postgres-version.js'

/** Where and with what a figure was measured: without that it says nothing. */
export async function describeMachine(
  workflows: WorkflowClient,
  { kind, store }: BenchServers,
): Promise<readonly string[]> {
  const { serverVersion } = await workflows.workflowService.getSystemInfo({})
  const database =
    kind === 'dev'
      ? `SQLite ${process.versions['sqlite'] ?? 'unknown'}`
      : `PostgreSQL ${await postgresVersion(store.database)} (with fsync, for both)`
  return machineWith(
    `Temporal server ${serverVersion ?? 'unknown'} (${kind === 'dev' ? 'dev server' : '4 history shards'}), ` +
      `SDK ${versionOf('@temporalio/worker')}, ${database}`,
  )
}

/** The same of a bench whose clients are gone by now. */
export async function machineAt(servers: BenchServers): Promise<readonly string[]> {
  const connection = await Connection.connect({ address: servers.address })
  try {
    return await describeMachine(new WorkflowClient({ connection }), servers)
  } finally {
    await connection.close()
  }
}

/** The same of a bench on other servers, which are named by the caller. */
export function machineWith(versions: string): readonly string[] {
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB`
  return [
    `machine: ${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, ${memory}, ${process.platform} ${release()}`,
    `versions: node ${process.versions.node}, ${versions}`,
    `load average at the end: ${loadavg()
      .map((load) => load.toFixed(2))
      .join(', ')}`,
  ]
}

function versionOf(packageName: string): string {
  const file = new URL(`../node_modules/${packageName}/package.json`, import.meta.url)
  return String((JSON.parse(readFileSync(file, 'utf8')) as { version?: unknown }).version)
}
