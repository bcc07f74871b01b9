/**
 * What the tools of the MCP server do, whoever carries them: start an agent, read it, send to it, answer its requests, cancel its work.
 * Owns: who may do that with which thread, and keys. Does not own: the protocol (`mcp-server.ts`), the routes and streams that carry it, and
 * the rules of threads (`ThreadClient`), which check everything again.
 * Invariants: a thread of another account does not exist; where a person can be asked, an approval is theirs, and never that of the model that
 * calls the tool.
 */
import { randomUUID } from 'node:crypto'
import type { Answer } from '../../client/answers/check-answer.js'
import type { PendingRequest } from '../../client/answers/pending-request.js'
import type { ThreadClient } from '../../client/thread-client.js'
import type { ThreadHandle } from '../../client/thread-handle.js'
import type { Caller } from '../../policy/approval.js'
import { RequestNotFoundError, ThreadNotFoundError } from '../../protocol/errors.js'
import { withoutUndefined } from '../../protocol/values.js'
import { answerConfigErrors, ProblemError } from '../error-response.js'
import { nameKeyInConflicts, threadIdOfKey } from '../keyed-id.js'
import { FIRST_CURSOR, readState } from './agent-state.js'
import { formOf } from './answer-forms.js'
import type { AnswerForm } from './answer-forms.js'

/** Who calls, and what that needs. */
export interface ToolContext {
  readonly client: ThreadClient
  readonly caller: Caller
  /** Runs what sends a message, if the limits of the account allow for it. */
  readonly admitMessage: <T>(threadId: string, work: () => Promise<T>) => Promise<T>
  /** Its abort ends waits. */
  readonly closing: AbortSignal
}

export interface Started {
  readonly id: string
  readonly cursor: string
}

/** Starts an agent. With a key it is started once: the same call again answers the same id. */
export async function startAgent(
  { client, caller, admitMessage }: ToolContext,
  agent: string,
  { message, key }: { readonly message: string; readonly key?: string | undefined },
): Promise<Started> {
  const { account, user } = caller
  const id = key === undefined ? randomUUID() : threadIdOfKey(account, key)
  const owner = account === null ? {} : { account }
  // As over HTTP: whom it works for cannot approve where two persons have to agree.
  const options = { agent, id, message, ...owner, ...withoutUndefined({ userId: user }) }
  // A wrong configuration of Temporal is no fault of the caller, and must be found before a row is written.
  void client.temporal
  await admitMessage(id, () =>
    nameKeyInConflicts(key, () => answerConfigErrors(client, () => client.create(options))),
  )
  return { id, cursor: FIRST_CURSOR }
}

/** Reads an agent, when it has come to rest or the time is over. */
export async function getAgent(
  { client, caller, closing }: ToolContext,
  { id, ...read }: { readonly id: string } & Parameters<typeof readState>[2],
): ReturnType<typeof readState> {
  await threadOf({ client, caller }, id)
  return readState(client, id, { ...read, signal: AbortSignal.any([read.signal, closing]) })
}

/** Sends a message to an agent that was started. With a key it is sent once. */
export async function sendToAgent(
  { client, caller, admitMessage }: ToolContext,
  { id, message, key }: { readonly id: string; readonly message: string; readonly key?: string | undefined },
): Promise<{ readonly id: string; readonly status: string }> {
  const thread = await threadOf({ client, caller }, id)
  const { status } = await admitMessage(id, () =>
    (key === undefined ? thread : thread.once(key)).send(message),
  )
  return { id, status }
}

/** Stops what the agent does and removes what waits; it can be sent to again. Again it changes nothing. */
export async function cancelAgent(
  { client, caller }: ToolContext,
  { id, reason }: { readonly id: string; readonly reason?: string | undefined },
): Promise<{ readonly id: string; readonly cancelled: boolean }> {
  const thread = await threadOf({ client, caller }, id)
  const options = { queue: 'clear', ...withoutUndefined({ reason }) } as const
  const { status } = await answerConfigErrors(client, () => thread.stop(options))
  return { id, cancelled: status === 'accepted' }
}

interface Answering {
  readonly id: string
  readonly request: string
  /** @default a person is asked */
  readonly answer?: Answer | undefined
  /** Whether the client shows forms to its person. */
  readonly canAsk: boolean
  /** What the person has filled in; undefined: nobody was asked yet. */
  readonly filled: Filled | undefined
  /** The program that calls, for the record where the caller has no name. */
  readonly program: string
}

/** `refused`: the person has closed the form. */
export type Filled = { readonly content: Readonly<Record<string, unknown>> } | 'refused'

/** `ask`: the person fills this form first. `left`: nobody has answered, and the request stays open. */
export type AnswerOutcome =
  | { readonly kind: 'ask'; readonly form: AnswerForm }
  | { readonly kind: 'accepted' | 'left' }

/** Answers a request, once. @throws ProblemError 400 where neither an answer is given nor a person can be asked */
export async function answerRequest(
  { client, caller }: ToolContext,
  { id, request: requestId, answer, canAsk, filled, program }: Answering,
): Promise<AnswerOutcome> {
  const thread = await threadOf({ client, caller }, id)
  const form = canAsk ? await formFor(thread, requestId, answer) : null
  if (form !== null) {
    if (filled === undefined) return { kind: 'ask', form }
    if (filled === 'refused') return { kind: 'left' }
  }
  const given =
    form !== null && filled !== undefined && filled !== 'refused' ? form.answerOf(filled.content) : answer
  if (given === undefined)
    throw new ProblemError(
      400,
      'bad_request',
      'Expected "answer", got none, and no person can be asked here: ask yours, and give the answer.',
    )
  await thread.respond(requestId, signed(given, caller, program), { caller })
  return { kind: 'accepted' }
}

/** The form for a request that a person has to answer, or whose answer is not given. */
async function formFor(
  thread: ThreadHandle,
  requestId: string,
  answer: Answer | undefined,
): Promise<AnswerForm | null> {
  try {
    const request = await thread.request(requestId)
    return answer === undefined || isDecision(request) ? formOf(request, answer) : null
  } catch (error) {
    // The same result again is safe; a decision needs the person, who can see no request that is over.
    if (RequestNotFoundError.isInstance(error) && answer !== undefined && !('approved' in answer)) return null
    throw error
  }
}

function isDecision({ kind }: PendingRequest): boolean {
  return kind === 'approval' || kind === 'budget'
}

/** The record names the program where it knows no person. */
function signed(answer: Answer, { user }: Caller, program: string): Answer {
  if ('env' in answer) return answer
  const { by: _by, ...rest } = answer as { readonly by?: string }
  return (user === undefined ? { ...rest, by: program } : rest) as Answer
}

/** A thread that this caller may use. @throws ThreadNotFoundError */
async function threadOf(
  { client, caller: { account } }: Pick<ToolContext, 'client' | 'caller'>,
  id: string,
): Promise<ThreadHandle> {
  const thread = await client.find(id)
  if (thread === null || (account !== null && thread.account !== account)) throw new ThreadNotFoundError(id)
  return client.get(id)
}
