import { setTimeout as delay } from 'node:timers/promises'

import type { ThreadClient, ThreadSnapshot, ThreadSummary } from 'everthread/client'

import { readJournal } from '../desk/journal.js'
import type { Finding } from '../finding.js'
import type { ReceivedEvent } from '../processes/received-event.js'
import type { AnswerLine } from '../processes/answer-line.js'
import { lastSequences } from './ask-store.js'
import { openAnswers } from './check-answers.js'
import { several } from './several.js'

interface Looking {
  readonly threads: ThreadClient
  /** Resolves when the client has done all that it begun. */
  readonly finish: () => Promise<void>
  /** Milliseconds without one new event in any thread: a cut call is noticed late, and a busy machine is no fault of threads. */
  readonly patience: number
  /** It goes on: called with each look that found something new. */
  readonly progressed: () => void
  /** Journal of the answers that the client gave. */
  readonly answers: string
  /** Journal of the events that the subscriber got. */
  readonly received: string
  readonly database: string
  readonly say: (line: string) => void
}

const SUBSCRIBER_PATIENCE = 20_000
const PAUSE = 2_000

/** Nothing runs, waits or is on its way to the subscriber; what does not come to that is stuck, and named. */
export async function waitUntilQuiet(looking: Looking): Promise<readonly Finding[]> {
  const { finish, say } = looking
  const client = { finished: false }
  const ended = finish().then(() => (client.finished = true))
  const goesOn = progressOf(looking)
  while (!client.finished && (await goesOn())) await Promise.race([ended, delay(PAUSE)])
  const { finished } = client
  say(finished ? 'the client has ended its plans' : 'the client does not come to an end')
  const quiet = new Map<string, number>()
  for (;;) {
    const busy = await busyThreads(looking.threads, quiet)
    if (busy.length === 0) break
    if (!(await goesOn())) return [...busy.map(stuck), ...(finished ? [] : [unfinished()])]
    await delay(PAUSE)
  }
  say('all threads are idle or closed')
  await untilReceived(looking)
  return finished ? [] : [unfinished()]
}

/** Answers whether there was a new event of any thread within the patience. */
function progressOf({ database, patience, progressed }: Looking): () => Promise<boolean> {
  let events = -1
  let last = Date.now()
  return async () => {
    const sequences = await lastSequences(database)
    const now = [...sequences.values()].reduce((sum, sequence) => sum + sequence, 0)
    if (now !== events) {
      last = Date.now()
      progressed()
    }
    events = now
    return Date.now() - last < patience
  }
}

/** Each query of an idle thread may cost a replay: one that was found quiet is asked again only if it has done something. */
async function busyThreads(
  threads: ThreadClient,
  quiet: Map<string, number>,
): Promise<readonly ThreadSnapshot[]> {
  const open: ThreadSummary[] = []
  for await (const summary of threads.list())
    if (summary.closedAt === null && quiet.get(summary.threadId) !== summary.lastActivityAt)
      open.push(summary)
  const snapshots = await several(open, async ({ threadId, lastActivityAt }) => {
    const snapshot = await threads.get(threadId).snapshot()
    if (!isBusy(snapshot)) quiet.set(threadId, lastActivityAt)
    return snapshot
  })
  return snapshots.filter(isBusy)
}

/** A subagent that its parent has stopped keeps what it had not read until the parent writes again. */
export function isStoppedSubagent({ parent, status, run, stale }: ThreadSnapshot): boolean {
  return !stale && parent !== null && status === 'stopped' && run === null
}

function isBusy(snapshot: ThreadSnapshot): boolean {
  const { stale, run, queue, pending, effects } = snapshot
  if (isStoppedSubagent(snapshot)) return pending.length + effects.length > 0
  return stale || run !== null || queue.length + pending.length + effects.length > 0
}

function stuck({ threadId, status, stale, run, queue, pending, effects }: ThreadSnapshot): Finding {
  const waits = { run, queue: queue.map(({ id }) => id), pending: pending.map(({ id }) => id), effects }
  const problem = `It is ${status}${stale ? ' (nobody answers)' : ''}: ${JSON.stringify(waits)}.`
  return { kind: 'stuck', threadId, id: threadId, problem }
}

function unfinished(): Finding {
  return { kind: 'stuck', threadId: '', id: 'client', problem: 'The client did not come to an end.' }
}

/** All events are, and all answers are acknowledged; whatever is not is found by the checks. */
async function untilReceived({ received, answers, database }: Looking): Promise<void> {
  const sequences = await lastSequences(database)
  for (const until = Date.now() + SUBSCRIBER_PATIENCE; Date.now() < until; await delay(PAUSE)) {
    const last = new Map<string, number>()
    for (const { threadId, sequence } of readJournal<ReceivedEvent>(received))
      if (sequence !== null) last.set(threadId, sequence)
    const given = openAnswers(readJournal<AnswerLine>(answers)).length === 0
    if (given && [...sequences].every(([threadId, sequence]) => (last.get(threadId) ?? 0) >= sequence)) return
  }
}
