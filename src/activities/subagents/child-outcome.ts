/**
 * The result of a call that waited for children.
 *
 * Owns: the outcome of each child for the call, and the records of children that closed or timed out.
 * Does not own: the texts of reports and groups (report-text.ts), the commit of the result (tool/commit-result.ts).
 */
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import type { CompleteCallInput, Completion } from '../../protocol/activities.js'
import type { AttachmentRef, Message } from '../../protocol/message.js'
import type { CallReport } from '../../protocol/status.js'
import { findMessage } from '../../store/messages/transcript.js'
import type { Reader, Store, Writer } from '../../store/store.js'
import { dropReports, findChild } from '../../store/threads/children.js'
import type { ChildRecord, StoredReport } from '../../store/threads/children.js'
import { requestTermination } from '../../store/threads/threads.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { activePrompt } from '../../definitions/plan/plan-content.js'
import { failureResult, successResult } from '../tool/call-result.js'
import type { CallResult } from '../tool/call-result.js'
import type { CompletedCall } from '../tool/commit-result.js'
import type { HeldCall } from '../tool/held-call.js'
import { recordClosedChild } from './closed-child.js'
import { groupFiles, groupText, nameOfChild, reportText, SILENT_END } from './report-text.js'

/** A child of the call, and its outcome. */
interface Answered {
  readonly reference: string
  readonly child: ChildRecord | null
  readonly report: CallReport
  readonly outcome: ChildOutcome
}

interface Waiting {
  readonly input: CompleteCallInput
  readonly content: PlanContent
  readonly call: HeldCall
  readonly hooks: HookBatch
}

/**
 * Builds the result of a call that waited for children: each of them has reported, closed or timed out (T7).
 */
export async function resultOfChildren(
  store: Store,
  { input, content, call, hooks }: Waiting,
  reports: Extract<Completion, { readonly kind: 'children' }>['reports'],
): Promise<CompletedCall> {
  const { subagents } = activePrompt(content, input)
  const answered: Answered[] = []
  for (const { reference, report } of reports)
    answered.push(
      await answerOf(store, input, {
        ...{ reference, report },
        timeoutOf: ({ agent }) =>
          Object.hasOwn(subagents, agent) ? (subagents[agent]?.timeout ?? null) : null,
      }),
    )
  const [first] = answered
  if (first === undefined) throw new Error(`Expected the call ${input.callId} to have children, got none.`)
  const isGroup = answered.length > 1 || first.child?.spawn_group_id === input.callId
  const { messageId } = first.outcome
  return {
    result: isGroup ? groupResult(answered) : singleResult(first),
    alongside: {
      hooks,
      ...(!isGroup && messageId !== null && { reportId: messageId }),
      opening: async (tx) => {
        for (const one of answered) await recordEnd(tx, call, one)
        if (isGroup) await dropIncluded(tx, call, answered)
        return []
      },
    },
  }
}

interface Reported extends Pick<Answered, 'reference' | 'report'> {
  readonly timeoutOf: (child: ChildRecord) => number | null
}

function answerOf(
  store: Store,
  { threadId, callId }: CompleteCallInput,
  { reference, report, timeoutOf }: Reported,
): Promise<Answered> {
  return store.read(async (db) => {
    const child = await findChild(db, threadId, reference)
    const timeout = child === null ? null : timeoutOf(child)
    const outcome = await childOutcome(db, { threadId, callId, reference, child, report, timeout })
    return { reference, child, report, outcome }
  })
}

/**
 * The text is only the mapped payload; the registry note names the reference of a resumable child.
 */
function singleResult({ reference, outcome }: Answered): CallResult {
  const { kind, text, attachments, errorCode } = outcome
  const more = { attachments, subagentId: reference }
  return kind === 'failure' ? failureResult(text, errorCode, more) : successResult(text, more)
}

/** The result of a group is an error only if all of its children failed. */
function groupResult(answered: readonly Answered[]): CallResult {
  const members = answered.map(({ reference, child, outcome }) => ({
    reference,
    name: child === null ? 'Unknown' : nameOfChild(child),
    outcome: outcome.kind,
    text: outcome.text,
    attachments: outcome.attachments,
  }))
  const { attachments, note } = groupFiles(members)
  const subagentId = members.length === 1 ? (members[0]?.reference ?? null) : null
  const text = `${groupText(members)}${note}`
  return members.every(({ outcome }) => outcome === 'failure')
    ? failureResult(text, 'subagent_failed', { attachments, subagentId })
    : successResult(text, { attachments, subagentId })
}

/** Records the end of a child that closed or timed out. */
async function recordEnd(
  tx: Writer,
  { input: { threadId }, scope, now }: HeldCall,
  { reference, child, report }: Answered,
): Promise<void> {
  if (report.kind === 'closed')
    await recordClosedChild(tx, { threadId, reference, status: report.status, scope, now })
  if (report.kind !== 'timed_out' || child === null || child.resumable) return
  // T8: its workflow is terminated, nothing of it runs from now on, and a later report is ignored.
  await requestTermination(tx, { threadId: reference, reason: 'Its parent waits no longer.', now })
  await recordClosedChild(tx, { threadId, reference, status: 'terminated', scope, now })
  const messageId = (await findChild(tx, threadId, reference))?.report?.messageId
  await dropReports(tx, {
    threadId,
    references: [reference],
    ids: messageId === undefined ? [] : [messageId],
  })
}

/** Drops the reports whose text the result contains. */
async function dropIncluded(
  tx: Writer,
  { input: { threadId } }: HeldCall,
  answered: readonly Answered[],
): Promise<void> {
  const taken = answered.filter(({ outcome }) => outcome.messageId !== null)
  const ids = taken.map(({ outcome }) => outcome.messageId ?? '')
  await dropReports(tx, { threadId, references: taken.map(({ reference }) => reference), ids })
}

/** The outcome of a child for the call: its text from the store, or the known facts of its end (T7). */
interface ChildOutcome {
  readonly kind: 'result' | 'failure' | 'notice'
  readonly text: string
  readonly attachments: readonly AttachmentRef[]
  readonly errorCode: string | null
  /** The queued message that holds its report. */
  readonly messageId: string | null
}

interface AnsweringChild {
  readonly threadId: string
  readonly callId: string
  readonly reference: string
  /** Null: the thread has no such child. */
  readonly child: ChildRecord | null
  readonly report: CallReport
  /** The limit of the call in milliseconds, if it is known. */
  readonly timeout: number | null
}

const FAILED = { kind: 'failure', attachments: [], messageId: null } as const

async function childOutcome(db: Reader, answered: AnsweringChild): Promise<ChildOutcome> {
  const { child, report, timeout } = answered
  switch (report.kind) {
    case 'closed':
      return outcomeOfClosed(db, answered, report.status)
    case 'timed_out': {
      const limit = timeout === null ? 'in time' : `within ${timeout / 1000} seconds, the limit of this call`
      const text = `The subagent did not answer ${limit}.${child === null ? '' : textAfterLimit(child)}`
      return { ...FAILED, text, errorCode: 'timeout' }
    }
    case 'notice':
      return { kind: 'notice', text: SILENT_END, attachments: [], errorCode: null, messageId: null }
    case 'result':
    case 'failure': {
      const { kind, messageId = null } = report
      return outcomeOfReport(db, answered, { kind, messageId })
    }
  }
}

function textAfterLimit({ resumable, reference }: ChildRecord): string {
  return resumable === true
    ? ' It goes on; what it reports comes as a message.'
    : ` It was ended; its reference was ${reference}.`
}

/** The child may have stored its report before it could signal its parent's workflow. */
async function outcomeOfClosed(db: Reader, answered: AnsweringChild, status: string): Promise<ChildOutcome> {
  const stored = answered.child?.report ?? null
  if (stored?.invocations?.includes(answered.callId) === true)
    return outcomeOfReport(db, answered, { kind: stored.kind, messageId: stored.messageId ?? null })
  const text = `The subagent was closed without a report (${status}).`
  return { ...FAILED, text, errorCode: 'subagent_closed' }
}

/** Returns the text of the named report: a resumable child may have reported again since. */
async function outcomeOfReport(
  db: Reader,
  { threadId, reference, child }: AnsweringChild,
  { kind, messageId }: { readonly kind: 'result' | 'failure'; readonly messageId: string | null },
): Promise<ChildOutcome> {
  const stored = child?.report ?? null
  const found = messageId === null ? null : await findMessage(db, threadId, messageId)
  const row = found?.subagent_id === reference ? found : null
  const named = row === null ? null : parseReport(row, { reference, kind })
  // The registry holds the newest report, whole.
  const isNewest = row === null || (stored !== null && row.content === reportText({ reference, ...stored }))
  const report = isNewest ? stored : named
  // Any client can send a signal that looks like a report (T10).
  if (report === null)
    return { ...FAILED, text: 'The subagent sent no report.', errorCode: 'subagent_failed' }
  const { text, attachments } = report
  const errorCode = report.kind === 'failure' ? 'subagent_failed' : null
  return { kind: report.kind, text, attachments, errorCode, messageId: row?.id ?? null }
}

/** Returns the child's own text without the frame of its message. */
function parseReport(
  { content, attachments }: Message,
  { reference, kind }: { readonly reference: string; readonly kind: 'result' | 'failure' },
): StoredReport {
  const heading = reportText({ reference, kind, text: '', attachments: [] })
  const files = reportText({ reference, kind, text: '', attachments }).slice(heading.length)
  const words = content ?? ''
  const text = words.startsWith(heading) ? words.slice(heading.length) : words
  return { kind, text: text.endsWith(files) ? text.slice(0, text.length - files.length) : text, attachments }
}
