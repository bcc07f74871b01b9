import { setTimeout as delay } from 'node:timers/promises'

import type { ThreadClient, ThreadEvent } from 'everthread/client'

import { openJournal, readJournal } from '../desk/journal.js'
import type { ClientPlace } from './places.js'
import type { ReceivedEvent } from './received-event.js'

export interface Subscriptions {
  /** From where the journal ends; a thread that is followed is not followed twice. */
  readonly follow: (threadId: string) => void
}

/** Before a subscription that was refused is tried again: servers are away for seconds. */
const PAUSE = 300

/** Follows each thread that the journal names, those that `follow` names, and their subagents; answers each approval. */
export function subscribeToAll(threads: ThreadClient, { received }: ClientPlace): Subscriptions {
  const journal = openJournal<ReceivedEvent>(received)
  const cursors = new Map(readJournal<ReceivedEvent>(received).map((line) => [line.threadId, line.cursor]))
  const followed = new Set<string>()

  async function keepFollowing(threadId: string): Promise<void> {
    for (;;) {
      try {
        for await (const event of threads.get(threadId).events({ after: cursors.get(threadId) ?? 0 })) {
          const line = lineOf(event)
          journal.write(line)
          cursors.set(threadId, line.cursor)
          if (line.reference !== undefined) follow(line.reference)
          if (event.type === 'action.required') void approve(threads, threadId, event.payload.requestId)
        }
        return
      } catch {
        // The store is away: what was received is written down, and the rest comes.
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
  void answerOpen(threads)
  return { follow }
}

function lineOf(event: ThreadEvent): ReceivedEvent {
  const { threadId, cursor, type, messageId, toolCallId } = event
  return {
    threadId,
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

/** Requests whose event an earlier process received, and did not answer. */
async function answerOpen(threads: ThreadClient): Promise<void> {
  for (;;) {
    try {
      for await (const { threadId, id } of threads.pending()) void approve(threads, threadId, id)
    } catch {
      // As above.
    }
    await delay(2_000)
  }
}

/** As often as it is needed: the same answer again is safe. One that has ended needs none. */
async function approve(threads: ThreadClient, threadId: string, requestId: string): Promise<void> {
  try {
    await threads.get(threadId).respond(requestId, { approved: true })
  } catch {
    // `answerOpen` comes by again.
  }
}
