import { expect } from 'vitest'
import type { ThreadHandle } from '../../src/client/index.js'
import { ThreadNotFoundError } from '../../src/index.js'
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

/** Facts that stand for the work of a phase, by the marks of phases between which they stand. */
const WORK = [
  // A fallback gets a context of its own.
  { types: ['context.resolved'], after: 2, before: 4 },
  { types: ['model.requested', 'model.completed', 'model.failed'], after: 3, before: 4 },
  { types: ['tool.started', 'tool.result'], after: 5, before: 7 },
] as const

/**
 * What is wrong with the phases of a thread's steps: each that has ended has all seven marks, once and in order, with the
 * work of a phase behind its mark. A step in flight has a beginning of them. Steps of prompt tools have none.
 */
export function phaseProblems(facts: readonly ThreadEvent[]): readonly string[] {
  const steps = [...new Set(facts.map(({ stepId }) => stepId))]
  return steps.flatMap((step = 'no step') => {
    const of = facts.filter(({ stepId }) => stepId === step)
    const marks = of.flatMap((fact) => (fact.type === 'step.phase' ? [fact.payload.phase] : []))
    if (marks.length === 0) return []
    const wanted = [1, 2, 3, 4, 5, 6, 7]
    const ended = of.some(({ type }) => type === 'step.completed')
    const expected = ended ? wanted : wanted.slice(0, marks.length)
    const problems = marks.join() === expected.join() ? [] : [`${step} has the phases ${marks.join()}`]
    // What no model of the step has called, immediates and tools of the queue, is in none of its phases.
    const work = of.filter(({ toolCallId = 'call_' }) => toolCallId.startsWith('call_'))
    return [...problems, ...work.flatMap((fact) => workProblems(work, fact, step))]
  })
}

function workProblems(
  of: readonly ThreadEvent[],
  { type, sequence = 0, messageId, toolCallId }: ThreadEvent,
  step: string,
): readonly string[] {
  const workOf = (named: string): (typeof WORK)[number] | undefined =>
    WORK.find(({ types }) => (types as readonly string[]).includes(named))
  const work = workOf(type)
  if (work === undefined) return []
  // Model calls of a prompt tool are work of the tool's phase, and are for messages of their own; the immediates of a prompt
  // come before its first step, for no message.
  const own = of.find((fact) => workOf(fact.type) !== undefined && fact.messageId !== undefined)?.messageId
  if (work.after < 5 && (messageId === undefined || messageId !== own)) return []
  // A stop answers calls that never began, and marks the rest of the phases behind these results.
  const began = of.some((fact) => fact.type === 'tool.started' && fact.toolCallId === toolCallId)
  if (type === 'tool.result' && !began) return []
  const at = (phase: number): number | undefined =>
    of.find((fact) => fact.type === 'step.phase' && fact.payload.phase === phase)?.sequence
  const follows = (at(work.after) ?? Infinity) < sequence
  const precedes = sequence < (at(work.before) ?? Infinity)
  return follows && precedes ? [] : [`${step} has ${type} outside of phases ${work.after} to ${work.before}`]
}
