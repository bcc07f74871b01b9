import { expect } from 'vitest'

import { ThreadNotFoundError } from '../../src/index.js'
import type { ThreadHandle } from '../../src/client/index.js'
import type { Message } from '../../src/index.js'
import type { ThreadEvent } from '../../src/protocol/events.js'
import { deliveredEventProblems } from './event-shapes.js'

/** The facts of a thread so far, in order, without deltas. */
export async function factsOf(thread: ThreadHandle): Promise<readonly ThreadEvent[]> {
  const facts: ThreadEvent[] = []
  for await (const event of thread.events({ follow: false }))
    if (event.sequence !== undefined) facts.push(event)
  expect(deliveredEventProblems(facts)).toEqual([])
  return facts
}

export async function factTypes(thread: ThreadHandle): Promise<readonly string[]> {
  return (await factsOf(thread)).map(({ type }) => type)
}

/** The transcript, queued messages last. */
export async function transcript(thread: ThreadHandle): Promise<readonly Message[]> {
  return (await thread.messages({ limit: 1000 })).messages
}

/** The transcript of a thread that no client created: none while it has no row in the store yet. */
export async function transcriptIfKnown(thread: ThreadHandle): Promise<readonly Message[]> {
  try {
    return await transcript(thread)
  } catch (error) {
    if (ThreadNotFoundError.isInstance(error)) return []
    throw error
  }
}

/** The results of a thread's tool calls, in order. */
export async function toolResults(thread: ThreadHandle): Promise<readonly Message[]> {
  return (await transcript(thread)).filter(({ role }) => role === 'tool')
}
