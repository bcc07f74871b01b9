import type { CompleteCallAnswer, CompleteCallInput, Completion } from '../../protocol/complete-call.js'
import type { CallReport } from '../../protocol/child-activities.js'
import { resultOperationId } from '../../protocol/ids.js'
import { findChild } from '../../store/children.js'
import type { ChildRecord } from '../../store/children.js'
import { dropReports } from '../../store/drop-reports.js'
import type { Store, Writer } from '../../store/store.js'
import { requestTermination } from '../../store/threads.js'
import type { ActivityDependencies } from '../dependencies.js'
import { activePrompt } from '../execute-tool/active-prompt.js'
import { beginCall } from '../execute-tool/begin-call.js'
import type { HeldCall } from '../execute-tool/begin-call.js'
import { callHooks } from '../execute-tool/call-hooks.js'
import { failed, succeeded } from '../execute-tool/call-result.js'
import type { CallResult } from '../execute-tool/call-result.js'
import { commitResult } from '../execute-tool/commit-result.js'
import { groupFiles, groupText, nameOfChild } from '../group-report.js'
import { keptPlan } from '../plan-content.js'
import { recordClosedChild } from '../record-closed-child.js'
import { childOutcome } from './child-outcome.js'
import type { ChildOutcome } from './child-outcome.js'

/** A child that the call has waited for, and what came of it. */
interface Answered {
  readonly reference: string
  readonly child: ChildRecord | null
  readonly report: CallReport
  readonly outcome: ChildOutcome
}

/** All that the call waited for have answered, have closed, or are waited for no longer (T7). */
export async function completeByChildren(
  dependencies: ActivityDependencies,
  input: CompleteCallInput,
  { reports }: Extract<Completion, { readonly kind: 'children' }>,
): Promise<CompleteCallAnswer> {
  const { store } = dependencies
  const content = await keptPlan(dependencies, input.plan)
  const hooks = callHooks(dependencies, { input, content })
  const operationId = resultOperationId(input.callId)
  const begun = await beginCall(store, input, { operationId, again: true, opens: false })
  if (begun.kind === 'answered') return begun.answer
  const { call } = begun
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
  return commitResult(store, call, isGroup ? groupResult(answered) : singleResult(first), {
    hooks,
    ...(!isGroup && messageId !== null && { reportId: messageId }),
    opening: async (tx) => {
      for (const one of answered) await recordEnd(tx, call, one)
      if (isGroup) await dropTaken(tx, call, answered)
      return []
    },
  })
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

/** The text is the mapped payload and nothing else; by what a child that stays is messaged, the registry note says. */
function singleResult({ reference, outcome }: Answered): CallResult {
  const { kind, text, attachments, errorCode } = outcome
  const more = { attachments, subagentId: reference }
  return kind === 'failure' ? failed(text, errorCode, more) : succeeded(text, more)
}

/** An error only where none of them has a result. */
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
    ? failed(text, 'subagent_failed', { attachments, subagentId })
    : succeeded(text, { attachments, subagentId })
}

/** What the registry says of a child that closed, or that nobody waits for any more. */
async function recordEnd(
  tx: Writer,
  { input: { threadId }, scope, now }: HeldCall,
  { reference, child, report }: Answered,
): Promise<void> {
  if (report.kind === 'closed')
    await recordClosedChild(tx, { threadId, reference, status: report.status, scope, now })
  if (report.kind !== 'timed_out' || child === null || child.resumable) return
  // T8: its workflow is told, and nothing of it runs from here on; what it would still say is ignored.
  await requestTermination(tx, { threadId: reference, reason: 'Its parent waits no longer.', now })
  await recordClosedChild(tx, { threadId, reference, status: 'terminated', scope, now })
  const told = (await findChild(tx, threadId, reference))?.report?.messageId
  await dropReports(tx, { threadId, references: [reference], ids: told === undefined ? [] : [told] })
}

/** Their words are in the result now. */
async function dropTaken(
  tx: Writer,
  { input: { threadId } }: HeldCall,
  answered: readonly Answered[],
): Promise<void> {
  const taken = answered.filter(({ outcome }) => outcome.messageId !== null)
  const ids = taken.map(({ outcome }) => outcome.messageId ?? '')
  await dropReports(tx, { threadId, references: taken.map(({ reference }) => reference), ids })
}
