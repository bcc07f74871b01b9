import { Client, Connection } from '@temporalio/client'
import type { ConnectionOptions } from '@temporalio/client'
import { loadClientConnectConfig } from '@temporalio/envconfig'
import { ConfigError } from '../protocol/errors.js'
import { retryUntilDeadline } from './retry-until-deadline.js'

/** A client by Temporal's environment configuration; nothing is sent before its first call. @throws ConfigError */
export function connectLazily(): Client {
  const { connectionOptions, namespace } = readConfiguration()
  const { address, apiKey, tls, metadata } = connectionOptions
  const options: ConnectionOptions = {
    ...(address !== undefined && { address }),
    ...(apiKey !== undefined && { apiKey }),
    ...(tls !== undefined && { tls }),
    ...(metadata !== undefined && { metadata }),
    interceptors: [retryUntilDeadline],
  }
  const connection = Connection.lazy(options)
  return new Client({ connection, ...(namespace !== undefined && { namespace }) })
}

function readConfiguration(): ReturnType<typeof loadClientConnectConfig> {
  try {
    return loadClientConnectConfig()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigError([`Expected Temporal's environment configuration to be readable, got: ${reason}`])
  }
}

/** Where a client connects to, for people; a connection that does not say it is the caller's own. */
export function addressOf(client: Client): string {
  return client.connection instanceof Connection
    ? client.connection.options.address
    : 'the address of its client'
}
