import type { ThreadState } from '../../definitions/thread-state.js'
import { LIMITS } from '../../protocol/limits.js'
import { publishStatus } from '../publish-status.js'
import type { Journal } from './journal.js'
import type { Relatives } from './relatives.js'
import { kindOf } from './strict-json.js'

/** The members of `ThreadState` that reach other threads. */
export type FamilyMembers = Pick<
  ThreadState,
  'getChildThread' | 'getParentThread' | 'notifyParent' | 'setStatus'
>

interface FamilyMembersOptions {
  readonly threadId: string
  /** Null for a root thread. */
  readonly parentId: string | null
  readonly relatives: Relatives
  readonly journal: Journal
  /** Learns what the parent was told. */
  readonly onNotified: (content: string) => void
  /** Microseconds. */
  readonly now: number
}

export function createFamilyMembers(options: FamilyMembersOptions): FamilyMembers {
  const { threadId, parentId, relatives, journal, onNotified, now } = options
  return {
    getChildThread: async (reference) => (await relatives.childOf(threadId, reference))?.state ?? null,
    getParentThread: async () => (await relatives.parentOf(parentId))?.state ?? null,
    async notifyParent(given) {
      const content = words(given, 'the content of notifyParent')
      const parent = await relatives.parentOf(parentId)
      if (parent === null) return
      await parent.notify({ content, reference: threadId })
      onNotified(content)
    },
    async setStatus(given) {
      const text = words(given, 'the text of setStatus')
      if (text.length > LIMITS.statusText)
        throw new Error(
          `Expected the text of setStatus to have at most ${LIMITS.statusText} characters, got ${text.length}: ` +
            'use notifyParent for more.',
        )
      journal.add(async (tx) => {
        await publishStatus(tx, { reference: threadId, text, now })
        return {}
      })
    },
  }
}

function words(given: unknown, named: string): string {
  const text = typeof given === 'string' ? given.trim() : ''
  if (text !== '') return text
  const came = typeof given === 'string' ? 'an empty one' : kindOf(given)
  throw new Error(`Expected ${named} to be a text, got ${came}.`)
}
