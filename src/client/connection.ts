import {
  Client,
  Connection,
  defaultGrpcRetryOptions,
  isGrpcServiceError,
  makeGrpcRetryInterceptor,
  NamespaceNotFoundError,
} from '@temporalio/client'
import type { ConnectionOptions } from '@temporalio/client'
import { loadClientConnectConfig } from '@temporalio/envconfig'
import { ConfigError, TemporalUnavailableError } from '../protocol/errors.js'

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
function addressOf(client: Client): string {
  return client.connection instanceof Connection
    ? client.connection.options.address
    : 'the address of its client'
}

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number]

/** Milliseconds that a last attempt has. */
const LAST_ATTEMPT = 500

/**
 * As the SDK's own retries, which may rest beyond the call's deadline, and then say "deadline exceeded". Here the last attempt
 * is made half a second before it, and the call ends with what that one met, such as "connect ECONNREFUSED".
 */
const retryUntilDeadline: Interceptor = (options, nextCall) => {
  const retries = defaultGrpcRetryOptions()
  const rest = () => Number(options.deadline ?? Infinity) - LAST_ATTEMPT - Date.now()
  const interceptor = makeGrpcRetryInterceptor({
    retryableDecider: (attempt, status) => retries.retryableDecider(attempt, status) && rest() > 0,
    delayFunction: (attempt, status) => Math.min(retries.delayFunction(attempt, status), rest()),
  })
  return interceptor(options, nextCall)
}

/** gRPC's own numbers. */
const STATUS = {
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
}

const START = 'start one with "temporal server start-dev", or set TEMPORAL_ADDRESS'

/** Temporal's errors as ours, so that none of its classes leaks; what is no error of Temporal's stays as it is. */
export function translate(
  error: unknown,
  { client, threadId }: { client: Client; threadId: string },
): unknown {
  const problem = problemOf(error, client)
  if (problem === undefined) return error
  return new TemporalUnavailableError(threadId, { address: addressOf(client), problem }, error)
}

function problemOf(error: unknown, client: Client): string | undefined {
  if (error instanceof NamespaceNotFoundError) return withoutNamespace(error.namespace)
  const status = grpcStatusOf(error)
  if (status === undefined) return undefined
  const { namespace } = client.options
  // The SDK makes a class of it for some calls only.
  if (status.code === STATUS.notFound && /^namespace\b/i.test(status.details))
    return withoutNamespace(namespace)
  if (status.code === STATUS.unavailable) return `no connection (${reasonOf(status.details)}): ${START}`
  if (status.code === STATUS.deadlineExceeded) return `no answer in time: ${START}`
  if (status.code === STATUS.permissionDenied || status.code === STATUS.unauthenticated)
    return `a refusal for the namespace "${namespace}" (${status.details}): check TEMPORAL_API_KEY and TLS`
  return `an error (${status.details})`
}

/** gRPC tells of its last attempt in the middle of its own words. */
function reasonOf(details: string): string {
  return /Last error: (?:Error: )?(.+?)\. Resolution note/.exec(details)?.[1] ?? details
}

function withoutNamespace(namespace: string): string {
  return `one without the namespace "${namespace}": create it, or set TEMPORAL_NAMESPACE`
}

interface GrpcStatus {
  readonly code: number
  readonly details: string
}

/** Whether the server does not have, or does not allow, what was asked. */
export function isRefusal(error: unknown): boolean {
  const code = grpcStatusOf(error)?.code
  return code === STATUS.unimplemented || code === STATUS.permissionDenied || code === STATUS.unauthenticated
}

/** Whether the server met what it had not thought of. */
export function isInternal(error: unknown): boolean {
  return grpcStatusOf(error)?.code === STATUS.internal
}

/** The client wraps the gRPC error of some calls and throws that of others as it is. */
function grpcStatusOf(error: unknown): GrpcStatus | undefined {
  if (isGrpcServiceError(error)) return { code: error.code, details: error.details }
  return error instanceof Error && isGrpcServiceError(error.cause) ? grpcStatusOf(error.cause) : undefined
}
