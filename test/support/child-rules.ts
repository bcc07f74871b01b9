import { listOpenChildren } from '../../src/thread/children.js'
import type { ChildReport } from '../../src/protocol/messages.js'
import type { RandomThread } from './random-thread.js'
import { owedBy } from './thread-log.js'
import type { Rule } from './thread-rules.js'

const once = (ids: readonly string[]): boolean => new Set(ids).size === ids.length

/** Promises about the subagents of a thread, however they and it ended. */
export const CHILD_RULES: readonly Rule[] = [
  {
    fact: 'T7 every child whose rows exist is started, once',
    holds: ({ log, family }) =>
      family.children.started.toSorted().join() === log.prepared.toSorted().join() && once(log.prepared),
  },
  {
    fact: 'T7 every call of a child is answered for once, or still owed',
    holds: ({ log, control }, end) => {
      const owed = new Set(owedBy(control))
      if (end === 'waits' && owed.size > 0) return false
      return [...log.answers].every(([key, answers]) => answers === (owed.has(key) ? 0 : 1))
    },
  },
  {
    fact: 'T7 what a child says reaches its parent in one place',
    holds: (thread, end) =>
      end === 'closed' ||
      thread.family.children.heard.every(
        (said) => said.messageId === undefined || places(thread, said.messageId) === 1,
      ),
  },
  {
    fact: 'T7 what a child says after nobody waited for it any more is told nowhere',
    holds: (thread) => {
      const heard = new Set(thread.family.children.heard.map(({ messageId }) => messageId))
      const items = thread.log.accepted.filter((key) => key.startsWith('report child-'))
      return items.every((key) => heard.has(key.slice('report '.length)))
    },
  },
  {
    fact: 'T7 a call is completed only by reports that name it',
    holds: ({ log, family }) =>
      log.completed.every(({ callId, reference, report }) => {
        if (report.kind === 'closed' || report.kind === 'timed_out') return true
        return family.children.heard.some((said) => said.reference === reference && names(said, callId))
      }),
  },
  {
    fact: 'T7 however a child ends, each call of it hears of it',
    holds: (thread, end) =>
      end === 'closed' || [...thread.log.answers.keys()].every((key) => isTold(thread, key)),
  },
  {
    fact: 'T7 a child that lacks variables starts, expires, or closes with its parent',
    holds: ({ log, control }, end) => {
      if (end === 'waits' && control.children.some(({ state }) => state === 'deferred')) return false
      const items = log.accepted.filter((key) => key.startsWith('report expired:'))
      return once(items) && once(log.expired) && log.expired.every((id) => log.deferred.includes(id))
    },
  },
  {
    fact: 'T8 a closed thread leaves no child running that was not told',
    holds: ({ log, family: { children } }, end) =>
      end === 'waits' ||
      children.running.every(
        (reference) => log.told.includes(reference) || children.cancelled.includes(reference),
      ),
  },
  {
    fact: 'a child that is not resumable is open only while it owes',
    holds: ({ control }) =>
      listOpenChildren(control).every(({ resumable, owes }) => resumable || owes.length > 0),
  },
]

function places({ log }: RandomThread, messageId: string): number {
  return (
    log.completed.filter(({ report }) => 'messageId' in report && report.messageId === messageId).length +
    log.accepted.filter((key) => key === `report ${messageId}`).length
  )
}

function names(said: ChildReport, callId: string): boolean {
  return said.invocations.includes(callId)
}

/** The call has it as its result, an item tells it, or there was nothing to tell. */
function isTold({ log, family }: RandomThread, key: string): boolean {
  const [reference = '', callId = ''] = key.split(' ')
  const isOf = (answer: { readonly reference: string }): boolean => answer.reference === reference
  if (log.completed.some((answer) => isOf(answer) && answer.callId === callId)) return true
  if (log.accepted.includes(`group ${callId}`)) return true
  if (log.accepted.includes(`child_closed everthread:closed:${reference}`)) return true
  // Cut with its run before it could be completed.
  if (family.children.cancelled.includes(reference)) return true
  return family.children.heard.some((said) => isOf(said) && names(said, callId))
}
