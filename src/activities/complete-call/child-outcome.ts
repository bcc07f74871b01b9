/** What a child's answer to a call comes to: its own words from the store, or what is known of it (T7). */
import type { CallReport } from '../../protocol/child-activities.js'
import type { AttachmentRef, Message } from '../../protocol/message.js'
import type { ChildRecord, StoredReport } from '../../store/children.js'
import { findMessage } from '../../store/read-messages.js'
import type { Reader } from '../../store/store.js'
import { SILENT_END } from '../group-report.js'
import { reportText } from '../report-text.js'

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
  readonly callId: string
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
      return closed(db, answered, report.status)
    case 'timed_out': {
      const limit = timeout === null ? 'in time' : `within ${timeout / 1000} seconds, the limit of this call`
      const text = `The subagent did not answer ${limit}.${child === null ? '' : afterLimit(child)}`
      return { ...FAILED, text, errorCode: 'timeout' }
    }
    case 'notice':
      return { kind: 'notice', text: SILENT_END, attachments: [], errorCode: null, messageId: null }
    case 'result':
    case 'failure': {
      const { kind, messageId = null } = report
      return reported(db, answered, { kind, messageId })
    }
  }
}

function afterLimit({ resumable, reference }: ChildRecord): string {
  return resumable === true
    ? ' It goes on; what it reports comes as a message.'
    : ` It was ended; its reference was ${reference}.`
}

/** It may have reported to the store before it could tell its parent's workflow. */
async function closed(db: Reader, answered: Answered, status: string): Promise<ChildOutcome> {
  const stored = answered.child?.report ?? null
  if (stored?.invocations?.includes(answered.callId) === true)
    return reported(db, answered, { kind: stored.kind, messageId: stored.messageId ?? null })
  const text = `The subagent was closed without a report (${status}).`
  return { ...FAILED, text, errorCode: 'subagent_closed' }
}

/** The words of the very report that is named: one that stays may have reported again since. */
async function reported(
  db: Reader,
  { threadId, reference, child }: Answered,
  { kind, messageId }: { readonly kind: 'result' | 'failure'; readonly messageId: string | null },
): Promise<ChildOutcome> {
  const stored = child?.report ?? null
  const found = messageId === null ? null : await findMessage(db, threadId, messageId)
  const row = found?.subagent_id === reference ? found : null
  const told = row === null ? null : toldIn(row, { reference, kind })
  // The registry has the newest one, whole.
  const isNewest = row === null || (stored !== null && row.content === reportText({ reference, ...stored }))
  const report = isNewest ? stored : told
  // Anybody can send a signal that looks like a report (T10).
  if (report === null)
    return { ...FAILED, text: 'The subagent sent no report.', errorCode: 'subagent_failed' }
  const { text, attachments } = report
  const errorCode = report.kind === 'failure' ? 'subagent_failed' : null
  return { kind: report.kind, text, attachments, errorCode, messageId: row?.id ?? null }
}

/** The child's own words, without what stands around them in a message. */
function toldIn(
  { content, attachments }: Message,
  { reference, kind }: { readonly reference: string; readonly kind: 'result' | 'failure' },
): StoredReport {
  const heading = reportText({ reference, kind, text: '', attachments: [] })
  const files = reportText({ reference, kind, text: '', attachments }).slice(heading.length)
  const words = content ?? ''
  const text = words.startsWith(heading) ? words.slice(heading.length) : words
  return { kind, text: text.endsWith(files) ? text.slice(0, text.length - files.length) : text, attachments }
}
