import { LIMITS } from '../../src/protocol/limits.js'
import { CHILD_RULES } from './child-rules.js'
import type { RandomThread } from './random-thread.js'
import { keyOf } from './thread-log.js'

/** A promise about any life of a thread, however it ended. */
export interface Rule {
  readonly fact: string
  readonly holds: (thread: RandomThread, end: 'waits' | 'closed') => boolean
}

const LAST_ACTIONS = [
  ...['startChildren', 'sendMessage', 'cancelTimedOut', 'sendOutbound'],
  ...['deliverReport', 'announceReport', 'settle', 'cancelChild'],
]
/** User code takes these back, and what only asks for a look is dropped when there is nothing to look at. */
const REMOVABLE = ['message', 'effect', 'variables', 'tool']

const once = (ids: readonly string[]): boolean => new Set(ids).size === ids.length

export const THREAD_RULES: readonly Rule[] = [
  {
    fact: 'T1 one call is in flight, and none before its turn',
    holds: ({ log }) => log.outOfTurn.length === 0,
  },
  { fact: 'T3 T9 nothing is queued twice', holds: ({ log }) => once(log.accepted) },
  {
    fact: 'T3 no item is taken while another waits in front',
    holds: ({ log }) => log.overtaken.length === 0,
  },
  {
    fact: 'T3 a model call is given each item once, and no tool and no effect',
    holds: ({ log }) => once(log.drained) && !log.drained.some((key) => /^(tool|effect) /.test(key)),
  },
  { fact: 'T3 no item is taken twice', holds: ({ log }) => once([...log.taken, ...log.left]) },
  {
    fact: 'T3 items are taken in the order of acceptance',
    holds: ({ log }) => {
      const gone = new Set(log.left)
      return (
        log.taken.join() ===
        log.accepted
          .filter((key) => !gone.has(key))
          .slice(0, log.taken.length)
          .join()
      )
    },
  },
  {
    fact: 'T3 every item was taken, ended visibly, or waits',
    holds: ({ log, control }) => {
      const waiting = control.queue.map(keyOf)
      return [...log.taken, ...log.left, ...waiting].toSorted().join() === log.accepted.toSorted().join()
    },
  },
  {
    fact: 'T3 only what may be taken back leaves an open thread otherwise',
    holds: ({ log }, end) =>
      end === 'closed' || log.left.every((key) => REMOVABLE.some((kind) => key.startsWith(`${kind} `))),
  },
  { fact: 'T4 no call gets two results', holds: ({ log }) => once(log.results) },
  { fact: 'T4 no call is sent to another worker twice', holds: ({ log }) => once(log.remotes) },
  {
    fact: 'T3 every effect that is given up is told of once, or waits for that',
    holds: ({ log, control }) =>
      [...log.givenUpTold, ...control.givenUp].toSorted().join() === log.givenUp.toSorted().join(),
  },
  { fact: 'T9 no effect runs twice', holds: ({ log }) => once(log.effects) },
  { fact: 'T9 no request takes two answers', holds: ({ log }) => once(log.answeredRequests) },
  ...CHILD_RULES,
  {
    fact: 'T8 a thread that ends only tells, marks and closes',
    holds: ({ log }) => log.actions.every(({ kind, ends }) => !ends || LAST_ACTIONS.includes(kind)),
  },
  {
    fact: 'T8 no item slips in behind the last closing transaction',
    holds: ({ log }, end) => end === 'waits' || log.rejected === log.accepted.length,
  },
  {
    fact: 'a thread at rest has no run, and nothing waits unless it was stopped',
    holds: ({ control }, end) =>
      end === 'closed' || (control.run === null && (control.stopped || control.queue.length === 0)),
  },
  {
    fact: 'prompts are nested no deeper than the limit',
    holds: ({ log }) => log.deepest <= LIMITS.frameDepth,
  },
  {
    fact: 'the carried state stays within its budget',
    holds: ({ log }) => log.carriedBytes.every((bytes) => bytes < LIMITS.carriedStateBytes),
  },
]
