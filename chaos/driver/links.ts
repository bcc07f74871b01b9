import type { ChaosServers } from './chaos-servers.js'
import { WORKERS } from './schedule.js'
import { startSlowProxy } from './slow-proxy.js'
import type { SlowProxy } from './slow-proxy.js'

/** The connections of the processes of ours to the servers, by the name of the process. */
export interface Links {
  proxy(name: string, to: 'store' | 'temporal'): SlowProxy
  /** Of Temporal. */
  place(name: string): { readonly address: string }
  database(name: string): { readonly database: string }
  stop(): Promise<void>
}

interface Pair {
  readonly store: SlowProxy
  readonly temporal: SlowProxy
}

export async function startLinks(servers: ChaosServers): Promise<Links> {
  const pairs = new Map<string, Pair>()
  for (const name of ['client', ...Array.from({ length: WORKERS }, (_, slot) => `worker ${slot}`)])
    pairs.set(name, {
      store: await startSlowProxy(servers.postgres.port),
      temporal: await startSlowProxy(servers.temporal.port),
    })
  const pair = (name: string): Pair => {
    const found = pairs.get(name)
    if (found === undefined) throw new Error(`Expected a process of the fleet, got ${name}.`)
    return found
  }
  return {
    proxy: (name, to) => pair(name)[to],
    place: (name) => ({ address: `127.0.0.1:${pair(name).temporal.port}` }),
    database: (name) => ({ database: servers.databaseUrl(pair(name).store.port) }),
    async stop() {
      for (const { store, temporal } of pairs.values()) await Promise.all([store.stop(), temporal.stop()])
    },
  }
}
