import { readFileSync } from 'node:fs'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { Connection, WorkflowClient } from '@temporalio/client'

/** Where and with what a figure was measured: without that it says nothing. */
export async function describeMachine(workflows: WorkflowClient): Promise<readonly string[]> {
  const server = await workflows.workflowService.getSystemInfo({})
  return machineWith(
    `Temporal server ${server.serverVersion ?? 'unknown'} (dev server), ` +
      `SDK ${versionOf('@temporalio/worker')}, SQLite ${process.versions['sqlite'] ?? 'unknown'}`,
  )
}

/** The same of a bench whose clients are gone by now. */
export async function machineAt(address: string): Promise<readonly string[]> {
  const connection = await Connection.connect({ address })
  try {
    return await describeMachine(new WorkflowClient({ connection }))
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
