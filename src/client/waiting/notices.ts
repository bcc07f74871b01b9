import { NoWorkerError, UnknownAgentError } from '../../protocol/errors.js'
import type { Kept } from '../../protocol/errors.js'
import { suggestName } from '../../protocol/values.js'
import { isListedAgent, listAgents } from '../../store/agents.js'
import type { Reader } from '../../store/store.js'
import type { ClientContext, OnNotice, ThreadNotice } from '../client-context.js'
import { describeWorkflow } from '../thread-workflow.js'
import type { FailingActivity } from '../thread-workflow.js'
import type { Look } from '../read-snapshot.js'
import { SNAPSHOT_QUERY_TIMEOUT } from '../read-snapshot.js'

/**
 * Notices to a caller that would otherwise wait in silence: no worker answers, no worker lists the agent of a thread, an
 * activity fails and is retried. A notice changes nothing: messages stay accepted, a wait keeps its deadline, and a rolling
 * deploy its minute. Each notice is given once for as long as somebody keeps waiting for the thread.
 */

/** Writes a notice as one line to stderr, where the operator of the program looks. */
export const warnOfNotice: OnNotice = ({ message }) => {
  process.stderr.write(`everthread: ${message}\n`)
}

interface Wait {
  /** The time when the wait began, or of the last look that the workflow has answered. */
  answeredAt: number
  /** When Temporal is asked next why a thread that answers does not go on. */
  askAt: number
  seenAt: number
  /** The codes of the notices that were given. */
  readonly reported: Set<string>
}

/** How long a thread may not go on before a notice explains it: with the time of the looks a notice comes within 3 s. */
const NOTICE_AFTER = 1500
/** After so long without a look, the next look at a thread begins a new wait. */
const FORGOTTEN = 60_000
const AGAIN = 10_000

const waits = new WeakMap<ClientContext, Map<string, Wait>>()

/** Finds out what keeps a thread from being idle, and reports it. It never throws: a failed notice must not end a wait. */
export async function reportWait(
  context: ClientContext,
  busy: Look,
  { began, onNotice }: { readonly began: number; readonly onNotice: OnNotice },
): Promise<void> {
  const { threadId } = busy.snapshot
  const now = Date.now()
  const wait = findWait(context, threadId, { began, now })
  if (!busy.silent) wait.answeredAt = now
  const isSilent = busy.silent && now - wait.answeredAt >= NOTICE_AFTER
  if (!isSilent && (busy.silent || now < wait.askAt)) return
  if (!busy.silent) wait.askAt = now + AGAIN
  const found = isSilent ? noticeSilence(context, threadId) : noticeFailures(context, busy)
  for (const notice of await found.catch(() => [])) {
    if (wait.reported.has(notice.code)) continue
    wait.reported.add(notice.code)
    onNotice(notice)
  }
}

/** Forgets a wait once its thread is idle. */
export function forgetWait(context: ClientContext, threadId: string): void {
  waits.get(context)?.delete(threadId)
}

function findWait(
  context: ClientContext,
  threadId: string,
  { began, now }: { readonly began: number; readonly now: number },
): Wait {
  const all = waits.get(context) ?? new Map<string, Wait>()
  waits.set(context, all)
  const known = all.get(threadId)
  if (known !== undefined && now - known.seenAt < FORGOTTEN) {
    known.seenAt = now
    return known
  }
  for (const [id, { seenAt }] of all) if (now - seenAt >= FORGOTTEN) all.delete(id)
  const fresh = { answeredAt: began, askAt: began + NOTICE_AFTER, seenAt: now, reported: new Set<string>() }
  all.set(threadId, fresh)
  return fresh
}

async function noticeSilence(context: ClientContext, threadId: string): Promise<readonly ThreadNotice[]> {
  const reason = await explainSilence(context, threadId)
  return [{ code: 'no_answer', threadId, message: `Thread "${threadId}" does not answer yet: ${reason}.` }]
}

async function noticeFailures(context: ClientContext, { snapshot }: Look): Promise<readonly ThreadNotice[]> {
  const { threadId, agent, run } = snapshot
  const [workflow, unknown] = await Promise.all([
    describeWorkflow(context, threadId, SNAPSHOT_QUERY_TIMEOUT),
    findUnknownAgent(context, { threadId, agent }),
  ])
  if (workflow.state !== 'open') return []
  const what = run?.doing ?? `agent ${agent}`
  const failing = workflow.failing.map((activity) => toNotice(activity, { threadId, what }))
  // An agent that no worker lists is the reason why its definition is missing.
  return unknown === null ? failing : [unknown]
}

function toNotice(
  { type, message, attempts }: FailingActivity,
  { threadId, what }: { readonly threadId: string; readonly what: string },
): ThreadNotice {
  if (type === 'Definition.Missing')
    return {
      ...{ code: 'missing_definition', threadId },
      message:
        `Thread "${threadId}" waits at "${what}": a worker of its task queue does not have what that needs, and it is tried ` +
        'again for a minute. Register it, or start a worker that has it; the log of the worker names it.',
    }
  return {
    ...{ code: 'activity_fails', threadId },
    message:
      `Thread "${threadId}" waits at "${what}", which has failed ${attempts - 1} times and is tried again: ${message} ` +
      `See the log of the worker, or "npx everthread inspect ${threadId}".`,
  }
}

/**
 * Returns a notice if no worker has listed the agent. Workers list their agents when they start: before the first one
 * nothing is known.
 */
export async function findUnknownAgent(
  context: ClientContext,
  { threadId, agent }: { readonly threadId: string; readonly agent: string },
): Promise<ThreadNotice | null> {
  const store = await context.store()
  const known = await store.read((db) => describeOthers(db, agent))
  if (known === null) return null
  return {
    ...{ code: 'unknown_agent', threadId },
    message:
      `Thread "${threadId}" has the agent "${agent}", and no worker of this store has listed one${known} ` +
      'Check its spelling, or start a worker that has it; what is sent is kept.',
  }
}

/** @throws UnknownAgentError for the agent of a new thread that no worker has listed, if any is listed */
export async function assertListed(
  db: Reader,
  { threadId, agent }: { readonly threadId: string; readonly agent: string },
): Promise<void> {
  const known = await describeOthers(db, agent)
  if (known !== null) throw new UnknownAgentError(threadId, { agent, known })
}

/** The end of a sentence about an agent that is not listed: the nearest name, else the first of them. Null: it is, or none is. */
async function describeOthers(db: Reader, agent: string): Promise<string | null> {
  if (await isListedAgent(db, agent)) return null
  const names = (await listAgents(db, { after: null, limit: SEARCHED_AGENTS })).map(({ name }) => name)
  if (names.length === 0) return null
  const near = suggestName(agent, names)
  if (near !== '') return near
  const shown = names.slice(0, SHOWN_AGENTS).join(', ')
  return `: there are ${shown}${names.length > SHOWN_AGENTS ? ', …' : '.'}`
}

const SHOWN_AGENTS = 10
const SEARCHED_AGENTS = 1000

/** What does not answer: a worker, the workflow, which is not started yet or whose task fails, or the server itself. */
type Silence =
  | { readonly of: 'worker'; readonly taskQueue: string }
  | { readonly of: 'workflow' }
  | { readonly of: 'task'; readonly attempts: number }
  | { readonly of: 'server'; readonly error: unknown }

/** A worker that dies or evicts a thread from its cache costs one or two attempts. */
const FEW_ATTEMPTS = 3

/** Explains why a query or an Update was not answered, as the end of a sentence. */
export async function explainSilence(context: ClientContext, threadId: string): Promise<string> {
  const silence = await findSilence(context, threadId)
  if (silence.of === 'workflow') return 'its workflow is not started yet'
  if (silence.of === 'task')
    return (
      `its workflow task has failed ${silence.attempts - 1} times; the log of the worker says why, and ` +
      '"npx everthread doctor" names threads with a codec or code that does not fit'
    )
  if (silence.of === 'server')
    return silence.error instanceof Error ? silence.error.message.replace(/\.$/, '') : String(silence.error)
  return `no worker answers on task queue "${silence.taskQueue}"; start one, or check its task queue`
}

/** Finds out what does not answer: a worker, the workflow, or the server itself. */
async function findSilence(context: ClientContext, threadId: string): Promise<Silence> {
  try {
    const workflow = await describeWorkflow(context, threadId, SNAPSHOT_QUERY_TIMEOUT)
    const { run } = workflow
    if (workflow.state === 'open' && workflow.attempts > FEW_ATTEMPTS)
      return { of: 'task', attempts: workflow.attempts }
    return run === null ? { of: 'workflow' } : { of: 'worker', taskQueue: run.taskQueue }
  } catch (error) {
    return { of: 'server', error }
  }
}

/**
 * The error for an Update that no worker took in time: it names the task queue without a worker, or says that there is
 * no server.
 */
export async function noAnswerError(context: ClientContext, threadId: string, kept: Kept): Promise<unknown> {
  const silence = await findSilence(context, threadId)
  if (silence.of === 'server') return silence.error
  const taskQueue = silence.of === 'worker' ? silence.taskQueue : await context.taskQueue()
  return new NoWorkerError(threadId, { taskQueue, kept })
}
