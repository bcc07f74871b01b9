import {
  Client,
  Connection,
  NamespaceNotFoundError,
  defaultGrpcRetryOptions,
  isGrpcServiceError,
  makeGrpcRetryInterceptor,
} from '@temporalio/client'
import type { ConnectionOptions } from '@temporalio/client'
import { loadClientConnectConfig } from '@temporalio/envconfig'

import { ConfigError, TemporalUnavailableError } from '../protocol/errors.js'
import { SEARCH_ATTRIBUTES } from '../protocol/messages.js'

/** Makes a client from Temporal's environment configuration; nothing is sent before its first call. @throws ConfigError */
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

/** The address of a client, for people. Only the SDK's own `Connection` has one to show; a caller may bring another kind. */
function addressOf(client: Client): string {
  return client.connection instanceof Connection
    ? client.connection.options.address
    : 'the address of its client'
}

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number]

/** How long the last attempt may take, in milliseconds. */
const LAST_ATTEMPT = 500

/**
 * Retries as the SDK does, whose pauses may last beyond the call's deadline, so that the call fails with "deadline exceeded".
 * Here the last attempt begins half a second before the deadline, and the call fails with the error of that attempt, such as
 * "connect ECONNREFUSED".
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

/** The status codes of gRPC. */
export const GRPC = {
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
}

const START = 'start one with "temporal server start-dev", or set TEMPORAL_ADDRESS'

/** Turns an error of Temporal into one of ours, so that none of its classes leaks; any other error stays as it is. */
export function translate(
  error: unknown,
  { client, threadId }: { client: Client; threadId: string },
): unknown {
  const problem = findProblem(error, client)
  if (problem === undefined) return error
  return new TemporalUnavailableError(threadId, { address: addressOf(client), problem }, error)
}

function findProblem(error: unknown, client: Client): string | undefined {
  if (error instanceof NamespaceNotFoundError) return describeMissingNamespace(error.namespace)
  const status = grpcStatusOf(error)
  if (status === undefined) return undefined
  const { namespace } = client.options
  // The SDK throws NamespaceNotFoundError for some calls only.
  if (status.code === GRPC.notFound && /^namespace\b/i.test(status.details))
    return describeMissingNamespace(namespace)
  if (status.code === GRPC.unavailable) return `no connection (${readLastError(status.details)}): ${START}`
  if (status.code === GRPC.deadlineExceeded) return `no answer in time: ${START}`
  if (status.code === GRPC.permissionDenied || status.code === GRPC.unauthenticated)
    return `a refusal for the namespace "${namespace}" (${status.details}): check TEMPORAL_API_KEY and TLS`
  return `an error (${status.details})`
}

/** gRPC puts the error of its last attempt into the middle of its own text. */
function readLastError(details: string): string {
  return /Last error: (?:Error: )?(.+?)\. Resolution note/.exec(details)?.[1] ?? details
}

function describeMissingNamespace(namespace: string): string {
  return `one without the namespace "${namespace}": create it, or set TEMPORAL_NAMESPACE`
}

interface GrpcStatus {
  readonly code: number
  readonly details: string
}

/**
 * Whether the server does not offer a call or does not allow it, which another attempt does not change. A caller without
 * valid credentials is not refused in this sense: the credentials may be renewed.
 */
export function isRefusal(error: unknown): boolean {
  const cause = TemporalUnavailableError.isInstance(error) ? error.cause : error
  const code = grpcStatusOf(cause)?.code
  return code === GRPC.unimplemented || code === GRPC.permissionDenied
}

/** The SDK wraps the gRPC error of some calls and throws the error of others unchanged. */
export function grpcStatusOf(error: unknown): GrpcStatus | undefined {
  if (isGrpcServiceError(error)) return { code: error.code, details: error.details }
  return error instanceof Error && isGrpcServiceError(error.cause) ? grpcStatusOf(error.cause) : undefined
}

/** Temporal's numbers of the two attribute types that are used. */
const TYPES = { Keyword: 2, KeywordList: 7 } as const

/**
 * Lists those of our search attributes that are registered in the namespace with the right type: any other one would fail
 * the workflow tasks of a thread for ever. A server that refuses to list them counts as one that has none.
 */
export async function listRegisteredSearchAttributes(
  client: Client,
  threadId: string,
): Promise<readonly string[]> {
  const { namespace } = client.options
  const registered = await listSearchAttributes(client, threadId)
  if (registered === null) return []
  const missing = findMissing(registered)
  if (missing.length > 0)
    process.emitWarning(formatWarning(missing, namespace), { code: 'EVERTHREAD_SEARCH_ATTRIBUTES' })
  return ours.filter((attribute) => !missing.includes(attribute)).map(({ name }) => name)
}

/** Lists our search attributes that the namespace lacks, with the number of their type. */
export async function listMissingSearchAttributes(
  client: Client,
): Promise<readonly { readonly name: string; readonly type: number }[]> {
  const { namespace } = client.options
  const { customAttributes } = await client.connection.operatorService.listSearchAttributes({ namespace })
  return findMissing(customAttributes).map(({ name, type }) => ({ name, type: TYPES[type] }))
}

function findMissing(registered: Readonly<Record<string, unknown>>): readonly SearchAttribute[] {
  return ours.filter(({ name, type }) => registered[name] !== TYPES[type])
}

interface SearchAttribute {
  readonly name: string
  readonly type: keyof typeof TYPES
}

const ours: readonly SearchAttribute[] = Object.values(SEARCH_ATTRIBUTES).map((name) => ({
  name,
  type: name === SEARCH_ATTRIBUTES.tags ? 'KeywordList' : 'Keyword',
}))

async function listSearchAttributes(
  client: Client,
  threadId: string,
): Promise<Record<string, unknown> | null> {
  const { namespace } = client.options
  try {
    return (await client.connection.operatorService.listSearchAttributes({ namespace })).customAttributes
  } catch (error) {
    if (isRefusal(error)) return null
    throw translate(error, { client, threadId })
  }
}

function formatWarning(missing: readonly SearchAttribute[], namespace: string): string {
  const flags = missing.map(({ name, type }) => `--name ${name} --type ${type}`).join(' ')
  return (
    `Threads are not listed by ${missing.map(({ name }) => name).join(', ')} in Temporal, where these search ` +
    `attributes are not registered. To add them: temporal operator search-attribute create --namespace ${namespace} ${flags}`
  )
}
