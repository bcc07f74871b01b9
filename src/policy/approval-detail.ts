/**
 * What the row of a request for an approval holds: what a person is shown, who may answer, and what they have given.
 */
import type { JSONSchema7 } from '@ai-sdk/provider'
import type { Connect } from '../protocol/payloads/governance.js'
import type { ToolFailure } from '../protocol/payloads/tool-failure.js'
import { isObject } from '../protocol/values.js'
import type { JsonObject, JsonValue } from '../protocol/values.js'
import type { ActionKind } from '../protocol/event-codes.js'
import type { CombinedApproval } from './approval.js'
import type { PreviewPart } from './preview.js'
import { schemaProblem } from './schema-problem.js'

/** What a person is shown who is asked, and who may answer. */
export interface Question {
  readonly kind: ActionKind
  /** Those of a tool are checked; those of anything else are as they were written. */
  readonly arguments: unknown
  readonly description?: string
  /** The JSON schema of the arguments, for a form; left out: a tool has none, and of anything else they are not known. */
  readonly schema?: JSONSchema7
  readonly preview?: readonly PreviewPart[]
  readonly approval: CombinedApproval
}

/** The JSON in the row of a request for an approval; secret fields of its arguments are hidden. */
export interface ApprovalDetail extends Question {
  readonly arguments: JsonValue
  /** The user for whom the thread works. */
  readonly requester: string | null
}

/** Whether a person may give other arguments. */
export function takesArguments({ kind, schema }: Pick<Question, 'kind' | 'schema'>): boolean {
  return kind === 'tool' || schema !== undefined
}

interface RequestRow {
  readonly kind: string
  readonly detail: JsonObject | null
}

/** The detail of a request; null for one of another kind. */
export function approvalDetailOf({ kind, detail }: RequestRow): ApprovalDetail | null {
  // Written by `requestApproval`: the store's boundary.
  return kind === 'approval' && detail !== null ? (detail as unknown as ApprovalDetail) : null
}

/** The JSON schema of the result that a request of a pending call asks for; undefined: any result. */
export function formOfRequest({ kind, detail }: RequestRow): JSONSchema7 | undefined {
  // Written by `commitPending`: the store's boundary.
  return kind === 'call' ? (detail?.['form'] as JSONSchema7 | undefined) : undefined
}

/** The login that a request of a call waits for; null: it waits for something else. */
export function connectOfRequest({ kind, detail }: RequestRow): Connect | null {
  // Written by the activity of the call: the store's boundary.
  return kind === 'call' && isObject(detail?.['connect']) ? (detail['connect'] as unknown as Connect) : null
}

/** The failure of a tool for which a person is asked to answer; null: it asks by itself. */
export function failureOfRequest({ detail }: Pick<RequestRow, 'detail'>): ToolFailure | null {
  // Written by the activity of the call: the store's boundary.
  return isObject(detail?.['failure']) ? (detail['failure'] as unknown as ToolFailure) : null
}

/** Why the result of a person does not fit the form of its request. An error needs no form. */
export function formProblem(request: RequestRow, result: JsonValue): string | undefined {
  const form = formOfRequest(request)
  if (form === undefined || !isObject(result) || result['status'] !== 'success') return undefined
  return schemaProblem(form, (result['result'] ?? null) as JsonValue)
}

/** What a person has given with an answer, beyond a yes or no: the JSON in the row of the request. */
export interface ApprovalAnswer {
  /** In the place of those that the model wrote. */
  readonly arguments?: JsonObject
  /** A `ToolResult` in the tool's place, for a call that is not made. */
  readonly result?: JsonObject
}
