/**
 * What an MCP client is told of an agent that it has started: whether it works, asks or has ended, what it says, and what it asks.
 * Owns: the wait for a change that matters, the bounds of an answer, and the cursor. Does not own: when a thread is idle
 * (`waitUntilIdle`), and how a request is answered (`answer-forms.ts`).
 * Invariants: an answer is bounded, and what does not fit comes with its cursor in the next one; a wait ends with a request of any thread
 * of the tree, and it is no work of its own: a client that leaves stops nothing.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import type { ThreadRequest, ThreadSummary } from '../../client/lists/list-threads.js'
import type { ThreadClient } from '../../client/thread-client.js'
import type { ThreadHandle } from '../../client/thread-handle.js'
import type { RunResult } from '../../client/reads/run-result.js'
import { ThreadNotFoundError, WaitTimeoutError } from '../../protocol/errors.js'
import { runOutcome } from '../../protocol/status.js'
import { ProblemError } from '../error-response.js'
import { answerSchema, questionOf } from './answer-forms.js'

/** Seconds of a wait, below a minute, after which clients give a call up. */
export const WAIT = { usual: 20, longest: 50 } as const

/** Characters of text in one answer: some clients refuse results of 25,000 tokens. */
const TEXT = 20_000
/** Requests of one answer; the oldest first. */
const REQUESTS = 5
/** Characters of the arguments or the schema of a request, and of a structured output. */
const PART = 8_000
/** How often requests of subagents are looked up, in milliseconds: no event of the thread itself announces them. */
const LOOK = 1_000
/** Rows of the transcript that are read at once, and so often at most. */
const [ROWS, PAGES] = [50, 10]

const request = z.object({
  thread: z.string().describe('The `id` to give to agent_answer.'),
  request: z.string().describe('The `request` to give to agent_answer.'),
  kind: z.string().describe('approval, budget, call or variables.'),
  question: z.string(),
  arguments: z.unknown().describe('Of the call that it is about.'),
  answer: z.record(z.string(), z.unknown()).describe('The JSON Schema of `answer`.'),
  expires: z.string().nullable().describe('When it is denied if nobody has answered; ISO 8601.'),
})

/** The state of an agent, in answers of `agent_get`. */
export const agentState = z.object({
  id: z.string(),
  agent: z.string(),
  status: z
    .enum(['working', 'needs_answer', 'finished', 'failed', 'stopped'])
    .describe('needs_answer: it waits for agent_answer. Each but working may change with agent_send.'),
  detail: z.string().describe('Why, or what it does now.'),
  text: z.string().describe('What it has said: behind `after`, else its last answer.'),
  more: z.boolean().describe('More text is there: call again with `after` as the cursor.'),
  output: z.unknown().describe('Its answer as structured data, if the agent gives one; else null.'),
  requests: z.array(request),
  moreRequests: z.boolean(),
  cursor: z.string().describe('Give it as `after` to get only what is new.'),
})

type AgentState = z.infer<typeof agentState>

interface ReadState {
  readonly after?: string | undefined
  /** Seconds. */
  readonly wait?: number | undefined
  /** Ends the wait: the state of then is answered. */
  readonly signal: AbortSignal
  /** Is told about once a second that it goes on. */
  readonly onWait?: (status: string) => void
}

/** Reads the state of a thread once it does not work any more, or once the time is over. @throws ThreadNotFoundError */
export async function readState(
  client: ThreadClient,
  threadId: string,
  { after, wait = WAIT.usual, signal, onWait }: ReadState,
): Promise<AgentState> {
  const from = after === undefined ? null : parseCursor(after)
  const thread = client.get(threadId)
  const rest = await waitForRest(client, thread, { until: Date.now() + wait * 1000, signal, onWait })
  const summary = await requireSummary(client, threadId)
  const said = await readText(thread, from ?? cursorBefore(rest.result))
  const { requests, more } = await readRequests(client, summary)
  const isAsked = requests.length > 0
  return {
    ...{ id: threadId, agent: summary.agent },
    ...(isAsked ? { status: 'needs_answer', detail: 'It waits for answers.' } : statusOf(summary, rest)),
    ...(from === null && said.text === '' ? { ...said, text: sessionText(rest.result) } : said),
    output: short(rest.result?.output ?? null),
    requests: requests.map(toRequest),
    moreRequests: more,
  }
}

/** The result of a thread that is idle, or why it is not. */
interface Rest {
  readonly result: RunResult | null
  readonly reason: string
}

interface Waiting {
  readonly until: number
  readonly signal: AbortSignal
  readonly onWait: ReadState['onWait']
}

/** Waits until the thread is idle, a thread of its tree asks, or the time is over. */
async function waitForRest(client: ThreadClient, thread: ThreadHandle, waiting: Waiting): Promise<Rest> {
  const { until, signal, onWait } = waiting
  let ended = false
  const idle = waitForIdle(thread, Math.max(0, until - Date.now())).finally(() => (ended = true))
  // A wait that is left ends by its own time.
  idle.catch(() => undefined)
  const left = new AbortController()
  const look = AbortSignal.any([signal, left.signal])
  const asked = async (): Promise<Rest> => {
    for (;;) {
      await pause(LOOK, null, { signal: look }).catch(() => undefined)
      if (look.aborted) return { result: null, reason: 'It works.' }
      const summary = await requireSummary(client, thread.threadId)
      if (ended) continue
      if ((await readRequests(client, summary)).requests.length > 0)
        return { result: null, reason: 'It works.' }
      onWait?.(`${summary.agent} is ${summary.status}, event ${summary.lastSequence}`)
    }
  }
  const asking = asked()
  asking.catch(() => undefined)
  try {
    return await Promise.race([idle, asking])
  } finally {
    left.abort()
  }
}

async function waitForIdle(thread: ThreadHandle, timeout: number): Promise<Rest> {
  try {
    return { result: await thread.waitUntilIdle({ timeout }), reason: '' }
  } catch (error) {
    if (!WaitTimeoutError.isInstance(error)) throw error
    const [, reason = ''] = /, got (.*)$/s.exec(error.message) ?? []
    return { result: null, reason }
  }
}

const CLOSED: Readonly<Record<string, AgentState['status']>> = {
  completed: 'finished',
  failed: 'failed',
  terminated: 'stopped',
}

/** At rest without an end of its run. */
const PARKED: Readonly<Record<string, Pick<AgentState, 'status' | 'detail'>>> = {
  stopped: { status: 'stopped', detail: 'It was stopped.' },
  blocked: { status: 'stopped', detail: 'It is blocked: its operator has to look.' },
  lost: { status: 'failed', detail: 'It is lost: its operator has to look.' },
  running: { status: 'working', detail: 'It works.' },
  waiting_resource: { status: 'working', detail: 'It waits for its provider.' },
  waiting_permission: { status: 'working', detail: 'It goes on with an answer.' },
  waiting_input: { status: 'working', detail: 'It goes on with an answer.' },
}

const ENDS = { completed: 'finished', failed: 'failed', cancelled: 'stopped' } as const

function statusOf(
  { status }: ThreadSummary,
  { result, reason }: Rest,
): Pick<AgentState, 'status' | 'detail'> {
  const closed = CLOSED[status]
  if (closed !== undefined) return { status: closed, detail: 'It is closed: start another one.' }
  if (result === null) return { status: 'working', detail: reason }
  if (result.reason === null)
    return PARKED[status] ?? { status: 'finished', detail: 'Nothing was sent to it.' }
  const end = ENDS[runOutcome(result.reason)]
  return { status: end, detail: `The turn has ended: ${result.reason}.` }
}

function sessionText(result: RunResult | null): string {
  return clip(result?.session?.message ?? '', 0)
}

/** @throws ThreadNotFoundError */
async function requireSummary(client: ThreadClient, threadId: string): Promise<ThreadSummary> {
  const summary = await client.find(threadId)
  if (summary === null) throw new ThreadNotFoundError(threadId)
  return summary
}

/** The requests of the thread and of all threads below it; of a subagent, its own. */
async function readRequests(
  client: ThreadClient,
  { threadId, root }: Pick<ThreadSummary, 'threadId' | 'root'>,
): Promise<{ readonly requests: readonly ThreadRequest[]; readonly more: boolean }> {
  const filter = threadId === root ? { root } : { threadId }
  const { requests, next } = await client.pendingPage(filter, { limit: REQUESTS })
  return { requests, more: next !== null }
}

function toRequest(asked: ThreadRequest): AgentState['requests'][number] {
  const schema = short(answerSchema(asked))
  const expiresAt = asked.kind === 'approval' ? asked.expiresAt : undefined
  return {
    ...{ thread: asked.threadId, request: asked.id, kind: asked.kind, question: questionOf(asked) },
    arguments: 'args' in asked ? short(asked.args ?? null) : null,
    answer: typeof schema === 'string' ? { description: schema } : (schema as Record<string, unknown>),
    expires: expiresAt === undefined ? null : new Date(expiresAt / 1000).toISOString(),
  }
}

/** A value that is not too long, else a sentence in its place. */
function short(value: unknown): unknown {
  const { length } = JSON.stringify(value)
  return length <= PART ? value : `(${length} characters of JSON, too long to be shown here)`
}

/** How far a client has read: the messages up to a position, and of the next one so many characters. */
interface Cursor {
  readonly position: number
  readonly read: number
}

/** The cursor of a client that has read nothing. */
export const FIRST_CURSOR = '0'

/** @throws ProblemError 400 */
function parseCursor(text: string): Cursor {
  const [whole, position, read = '0'] = /^(\d{1,15})(?:\.(\d{1,9}))?$/.exec(text) ?? []
  if (whole === undefined)
    throw new ProblemError(
      400,
      'bad_request',
      'Expected "after" to be a cursor of agent_get, got another text.',
    )
  return { position: Number(position), read: Number(read) }
}

function formatCursor({ position, read }: Cursor): string {
  return read === 0 ? String(position) : `${position}.${read}`
}

/** Before the last answer; null: there is none. */
function cursorBefore(result: RunResult | null): Cursor | null {
  const position = result?.reply?.position
  return position == null ? null : { position: position - 1, read: 0 }
}

type Said = Pick<AgentState, 'text' | 'more' | 'cursor'>

/** The texts of the assistant behind a cursor, as far as they fit; without one the cursor of the newest message. */
async function readText(thread: ThreadHandle, from: Cursor | null): Promise<Said> {
  if (from === null) {
    const { messages } = await thread.messages({ limit: ROWS })
    const position = messages.findLast((message) => message.position !== null)?.position ?? 0
    return { text: '', more: false, cursor: formatCursor({ position, read: 0 }) }
  }
  let { position, read } = from
  let text = ''
  for (let page = 0; page < PAGES; page += 1) {
    const { messages, hasMore } = await thread.messages({ after: position, limit: ROWS })
    for (const message of messages) {
      const content = message.role === 'assistant' ? (message.content ?? '').slice(read) : ''
      const gap = text === '' || content === '' ? '' : '\n\n'
      const room = TEXT - text.length - gap.length
      const part = clip(content, content.length - Math.max(0, room))
      text += part === '' ? '' : `${gap}${part}`
      if (part.length < content.length)
        return { text, more: true, cursor: formatCursor({ position, read: read + part.length }) }
      position = message.position ?? position
      read = 0
    }
    if (!hasMore) return { text, more: false, cursor: formatCursor({ position, read }) }
  }
  return { text, more: true, cursor: formatCursor({ position, read }) }
}

/** Leaves out the last characters, and no half of one. */
function clip(text: string, out: number): string {
  const end = Math.min(TEXT, text.length - Math.max(0, out))
  const kept = text.slice(0, Math.max(0, end))
  return end < text.length && /[\uD800-\uDBFF]$/.test(kept) ? kept.slice(0, -1) : kept
}
