import type { ActivityInput, TerminatedAnswer } from '../../src/protocol/activities.js'
import type { LoggedFact, Operation, ThreadRow } from '../store/rows.js'
import type { World } from '../world.js'

/** The steps of an activity: between two of them anything else may happen, and a crash may end it. */
export type Steps<T> = Generator<void, T>

/** One attempt of an activity. */
export interface Attempt {
  readonly world: World
  /** The same for all attempts of one activity. */
  readonly activity: number
  /** Grows with the time at which the server scheduled the attempt. */
  readonly order: number
  /** A stop or terminate has reached it. */
  readonly isCut: () => boolean
  /** The activity has ended without this attempt, which was given up. */
  readonly isOver: () => boolean
}

/** Thrown: another attempt holds the operation and is still at it; this one is made again later. */
export class OperationLost extends Error {}

/** Thrown: the activity ends as cancelled, without an answer. */
export class Cut extends Error {}

export const TERMINATED: TerminatedAnswer = { type: 'terminated' }

/** T8: null where nothing may run any more. */
export function openThread(
  { world }: Attempt,
  { threadId }: Pick<ActivityInput, 'threadId'>,
): ThreadRow | null {
  const thread = world.threads.get(threadId)
  return thread === undefined || thread.terminateRequested ? null : thread
}

/** The facts of an input that are not stored yet, which the caller stores now. */
export function takeFacts(
  { factTimes }: ThreadRow,
  { now, facts, unansweredFacts = [] }: Pick<ActivityInput, 'now' | 'facts' | 'unansweredFacts'>,
): readonly LoggedFact[] {
  const unstored = unansweredFacts.filter((sent) => !factTimes.has(sent.now))
  for (const sent of [...unstored, { now }]) factTimes.add(sent.now)
  return [...unstored.flatMap((sent) => sent.facts), ...facts]
}

export function append(thread: ThreadRow, events: readonly LoggedFact[]): void {
  thread.events.push(...events)
}

/** A finished operation is answered from its row; that another activity asks for it breaks T4. */
export function recorded<T>({ world, activity }: Attempt, { id }: ThreadRow, operation: Operation): T {
  if (operation.by !== null && operation.by !== activity)
    world.breaks('T4 a finished operation is asked for again', `${id} ${operation.id}`)
  return operation.answer as T
}

/** Holds an operation for this attempt, which may be a later one. */
export function hold(
  thread: ThreadRow,
  id: string,
  state: Operation['state'],
): { readonly isNew: boolean; readonly number: number } {
  const known = thread.operations.get(id)
  if (known !== undefined) {
    known.attempt += 1
    known.state = known.state === 'finished' ? known.state : state
    return { isNew: false, number: known.attempt }
  }
  thread.operations.set(id, { id, state, attempt: 1, answer: null, requested: false, by: null })
  return { isNew: true, number: 1 }
}

/** Commits by the attempt that holds the operation; if another was first, its recorded answer is ours (T4). */
export function commit<T>(
  { activity, world, isOver }: Attempt,
  thread: ThreadRow,
  { id, number }: { readonly id: string; readonly number: number },
  make: () => T,
): T {
  const operation = thread.operations.get(id)
  if (operation === undefined) throw new Error(`Expected operation ${id}, found none.`)
  if (operation.attempt !== number || operation.state === 'finished') {
    world.saw('fault a commit comes too late')
    if (operation.state === 'finished') return operation.answer as T
    throw new OperationLost()
  }
  const answer = make()
  operation.state = 'finished'
  operation.answer = answer
  // One that was given up may commit when its activity has answered that it waits: the next one asks for what it did.
  operation.by = isOver() ? null : activity
  return answer
}

/** Done in one transaction. */
export function finish(attempt: Attempt, thread: ThreadRow, id: string, answer: unknown): void {
  const { activity } = attempt
  thread.operations.set(id, { id, state: 'finished', attempt: 1, answer, requested: true, by: activity })
}
