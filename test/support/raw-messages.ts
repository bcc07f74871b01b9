import { randomUUID } from 'node:crypto'

import type { Client } from '@temporalio/client'

/** A payload as the wire has it: hand-made, so that it may be wrong. */
export interface RawPayload {
  readonly metadata: Record<string, Uint8Array>
  readonly data: Uint8Array
}

export function payload(encoding: string | null, data: string): RawPayload {
  return { metadata: encoding === null ? {} : { encoding: Buffer.from(encoding) }, data: Buffer.from(data) }
}

interface RawSignal {
  readonly threadId: string
  readonly signal: string
  readonly input: RawPayload | null
}

export async function signalRaw(client: Client, { threadId, signal, input }: RawSignal): Promise<void> {
  await client.connection.workflowService.signalWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId: threadId },
    signalName: signal,
    requestId: randomUUID(),
    ...(input !== null && { input: { payloads: [input] } }),
  })
}

interface RawQuery {
  readonly threadId: string
  readonly query: string
  readonly input: RawPayload | null
}

/** @returns the first payload of the answer, parsed */
export async function queryRaw(client: Client, { threadId, query, input }: RawQuery): Promise<unknown> {
  const { queryResult } = await client.connection.workflowService.queryWorkflow({
    namespace: client.options.namespace,
    execution: { workflowId: threadId },
    query: { queryType: query, ...(input !== null && { queryArgs: { payloads: [input] } }) },
  })
  return JSON.parse(Buffer.from(queryResult?.payloads?.[0]?.data ?? []).toString())
}

interface RawStart {
  readonly threadId: string
  readonly taskQueue: string
  readonly input: RawPayload | null
  /** Arguments after the first one. */
  readonly more?: readonly RawPayload[]
}

export async function startRaw(
  client: Client,
  { threadId, taskQueue, input, more = [] }: RawStart,
): Promise<void> {
  await client.connection.workflowService.startWorkflowExecution({
    namespace: client.options.namespace,
    workflowId: threadId,
    workflowType: { name: 'agentThread' },
    taskQueue: { name: taskQueue },
    requestId: randomUUID(),
    ...(input !== null && { input: { payloads: [input, ...more] } }),
  })
}

interface RawUpdate {
  readonly threadId: string
  readonly update: string
  readonly input: RawPayload | null
}

/** @returns the type of the failure with which it was refused, or null if it was taken */
export async function updateRaw(
  client: Client,
  { threadId, update, input }: RawUpdate,
): Promise<string | null> {
  const { outcome } = await client.connection.workflowService.updateWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId: threadId },
    waitPolicy: { lifecycleStage: COMPLETED },
    request: {
      meta: { updateId: randomUUID(), identity: 'test' },
      input: { name: update, ...(input !== null && { args: { payloads: [input] } }) },
    },
  })
  const { failure } = outcome ?? {}
  if (failure == null) return null
  return failure.applicationFailureInfo?.type ?? failure.message ?? 'a failure without a type'
}

/** Of `UpdateWorkflowExecutionLifecycleStage`. */
const COMPLETED = 3
