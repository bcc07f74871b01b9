/** What a child's answer to a call comes to: its own words from the store, or what is known of it (T7). */
import type { CallReport } from '../../protocol/activities.js'
import type { AttachmentRef } from '../../protocol/message.js'
import type { ChildRecord } from '../../store/children.js'
import { findMessage } from '../../store/read-messages.js'
import type { Reader } from '../../store/store.js'
import { SILENT_END } from '../group-report.js'
import { failureText, resultText } from '../report-text.js'

export interface ChildOutcome {
  readonly kind: 'result' | 'failure' | 'notice'
  readonly text: string
  readonly attachments: readonly AttachmentRef[]
  readonly errorCode: string | null
  /** The queued message that holds the words. */
  readonly messageId: string | null
}

interface Answered {
  readonly threadId: string
  readonly reference: string
  /** Null: the thread has no such child. */
  readonly child: ChildRecord | null
  readonly report: CallReport
  /** Milliseconds that the call waited for at most, where it is known. */
  readonly timeout: number | null
}

const FAILED = { kind: 'failure', attachments: [], messageId: null } as const

export async function childOutcome(db: Reader, answered: Answered): Promise<ChildOutcome> {
  const { child, report, timeout } = answered
  switch (report.kind) {
    case 'closed':
      return {
        ...FAILED,
        text: `The subagent was closed without a report (${report.status}).`,
        errorCode: 'subagent_closed',
      }
    case 'timed_out': {
      const limit = timeout === null ? 'in time' : `within ${timeout / 1000} seconds, the limit of this call`
      const stays = child?.resumable === true ? ' It goes on; what it reports comes as a message.' : ''
      return { ...FAILED, text: `The subagent did not answer ${limit}.${stays}`, errorCode: 'timeout' }
    }
    case 'notice':
      return { kind: 'notice', text: SILENT_END, attachments: [], errorCode: null, messageId: null }
    case 'result':
    case 'failure':
      return reported(db, answered, report)
  }
}

/** The words of the very report that is named: one that stays may have reported again since. */
async function reported(
  db: Reader,
  { threadId, reference, child }: Answered,
  { kind, messageId }: Extract<CallReport, { readonly kind: 'result' | 'failure' | 'notice' }>,
): Promise<ChildOutcome> {
  const stored = child?.report ?? null
  const message = messageId === undefined ? null : await findMessage(db, threadId, messageId)
  const row = message?.subagent_id === reference ? message : null
  // Anybody can send a signal that looks like a report (T10).
  if (child === null || (row === null && stored === null))
    return { ...FAILED, text: 'The subagent sent no report.', errorCode: 'subagent_failed' }
  const words = row?.content ?? ''
  const heading = kind === 'result' ? resultText(reference, '') : failureText(reference, '')
  const own = words.startsWith(heading) ? words.slice(heading.length) : words
  // Its message lists the files below the words; as a result it has them anyway.
  const isNewest = row === null || (stored !== null && own.startsWith(stored.text))
  const { text, attachments } =
    isNewest && stored !== null ? stored : { text: own, attachments: row?.attachments ?? [] }
  const failed = (isNewest && stored !== null ? stored.kind : kind) === 'failure'
  return {
    kind: failed ? 'failure' : 'result',
    text,
    attachments,
    errorCode: failed ? 'subagent_failed' : null,
    messageId: row?.id ?? null,
  }
}
