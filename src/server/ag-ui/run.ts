/**
 * A run of AG-UI on a thread: what it does, and the events that its client hears.
 *
 * Owns: the answers and messages of an input, where the run begins in the log, and the snapshots and interrupts that the view says are due.
 * Does not own: who may (`ag-ui-routes.ts`), and what is said of an event (`src/views/ag-ui`).
 * Invariants: the same input again changes nothing: its client gets the transcript and what is left of the run. The place in the log is
 * read before anything is sent, so nothing that happens is missed.
 */
import type { Caller as PolicyCaller } from '../../policy/approval.js'
import { isRunEnd } from '../../protocol/facts.js'
import type { ThreadEvent } from '../../protocol/events.js'
import { parsePosition } from '../../client/events/follow-events.js'
import { stateAt } from '../../client/events/follow-view.js'
import { readEventPage } from '../../client/events/event-page.js'
import type { PendingRequest } from '../../client/index.js'
import { readTranscriptAt } from '../../client/reads/transcript-at.js'
import type { TranscriptAt } from '../../client/reads/transcript-at.js'
import type { ClientContext } from '../../client/client-context.js'
import type { ThreadClient } from '../../client/thread-client.js'
import { contextOf } from '../../client/thread-client.js'
import { findRequestKind } from '../../client/answers/pending-request.js'
import { agUiView, terminalOf } from '../../views/ag-ui/ag-ui.js'
import type { AgUiBeginning, AgUiOutput, InterruptDue, SnapshotDue } from '../../views/ag-ui/ag-ui.js'
import { AG_UI_VERSION } from '../../views/ag-ui/events.js'
import type { AgUiEvent, AgUiRun } from '../../views/ag-ui/events.js'
import { messagesOfRows, openCallsOf } from '../../views/ag-ui/messages.js'
import type { AgUiMessage } from '../../views/ag-ui/messages.js'
import { ProblemError } from '../error-response.js'
import { isInterrupt, toAnswer, toInterrupt } from './interrupts.js'
import { hasHistory, ignoredOf, newMessagesOf } from './input.js'
import type { NewInput, RunInput } from './input.js'

/** A run that has begun: what its client hears first, and where the rest begins. */
export interface BegunRun {
  readonly first: readonly AgUiEvent[]
  /** Null: the first events have its end. */
  readonly rest: AgUiBeginning | null
  readonly sequence: number
  /** The thread worked before: what it has told of that is read first. */
  readonly isJoined: boolean
}

interface Place {
  readonly client: ThreadClient
  readonly threadId: string
  /** As the client names run and thread. */
  readonly run: AgUiRun
}

/** Answers interrupts, sends messages, and begins the run. @throws what `respond` and `send` throw, ProblemError */
export async function beginRun(
  place: Place,
  input: RunInput,
  {
    caller,
    send,
  }: { readonly caller: PolicyCaller; readonly send: (messages: readonly NewInput[]) => Promise<void> },
): Promise<BegunRun> {
  const { client, threadId } = place
  const context = contextOf(client)
  const thread = client.get(threadId)
  const messages = newMessagesOf(input)
  const before = await readTranscriptAt(context, { threadId })
  const fresh: NewInput[] = []
  for (const one of messages) if ((await thread.message(one.message.id)) === null) fresh.push(one)
  const open = await listInterrupts(client, threadId)
  const resumed = await resume(place, input, { open, caller })
  if (resumed === 'none' && open.length > 0 && fresh.length > 0)
    throw new ProblemError(
      409,
      'thread_busy',
      `Expected "resume" with an answer to ${open.map(({ id }) => `"${id}"`).join(', ')}, got new input: the thread waits for a person.`,
    )
  // Also those that are known: with other content they are refused.
  if (messages.length > 0) await send(messages)
  if (fresh.length === 0 && resumed !== 'answered') return joinRun(place, input)
  return newRun(place, input, { before, messages, fresh })
}

interface Sent {
  readonly before: TranscriptAt
  readonly messages: readonly NewInput[]
  readonly fresh: readonly NewInput[]
}

function newRun({ run }: Place, input: RunInput, { before, messages, fresh }: Sent): BegunRun {
  const known = messagesOfRows(before.rows)
  const own = new Set(messages.map(({ message }) => message.id))
  const awaited = Object.fromEntries(fresh.map(({ message, text }) => [message.id, text]))
  const mine = fresh.map(({ message: { id }, text }): AgUiMessage => ({ id, role: 'user', content: text }))
  const isKnown = hasHistory(input, { known, own })
  const { sequence } = before
  return {
    first: [
      started(run, input),
      ...ignoredEvents(input),
      ...(isKnown ? [] : replaceAll([...known, ...mine])),
    ],
    rest: { ...run, from: sequence, awaited, calls: openCallsOf(known) },
    ...{ sequence, isJoined: before.isBusy },
  }
}

/** Begins with the transcript, and goes on with what the thread does; where it rests, the run ends as the thread's last one did. */
export async function joinRun(place: Place, input: RunInput | null, after?: string): Promise<BegunRun> {
  const { client, threadId, run } = place
  const context = contextOf(client)
  const position = after === undefined ? null : parsePosition(after)
  const before = await readTranscriptAt(context, { threadId })
  if (position !== null && position.sequence > before.sequence)
    throw new ProblemError(
      400,
      'bad_request',
      'Expected "after" to be a cursor of this thread, got one of events that have not happened.',
    )
  const begun = [started(run, input), ...(input === null ? [] : ignoredEvents(input))]
  const open = await listInterrupts(client, threadId)
  if (open.length > 0) {
    // The calls that are asked about are in a transcript that is read behind their requests.
    const asking = await readTranscriptAt(context, { threadId })
    return endedRun(begun, asking, interruptOf(run, open, []))
  }
  if (before.isBusy) return joinedRun(begun, run, before)
  const { sequence } = before
  return endedRun(
    begun,
    before,
    await lastEnd(context, { run, threadId, sequence, after: position?.sequence }),
  )
}

function endedRun(begun: readonly AgUiEvent[], { rows, sequence }: TranscriptAt, end: AgUiEvent): BegunRun {
  return {
    first: [...begun, ...replaceAll(messagesOfRows(rows)), end],
    ...{ rest: null, sequence, isJoined: false },
  }
}

/** Goes on from that transcript. A message that is under way comes anew, from its beginning. */
export function joinedRun(
  begun: readonly AgUiEvent[],
  run: AgUiRun,
  { rows, waiting, sequence }: Omit<TranscriptAt, 'isBusy'>,
): BegunRun {
  const known = messagesOfRows(rows)
  const awaited = Object.fromEntries(waiting.map(({ id }) => [id, null]))
  return {
    first: [...begun, ...replaceAll(known)],
    rest: { ...run, from: sequence, awaited, calls: openCallsOf(known) },
    ...{ sequence, isJoined: true },
  }
}

interface Resuming {
  readonly open: readonly PendingRequest[]
  readonly caller: PolicyCaller
}

/** `again`: all of it was answered so before. @throws ProblemError, and what `respond` throws */
async function resume(
  { client, threadId }: Place,
  { resume: entries = [] }: RunInput,
  { open, caller }: Resuming,
): Promise<'none' | 'answered' | 'again'> {
  if (entries.length === 0) return 'none'
  const ids = new Set(entries.map(({ interruptId }) => interruptId))
  const missing = open.filter(({ id }) => !ids.has(id)).map(({ id }) => `"${id}"`)
  const isNew = open.some(({ id }) => ids.has(id))
  if (ids.size < entries.length || (isNew && missing.length > 0))
    throw new ProblemError(
      400,
      'bad_request',
      `Expected "resume" to have one answer to each open interrupt, got ${missing.length > 0 ? `none to ${missing.join(', ')}` : 'two to one'}.`,
    )
  const answers = await Promise.all(
    entries.map(async (entry) => {
      const asked = { threadId, requestId: entry.interruptId }
      const kind = await findRequestKind(contextOf(client), asked)
      if (kind === null)
        throw new ProblemError(
          404,
          'request_not_found',
          `Expected the id of an interrupt of this thread, got "${entry.interruptId}".`,
        )
      return [entry.interruptId, toAnswer(kind, entry)] as const
    }),
  )
  for (const [id, answer] of answers) await client.get(threadId).respond(id, answer, { caller })
  return isNew ? 'answered' : 'again'
}

async function listInterrupts(client: ThreadClient, threadId: string): Promise<readonly PendingRequest[]> {
  const { requests } = await client.pendingPage({ threadId })
  return requests.filter(isInterrupt)
}

function started({ threadId, runId }: AgUiRun, input: RunInput | null): AgUiEvent {
  return {
    ...{ type: 'RUN_STARTED', threadId, runId, protocolVersion: AG_UI_VERSION },
    ...(input?.parentRunId !== undefined && { parentRunId: input.parentRunId }),
  }
}

function ignoredEvents(input: RunInput): readonly AgUiEvent[] {
  const value = ignoredOf(input)
  return value === null ? [] : [{ type: 'CUSTOM', name: 'everthread.ignored', value }]
}

function snapshotOf(messages: readonly AgUiMessage[]): AgUiEvent {
  return { type: 'MESSAGES_SNAPSHOT', messages }
}

/**
 * Three snapshots: a client leaves what it has where it is, so it has to forget that first, whose order may be another. It keeps reasoning
 * unless a snapshot has some, which the second one makes a message that the third leaves out.
 */
function replaceAll(messages: readonly AgUiMessage[]): readonly AgUiEvent[] {
  const id = 'everthread:nothing'
  return [
    snapshotOf([{ id, role: 'reasoning', content: '' }]),
    snapshotOf([{ id, role: 'assistant', content: '' }]),
    snapshotOf(messages),
  ]
}

function interruptOf(
  { threadId, runId }: AgUiRun,
  open: readonly PendingRequest[],
  usage: InterruptDue['usage'],
): AgUiEvent {
  const outcome = { type: 'interrupt', interrupts: open.map(toInterrupt) } as const
  return { type: 'RUN_FINISHED', threadId, runId, outcome, ...(usage.length > 0 && { usage }) }
}

interface Ending {
  readonly run: AgUiRun
  readonly threadId: string
  readonly sequence: number
  readonly after: number | undefined
}

const NEVER_RAN = 'nothing_to_do'

const PAGE = 200

/** How the run ended that its reader was in, or else the last one; a thread that never ran has ended well. */
async function lastEnd(
  context: ClientContext,
  { run, threadId, sequence, after }: Ending,
): Promise<AgUiEvent> {
  const store = await context.store()
  const read = (from: number) =>
    store.read((db) =>
      readEventPage(db, { threadId, runtimeId: store.id, sequence: from, delta: null, bare: PAGE }),
    )
  const ended = (event: { readonly type: string; readonly payload: object }): AgUiEvent => {
    const type = event.type.replace('run.', '') as 'completed' | 'failed' | 'cancelled'
    return terminalOf(run, { type, code: (event.payload as { readonly reason: string }).reason })
  }
  for (let at = after ?? sequence; after !== undefined && at < sequence; at += PAGE) {
    const found = (await read(at)).events.find(({ type }) => isRunEnd(type))
    if (found !== undefined) return ended(found)
  }
  for (let at = sequence; at > 0; at -= PAGE) {
    const found = (await read(Math.max(0, at - PAGE))).events.findLast(({ type }) => isRunEnd(type))
    if (found !== undefined) return ended(found)
  }
  return terminalOf(run, { type: 'completed', code: NEVER_RAN })
}

/** An event with the cursor of a reader that has it. */
export interface AgUiFrame {
  readonly id: string
  readonly type: string
  readonly data: AgUiEvent
}

/** The events of a run until its end, made of those of the thread from `sequence` on. */
export async function* framesOf(
  { client, threadId, run }: Place,
  { first, rest, sequence, isJoined }: BegunRun,
  events: AsyncIterable<ThreadEvent>,
): AsyncGenerator<AgUiFrame, void> {
  let id = String(sequence)
  for (const data of first) yield { id, type: data.type, data }
  if (rest === null) return
  const view = agUiView(rest)
  // What the run of ours that is under way has told so far.
  const told = { threadId, sequence: rest.from }
  let state = isJoined ? await stateAt(await contextOf(client).store(), view, told) : view.begin
  for await (const event of events) {
    const [next, outputs] = view.take(state, event)
    state = next
    const said: AgUiEvent[] = []
    for (const output of outputs) said.push(...(await resolveDue({ client, threadId, run }, output)))
    for (const [index, data] of said.entries())
      yield { id: index === said.length - 1 ? event.cursor : id, type: data.type, data }
    id = event.cursor
    if (said.some(({ type }) => type === 'RUN_FINISHED' || type === 'RUN_ERROR')) return
  }
}

/** What the view cannot say alone. */
async function resolveDue(place: Place, output: AgUiOutput): Promise<readonly AgUiEvent[]> {
  if (output.type === 'SNAPSHOT_DUE') return [await resolveSnapshot(place, output)]
  if (output.type !== 'INTERRUPT_DUE') return [output]
  const { client, threadId, run } = place
  const open = await listInterrupts(client, threadId)
  // Somebody else was faster: the thread goes on.
  if (open.length === 0) return []
  const { sequence, closing, usage } = output
  const events: AgUiEvent[] = []
  for (const one of closing) events.push(...(await resolveDue(place, one)))
  const snapshot = await resolveSnapshot(place, { type: 'SNAPSHOT_DUE', sequence, more: [] })
  return [...events, snapshot, interruptOf(run, open, usage)]
}

async function resolveSnapshot(
  { client, threadId }: Place,
  { sequence, more }: SnapshotDue,
): Promise<AgUiEvent> {
  const { rows } = await readTranscriptAt(contextOf(client), { threadId, sequence })
  return snapshotOf([...messagesOfRows(rows), ...more])
}
