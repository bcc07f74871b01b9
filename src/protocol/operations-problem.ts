import { LIMITS } from './limits.js'
import { isObject, messageIdProblem, queueToolProblem } from './message-problems.js'
import type { ToldOperation } from './operations.js'

type Fields = Readonly<Record<string, unknown>>

/** What each kind of operation of another thread has to carry. */
const FITS: Readonly<Record<ToldOperation['kind'], (operation: Fields) => boolean>> = {
  queue_message: ({ id, role }) => isId(id) && (role === 'user' || role === 'assistant'),
  queue_tool: ({ id, name }) => queueToolProblem({ toolCallId: id, name }) === undefined,
  schedule_effect: ({ id, dueAt }) => isId(id) && Number.isFinite(dueAt),
  remove_effect: ({ id }) => isId(id),
  remove_queued: ({ id }) => isId(id),
  set_env: () => true,
  terminate: () => true,
}

/** Says what is wrong with the input of an `operations` signal, or nothing: one bad operation spoils all. */
export function operationsProblem(input: unknown): string | undefined {
  const operations = isObject(input) ? input['operations'] : undefined
  if (Array.isArray(operations) && operations.length <= LIMITS.waitingTells && operations.every(fits))
    return undefined
  return `Expected { operations }, a list of at most ${LIMITS.waitingTells} things that a thread may do to another.`
}

function fits(operation: unknown): boolean {
  if (!isObject(operation)) return false
  const { kind } = operation
  // A kind of a later version is none that this one may apply.
  return (
    typeof kind === 'string' && Object.hasOwn(FITS, kind) && FITS[kind as ToldOperation['kind']](operation)
  )
}

function isId(value: unknown): boolean {
  return messageIdProblem(value) === undefined
}
