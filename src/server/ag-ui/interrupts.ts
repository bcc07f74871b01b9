/**
 * Requests of a thread as interrupts of AG-UI, and the answers that a client gives to them.
 *
 * Owns: what a client may answer, as a JSON schema, and how that is an answer of ours. Does not own: who may answer, and whether the
 * arguments or the form fit: `respond` checks them as for any other caller.
 * Invariant: what the schema does not name is refused, never dropped.
 */
import { z } from 'zod'
import type { Answer } from '../../client/answers/check-answer.js'
import type { PendingRequest } from '../../client/index.js'
import { isObject } from '../../protocol/values.js'
import type { JsonObject, JsonValue } from '../../protocol/values.js'
import type { AgUiInterrupt } from '../../views/ag-ui/events.js'
import { ProblemError } from '../error-response.js'

/** An answer as a client sends it. */
export const resumeEntry = z
  .looseObject({
    interruptId: z.string().min(1),
    status: z.enum(['resolved', 'cancelled']),
    payload: z.unknown().optional(),
  })
  .meta({ id: 'AgUiResume' })

type ResumeEntry = z.infer<typeof resumeEntry>

/** Whether the run waits for its answer. A subagent that lacks variables waits alone. */
export function isInterrupt(request: PendingRequest): boolean {
  return request.kind !== 'variables' || request.child === undefined
}

const TEXT = { type: 'string' }
const APPROVED = { type: 'boolean' }

export function toInterrupt(request: PendingRequest): AgUiInterrupt {
  const { id } = request
  switch (request.kind) {
    case 'approval': {
      const { toolCallId, toolName, description, args, preview, expiresAt, action, answers } = request
      const editedArgs = answers.includes('arguments')
        ? { editedArgs: (request.schema ?? { type: 'object' }) as JsonObject }
        : {}
      return {
        ...{ id, reason: 'tool_call', toolCallId, message: description ?? `May "${toolName}" be called?` },
        responseSchema: objectOf({ approved: APPROVED, reason: TEXT, ...editedArgs }, ['approved']),
        ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt / 1_000).toISOString() }),
        metadata: asJson({ kind: 'approval', action, toolName, args, preview }),
      }
    }
    case 'budget': {
      const { scope, limit, most, used } = request
      return {
        ...{ id, reason: 'confirmation', message: `The budget of the ${scope} allows no more: raise it?` },
        responseSchema: objectOf({ approved: APPROVED, reason: TEXT, raise: { type: 'number' } }, [
          'approved',
        ]),
        metadata: asJson({ kind: 'budget', scope, limit, most, used }),
      }
    }
    case 'call': {
      const { toolName, args, form, connect } = request
      const message =
        connect === undefined
          ? `"${toolName}" asks for an answer.`
          : `"${toolName}" waits until you have logged in to ${connect.server}.`
      return {
        ...{ id, reason: 'input_required', toolCallId: id, message },
        responseSchema: (form ?? {}) as JsonObject,
        metadata: asJson({ kind: connect === undefined ? 'input' : 'connect', toolName, args, connect }),
      }
    }
    case 'variables': {
      const { agent, missing } = request
      const properties = Object.fromEntries(missing.map((name) => [name, TEXT]))
      return {
        ...{ id, reason: 'input_required', message: `"${agent}" lacks ${missing.join(', ')}.` },
        responseSchema: objectOf(properties, missing),
        metadata: { kind: 'variables' },
      }
    }
  }
}

function objectOf(properties: JsonObject, required: readonly string[]): JsonObject {
  return { type: 'object', properties, required: [...required], additionalProperties: false }
}

/** Without what is undefined. */
function asJson(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject
}

const ABANDONED = 'The person gave no answer.'

/** The answer to a request of this kind. @throws ProblemError for one that the schema of the interrupt does not allow */
export function toAnswer(
  kind: PendingRequest['kind'],
  { interruptId, status, payload }: ResumeEntry,
): Answer {
  if (status === 'cancelled') return abandon(kind, interruptId)
  if (kind === 'call') return { result: { status: 'success', result: (payload ?? null) as JsonValue } }
  const known = FIELDS[kind]
  const given = isObject(payload) ? payload : {}
  const others = known === undefined ? [] : Object.keys(given).filter((name) => !known.includes(name))
  if (!isObject(payload) || others.length > 0)
    throw refused(
      `Expected the payload for interrupt "${interruptId}" to be an object${known === undefined ? '' : ` of ${known.join(', ')}`}, got ${others.length > 0 ? `also ${others.join(', ')}` : 'another value'}.`,
    )
  if (kind === 'variables') return { env: given as Readonly<Record<string, string>> }
  const { editedArgs, ...answer } = given
  // The client of the thread checks its fields.
  return { ...answer, ...(editedArgs !== undefined && { arguments: editedArgs }) } as Answer
}

const FIELDS: Readonly<Partial<Record<PendingRequest['kind'], readonly string[]>>> = {
  approval: ['approved', 'reason', 'editedArgs'],
  budget: ['approved', 'reason', 'raise'],
}

function abandon(kind: PendingRequest['kind'], id: string): Answer {
  if (kind === 'call') return { result: { status: 'error', error: ABANDONED } }
  if (kind !== 'variables') return { approved: false, reason: ABANDONED }
  throw refused(`Expected values for interrupt "${id}", got "cancelled": the run cannot go on without them.`)
}

function refused(message: string): ProblemError {
  return new ProblemError(400, 'bad_request', message)
}
