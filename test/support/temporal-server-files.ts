import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from './free-port.js'
import type { TemporalDatabases } from './temporal-databases.js'

/** The four services of one Temporal server process. */
const SERVICES = ['frontend', 'history', 'matching', 'worker'] as const
/** As many as the machines of tests have use for; the number can never change in a database. */
const HISTORY_SHARDS = 4

/** Where a server listens, each time that it is started. */
export type TemporalPorts = Readonly<
  Record<(typeof SERVICES)[number], { readonly grpcPort: number; readonly membershipPort: number }>
>

interface TemporalFiles {
  readonly folder: string
  readonly datastores: TemporalDatabases['datastores']
  readonly ports: TemporalPorts
  readonly dynamicConfig: Readonly<Record<string, unknown>>
}

/** What a dev server is told by its flags, for a server that is not told by flags. */
export interface DevServerTuning {
  readonly dynamicConfig: Readonly<Record<string, unknown>>
  /** Name and type: `{ ThreadAgent: 'Keyword' }`. */
  readonly searchAttributes: Readonly<Record<string, string>>
}

/** The poll rates and search attributes of `scripts/dev/dev-server-flags.txt`, so that both servers are tuned as one. */
export function devServerTuning(): DevServerTuning {
  const text = readFileSync(new URL('../../scripts/dev/dev-server-flags.txt', import.meta.url), 'utf8')
  const valuesOf = (flag: string): readonly (readonly [string, string])[] =>
    [...text.matchAll(new RegExp(`^--${flag}=([^=\\n]+)=(.+)$`, 'gm'))].map(([, name = '', value = '']) => [
      name,
      value,
    ])
  return {
    dynamicConfig: Object.fromEntries(
      valuesOf('dynamic-config-value').map(([name, value]) => [name, JSON.parse(value) as unknown]),
    ),
    searchAttributes: Object.fromEntries(valuesOf('search-attribute')),
  }
}

/** Ports that nothing listens on at the moment. */
export async function freeTemporalPorts(): Promise<TemporalPorts> {
  const taken = new Set<number>()
  const another = async (): Promise<number> => {
    const port = await freePort()
    if (taken.has(port)) return another()
    taken.add(port)
    return port
  }
  const ports: Partial<Record<string, { grpcPort: number; membershipPort: number }>> = {}
  for (const service of SERVICES)
    ports[service] = { grpcPort: await another(), membershipPort: await another() }
  return ports as TemporalPorts
}

/** Writes `server.yaml` and the dynamic configuration that it names; both are JSON, which is YAML too. */
export async function writeTemporalFiles(files: TemporalFiles): Promise<void> {
  const dynamic = join(files.folder, 'dynamic.yaml')
  const values = Object.entries(files.dynamicConfig).map(([name, value]) => [name, [{ value }]])
  await writeFile(dynamic, JSON.stringify(Object.fromEntries(values)))
  await writeFile(join(files.folder, 'server.yaml'), JSON.stringify(serverConfiguration(files, dynamic)))
}

function serverConfiguration({ datastores, ports }: TemporalFiles, dynamic: string): unknown {
  return {
    log: { stdout: true, level: 'error' },
    persistence: {
      defaultStore: 'default',
      visibilityStore: 'visibility',
      numHistoryShards: HISTORY_SHARDS,
      datastores,
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' } },
    services: Object.fromEntries(
      SERVICES.map((service) => [service, { rpc: { ...ports[service], bindOnLocalHost: true } }]),
    ),
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: {
          enabled: true,
          initialFailoverVersion: 1,
          rpcName: 'frontend',
          rpcAddress: `127.0.0.1:${ports.frontend.grpcPort}`,
        },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    dynamicConfigClient: { filepath: dynamic, pollInterval: '10s' },
  }
}
