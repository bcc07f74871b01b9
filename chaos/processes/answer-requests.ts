import { setTimeout as delay } from 'node:timers/promises'

import { RequestNotFoundError } from 'everthread'
import { openJournal, readJournal } from '../desk/journal.js'
import type { AnswerLine } from './answer-line.js'
import { isPassing, problemOf } from './is-passing.js'
import type { Thread } from './threads.js'

interface Responders {
  get(threadId: string): Pick<Thread, 'respond' | 'way'>
}

/** Approves requests, each until the answer is acknowledged. */
export interface Answering {
  /** The request is in the journal when it returns; one that was begun before is not begun again. */
  readonly answer: (threadId: string, requestId: string) => void
}

type Ending = Pick<AnswerLine, 'kind' | 'problem'>

/** Before an answer that could not be given is given again. */
const PAUSE = 300

/** Goes on with what the journal has no end of: an earlier process was killed in it, and its row may hold the answer. */
export function answerRequests(threads: Responders, path: string): Answering {
  const journal = openJournal<AnswerLine>(path)
  const lines = readJournal<AnswerLine>(path)
  const known = new Set(lines.map(keyOf))
  const ended = new Set(lines.filter(({ kind }) => kind !== 'begun').map(keyOf))

  function lineOf(threadId: string, requestId: string) {
    return { threadId, requestId, approved: true, way: threads.get(threadId).way }
  }

  async function give(threadId: string, requestId: string): Promise<void> {
    const line = lineOf(threadId, requestId)
    journal.write({ ...line, ...(await untilEnded(threads, line)) })
  }

  for (const line of lines) if (!ended.has(keyOf(line))) void give(line.threadId, line.requestId)
  return {
    answer(threadId, requestId) {
      const key = keyOf({ threadId, requestId })
      if (known.has(key)) return
      known.add(key)
      journal.write({ ...lineOf(threadId, requestId), kind: 'begun' })
      void give(threadId, requestId)
    },
  }
}

function keyOf({ threadId, requestId }: Pick<AnswerLine, 'threadId' | 'requestId'>): string {
  return `${threadId} ${requestId}`
}

/** A request with another answer than this one is refused: nobody else answers here. */
async function untilEnded(
  threads: Responders,
  { threadId, requestId, approved }: Pick<AnswerLine, 'threadId' | 'requestId' | 'approved'>,
): Promise<Ending> {
  for (;;) {
    try {
      await threads.get(threadId).respond(requestId, { approved })
      return { kind: 'returned' }
    } catch (error) {
      const problem = problemOf(error)
      if (RequestNotFoundError.isInstance(error))
        return { kind: error.answered ? 'refused' : 'ended', problem }
      if (!isPassing(error)) return { kind: 'refused', problem }
      await delay(PAUSE)
    }
  }
}
