import { fact } from '../protocol/facts.js'
import { MessageRejectedError, RequestNotFoundError } from '../protocol/errors.js'
import type { Fact } from '../protocol/facts.js'
import type { JsonValue } from '../protocol/values.js'
import { deferredChildOf } from '../store/calls/requests.js'
import type { PendingRecord } from '../store/calls/requests.js'
import { appendEvents } from '../store/events.js'
import type { Store, Writer } from '../store/store.js'
import { findThread } from '../store/threads/threads.js'
import { answerableRequest, decide, OTHER_ANSWER } from './answer-row.js'
import { microseconds } from './clock.js'
import { isOpen } from './open-thread.js'
import { hasVariables, putVariables } from './set-variables.js'
import type { VariableValues } from './set-variables.js'

interface AnsweringVariables {
  readonly threadId: string
  readonly requestId: string
  readonly values: VariableValues
}

/**
 * Stores the values that a blocked run lacks, or a subagent that waits to be started, with the answer of the request: the
 * row holds names only, for a digest of a short secret gives it away. Answers the row as it is then.
 * @throws RequestNotFoundError, MessageRejectedError for an answer of another kind, or one that leaves a subagent lacking
 */
export async function answerVariables(
  store: Store,
  { threadId, requestId, values }: AnsweringVariables,
): Promise<PendingRecord> {
  return store.write(async (tx) => {
    const request = await answerableRequest(tx, { threadId, requestId, kind: 'variables' })
    const child = deferredChildOf(request)
    const owner = child ?? threadId
    if (request.status === 'open') {
      checkAsked(request, values)
      if (child !== null) await bootChild(tx, request, { reference: child, values })
      const forGraph = child === null ? {} : ({ forGraph: true } as const)
      await putVariables(tx, store.secrets, { threadId: owner, values, ...forGraph })
    }
    if (
      request.status === 'answered' &&
      !(await hasVariables(tx, store.secrets, { threadId: owner, values }))
    )
      throw new RequestNotFoundError(threadId, {
        id: requestId,
        reason: OTHER_ANSWER,
        answered: true,
      })
    const answer = { names: Object.keys(values).toSorted() }
    const now = microseconds()
    // The run that looks again ends the requests that are open: this one is not any more.
    if ((await decide(tx, { threadId, id: requestId, answer, now })) === 'answered')
      await appendEvents(tx, { threadId, events: [supplied(requestId, child)], now })
    return { ...request, answer }
  })
}

/** An empty text is a value for `setEnv`; as the answer of a request it is a mistake that could not be mended any more. */
function checkAsked({ thread_id: threadId, id, detail }: PendingRecord, values: VariableValues): void {
  const names = Object.keys(values)
  const asked = new Set([...namesOf(detail?.['required']), ...namesOf(detail?.['missing'])])
  const empty = names.filter((name) => values[name] === '')
  const others = names.filter((name) => !asked.has(name))
  if (others.length > 0)
    throw new MessageRejectedError(
      threadId,
      `Expected only what request "${id}" asks for (${[...asked].join(', ')}), got also ${others.join(', ')}: setEnv takes any variable.`,
    )
  if (empty.length > 0)
    throw new MessageRejectedError(
      threadId,
      `Expected values for request "${id}", got an empty text for ${empty.join(', ')}: the request stays open.`,
    )
}

function namesOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}

interface Booting {
  readonly reference: string
  readonly values: VariableValues
}

/** The values are for the subagent alone, and all that it lacks, for it starts with them. */
async function bootChild(tx: Writer, request: PendingRecord, { reference, values }: Booting): Promise<void> {
  const { thread_id: threadId, id, detail } = request
  const thread = await findThread(tx, reference)
  if (thread === null || !isOpen(thread))
    throw new RequestNotFoundError(threadId, { id, reason: 'one of a subagent that has ended' })
  const missing = namesOf(detail?.['missing'])
  const lacking = missing.filter((name) => !Object.hasOwn(values, name))
  if (lacking.length > 0)
    throw new MessageRejectedError(
      threadId,
      `Expected values of all variables that request "${id}" names, got none of: ${lacking.join(', ')}.`,
    )
}

function supplied(requestId: string, child: string | null): Fact {
  const payload = { requestId, kind: 'variables', decision: 'supplied', by: null } as const
  return fact('action.resolved', payload, child === null ? undefined : { childId: child })
}
