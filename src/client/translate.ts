import { isGrpcServiceError, NamespaceNotFoundError } from '@temporalio/client'
import type { Client } from '@temporalio/client'
import { TemporalUnavailableError } from '../protocol/errors.js'
import { addressOf } from './connect.js'

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
