import type { ClientConnectConfig } from '@temporalio/envconfig'
import { ConfigError, showAsOneLine } from '../protocol/errors.js'
import { NativeConnection } from './temporal-worker.js'

export interface TemporalTarget {
  readonly connection: NativeConnection
  readonly address: string
  readonly namespace: string
}

/** Connects by Temporal's environment configuration. @throws ConfigError, or one sentence when nobody answers */
export async function connectToTemporal(): Promise<TemporalTarget> {
  const { connectionOptions, namespace } = await readConfiguration()
  const address = connectionOptions.address ?? 'localhost:7233'
  try {
    const connection = await NativeConnection.connect({ ...connectionOptions, address })
    return { connection, address, namespace: namespace ?? 'default' }
  } catch (error) {
    throw showAsOneLine(
      new Error(
        `Expected a Temporal server at ${address}, got ${reasonOf(error)}: ` +
          'start one with "temporal server start-dev", or set TEMPORAL_ADDRESS.',
        { cause: error },
      ),
    )
  }
}

/** What a worker meets that is connected and cannot start: a namespace that is not there as one sentence. */
export function explained(error: unknown, { address, namespace }: TemporalTarget): unknown {
  if (!(error instanceof Error) || !/^Namespace .* was not found/.test(error.message)) return error
  return showAsOneLine(
    new Error(
      `Expected a Temporal server with the namespace "${namespace}", got ${address} without it: ` +
        'create it, or set TEMPORAL_NAMESPACE.',
      { cause: error },
    ),
  )
}

/** Loaded by need: a worker with a connection of its own starts without it. */
async function readConfiguration(): Promise<ClientConnectConfig> {
  const { loadClientConnectConfig } = await import('@temporalio/envconfig')
  try {
    return loadClientConnectConfig()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigError([`Expected Temporal's environment configuration to be readable, got: ${reason}`])
  }
}

/** The native library prints its error as a tree of Rust structures; the innermost sentence says it all. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return /(?:message|error): "([^"]+)"/.exec(text)?.[1]?.toLowerCase() ?? text
}
