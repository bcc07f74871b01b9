import { setTimeout as delay } from 'node:timers/promises'

import type { ThreadEvent } from 'everthread/client'

import { openJournal, readJournal } from '../desk/journal.js'
import { answerRequests } from './answer-requests.js'
import type { Answering } from './answer-requests.js'
import { problemOf } from './is-passing.js'
import type { ClientPlace } from './places.js'
import type { ReceivedEvent } from './received-event.js'
import type { Threads, Way } from './threads.js'

export interface Subscriptions {
  /** From where the journal ends; a thread that is followed is not followed twice. */
  readonly follow: (threadId: string) => void
}

/** Before a subscription that was refused is tried again: servers are away for seconds. */
const PAUSE = 300

/** Follows each thread that the journal names, those that `follow` names, and their subagents; approves each request. */
export function subscribeToAll(threads: Threads, { received, answers }: ClientPlace): Subscriptions {
  const answering = answerRequests(threads, answers)
  const journal = openJournal<ReceivedEvent>(received)
  const cursors = new Map(readJournal<ReceivedEvent>(received).map((line) => [line.threadId, line.cursor]))
  const followed = new Set<string>()

  async function keepFollowing(threadId: string): Promise<void> {
    for (;;) {
      try {
        const thread = threads.get(threadId)
        for await (const event of thread.events({ after: cursors.get(threadId) ?? '0' })) {
          const line = lineOf(event, thread.way)
          // Before the event is received for good: a kill between the two would leave nobody to answer.
          if (event.type === 'action.required') answering.answer(threadId, event.payload.requestId)
          journal.write(line)
          cursors.set(threadId, line.cursor)
          if (line.reference !== undefined) follow(line.reference)
        }
        return
      } catch (error) {
        // The store or the API is away: what was received is written down, and the rest comes.
        console.error(`events of ${threadId}: ${problemOf(error)}`)
        await delay(PAUSE)
      }
    }
  }

  function follow(threadId: string): void {
    if (followed.has(threadId)) return
    followed.add(threadId)
    void keepFollowing(threadId)
  }

  const known = readJournal<ReceivedEvent>(received)
  for (const { threadId, reference } of known) {
    follow(threadId)
    if (reference !== undefined) follow(reference)
  }
  void answerOpen(threads, answering)
  return { follow }
}

function lineOf(event: ThreadEvent, way: Way): ReceivedEvent {
  const { threadId, cursor, type, messageId, toolCallId } = event
  return {
    threadId,
    way,
    cursor,
    type,
    sequence: event.sequence ?? null,
    eventId: event.eventId ?? null,
    ...(messageId !== undefined && { messageId }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(event.type === 'subagent.spawned' && { reference: event.payload.reference }),
    ...(event.type === 'model.delta' && { delta: event.payload }),
  }
}

/** What the list of open requests has, beside the events: both tell of each. */
async function answerOpen(threads: Threads, { answer }: Answering): Promise<void> {
  for (;;) {
    try {
      for await (const { threadId, id } of threads.pending()) answer(threadId, id)
    } catch (error) {
      // As above.
      console.error(`open requests: ${problemOf(error)}`)
    }
    await delay(2_000)
  }
}
