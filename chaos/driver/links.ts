import type { ChaosServers } from './chaos-servers.js'
import { WORKERS } from './schedule.js'
import type { Target } from './schedule.js'
import { startSlowProxy } from './slow-proxy.js'
import type { SlowProxy } from './slow-proxy.js'

/** The connections of the processes of ours to the servers, by the name of the process. */
export interface Links {
  proxy(name: string, to: Target): SlowProxy
  /** Of Temporal. */
  place(name: string): { readonly address: string }
  database(name: string): { readonly database: string }
  /** Of the API, for the client. */
  readonly apiUrl: string
  stop(): Promise<void>
}

/** `apiPort`: of the API process, which may be away. */
export async function startLinks(servers: ChaosServers, apiPort: number): Promise<Links> {
  const proxies = new Map<string, SlowProxy>()
  const start = async (name: string, to: Target, port: number): Promise<void> =>
    void proxies.set(`${name} to ${to}`, await startSlowProxy(port))
  for (const name of ['client', 'api', ...Array.from({ length: WORKERS }, (_, slot) => `worker ${slot}`)]) {
    await start(name, 'store', servers.postgres.port)
    await start(name, 'temporal', servers.temporal.port)
  }
  await start('client', 'api', apiPort)
  const proxy = (name: string, to: Target): SlowProxy => {
    const found = proxies.get(`${name} to ${to}`)
    if (found === undefined) throw new Error(`Expected a connection of the fleet, got ${name} to ${to}.`)
    return found
  }
  return {
    proxy,
    place: (name) => ({ address: `127.0.0.1:${proxy(name, 'temporal').port}` }),
    database: (name) => ({ database: servers.databaseUrl(proxy(name, 'store').port) }),
    apiUrl: `http://127.0.0.1:${proxy('client', 'api').port}`,
    async stop() {
      await Promise.all([...proxies.values()].map((open) => open.stop()))
    },
  }
}
