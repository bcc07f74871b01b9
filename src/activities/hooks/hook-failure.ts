import { randomUUID } from 'node:crypto'
import type { HookPoint } from '../../definitions/hook.js'
import type { EventScope, Fact } from '../../protocol/facts.js'
import { recordError } from '../../store/errors.js'
import { appendEvents } from '../../store/events.js'
import type { Writer } from '../../store/store.js'
import { readThrown } from '../thrown.js'

/** A hook that did not do its part, and why. */
export interface HookFailure {
  readonly hook: string
  /** Null: this worker has no hook of that id, so nobody knows its point. */
  readonly point: HookPoint | null
  readonly code: 'threw' | 'timeout' | 'invalid_answer' | 'missing' | 'blocked'
  readonly error: unknown
  /** The message that it was about. */
  readonly messageId?: string
}

/** What a hook answered cannot be taken; the message says what was expected. */
export class InvalidAnswer extends Error {}

export interface FailureRecords {
  readonly threadId: string
  readonly failures: readonly HookFailure[]
  readonly scope: EventScope
  /** Microseconds. */
  readonly now: number
}

/** Facts for everybody, and the words of the errors for operators, in the store only (T5). */
export async function recordHookFailures(tx: Writer, records: FailureRecords): Promise<void> {
  const { threadId, failures, scope, now } = records
  const events: Fact[] = []
  for (const { hook, point, code, error, messageId } of failures) {
    const errorId = randomUUID()
    const { message, stack } = readThrown(error)
    await recordError(tx, { id: errorId, threadId, at: now, type: `hook.${code}`, message, stack })
    events.push({
      type: 'hook.failed',
      scope: messageId === undefined ? scope : { ...scope, messageId },
      payload: { hook, point, code, errorId },
    })
  }
  await appendEvents(tx, { threadId, events, now })
}
