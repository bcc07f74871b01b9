import { expect } from 'vitest'

import type { ThreadHandle } from '../../../src/client/index.js'
import type { Message } from '../../../src/index.js'
import { factsOf, phaseProblems } from '../../support/thread-facts.js'

/** All rows of a thread, in the order of their positions, which have no gap. */
export async function wholeTranscript(thread: ThreadHandle): Promise<readonly Message[]> {
  const { messages } = await thread.messages({ limit: 1000, includeSilent: true })
  expect(messages.map(({ position }) => position)).toEqual(messages.map((_, index) => index + 1))
  return messages
}

/** The log has no gap, each step has its seven phases once and in order, each row and run was told of once. */
export async function expectWholeLog(thread: ThreadHandle): Promise<void> {
  const facts = await factsOf(thread)
  expect(facts.map(({ sequence }) => sequence)).toEqual(facts.map((_, index) => index + 1))
  expect(phaseProblems(facts)).toEqual([])
  for (const once of ['run.started', 'run.completed', 'message.created', 'tool.result']) {
    const of = facts.filter(({ type }) => type === once)
    const told = of.map(({ runId, messageId }) => messageId ?? runId)
    expect([once, told]).toEqual([once, [...new Set(told)]])
  }
}
