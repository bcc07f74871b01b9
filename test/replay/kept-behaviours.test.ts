/** T11 guards what is recorded: whatever the workflow can do has to be in a history of the newest version. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type {
  CallModelAnswer,
  CompleteCallAnswer,
  EndAnswer,
  ExecuteToolAnswer,
  PendingAnswer,
  PrepareChildAnswer,
  PrepareMessageAnswer,
  ResultAnswer,
  RunEffectAnswer,
  WaitAnswer,
} from '../../src/protocol/activities.js'
import { ACTIVITIES } from '../../src/protocol/answer-problem.js'
import type {
  CheckChildrenAnswer,
  DeliverReportAnswer,
  ExpireChildAnswer,
} from '../../src/protocol/end-activities.js'
import { SIGNALS, UPDATES } from '../../src/protocol/messages.js'
import type { ThreadOperation } from '../../src/protocol/operations.js'
import { readHistories } from '../../src/testing/record-histories.js'
import { HISTORIES, keptFolders } from './kept-folders.js'
import { activityOf, attributesOf, isOf } from './mutations.js'
import type { KeptEvent } from './mutations.js'

const newest = (await keptFolders(HISTORIES)).at(-1) ?? ''
const events: KeptEvent[] = []
for await (const { history } of readHistories(join(HISTORIES, newest)))
  events.push(...(history as { readonly events: readonly KeptEvent[] }).events)

const scheduled = new Map<string, string>()
const answers = new Set<string>()
const operations = new Set<string>()
const outcomes = new Set<string>()
const endings = new Set<string>()

interface Answer {
  readonly type?: string
  readonly outcome?: string
  readonly reason?: string
  readonly operations?: readonly { readonly kind: string }[]
  readonly result?: Answer
}

interface Payloads {
  readonly payloads?: readonly { readonly data?: string }[]
}

function firstOf(payloads: unknown): unknown {
  const data = (payloads as Payloads | undefined)?.payloads?.[0]?.data
  return data === undefined ? undefined : JSON.parse(Buffer.from(data, 'base64').toString('utf8') || 'null')
}

/** Ids are of one run: the files come run by run, and each begins anew. */
for (const event of events) {
  const attributes = attributesOf(event)
  if (isOf(event, 'WORKFLOW_EXECUTION_STARTED')) scheduled.clear()
  if (isOf(event, 'ACTIVITY_TASK_SCHEDULED')) {
    scheduled.set(event.eventId ?? '', activityOf(event))
    const { end } = (firstOf(attributes['input']) ?? {}) as { end?: { reason: string } | null }
    if (end) endings.add(end.reason)
  }
  if (!isOf(event, 'ACTIVITY_TASK_COMPLETED')) continue
  const name = scheduled.get(String(attributes['scheduledEventId'])) ?? ''
  if (!name.startsWith('thread.')) continue
  const answer = firstOf(attributes['result']) as Answer
  answers.add(`${name.replace('thread.', '')} ${answer.type}`)
  if (answer.type === 'result' && answer.outcome !== undefined) outcomes.add(answer.outcome)
  for (const { kind } of answer.operations ?? []) operations.add(kind)
}

/** Every tag of a union: one more or one less makes this file not compile. */
type Tags<Union extends { readonly type: string }> = Readonly<Record<Union['type'], true>>

/** The answers that each activity of a step may give; a union without one of them makes this file not compile. */
type InStep<Union> = PendingAnswer | WaitAnswer | EndAnswer extends Union ? Union : never

/**
 * What is in no history. The types let every activity of a step say `pending`, `wait` and `end` (`InStep`), and the workflow
 * obeys each, so that later ones may say it; these never do in this version. `terminated` does the same whoever says it; `postpone_messages` needs a reset by an operator.
 */
const UNRECORDED: ReadonlySet<string> = new Set([
  ...['callModel pending', 'executeTool wait', 'executeTool end', 'completeCall pending'],
  ...['completeCall wait', 'completeCall end'],
  ...['prepareChild pending', 'prepareChild wait', 'prepareChild end'],
  ...['prepareMessage pending', 'prepareMessage wait', 'prepareMessage end'],
  ...['completeCall', 'prepareChild', 'prepareMessage', 'runEffect'].map((name) => `${name} terminated`),
  'postpone_messages',
  // The model call has stored that end: its answer has only the operation of the settle.
  'max_session_turns',
])

test('T11 every activity, signal and update of the protocol is in a history', () => {
  const names = new Set(events.filter((event) => isOf(event, 'ACTIVITY_TASK_SCHEDULED')).map(activityOf))
  expect(Object.values(ACTIVITIES).filter((name) => !names.has(name))).toEqual([])
  const signals = namesIn('WORKFLOW_EXECUTION_SIGNALED', 'signalName')
  expect(Object.values(SIGNALS).filter((name) => !signals.has(name))).toEqual([])
  const sent = namesIn('SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED', 'signalName')
  expect([...sent].toSorted()).toEqual(['childReport', 'operations', 'queueMessage', 'queueTool', 'stop'])
  const updates = events.flatMap((event) => {
    const { acceptedRequest } = attributesOf(event) as { acceptedRequest?: { input?: { name?: string } } }
    return acceptedRequest?.input?.name ?? []
  })
  expect(Object.values(UPDATES).filter((name) => !updates.includes(name))).toEqual([])
})

test.each([
  'ACTIVITY_TASK_CANCEL_REQUESTED',
  'ACTIVITY_TASK_CANCELED',
  'ACTIVITY_TASK_FAILED',
  'ACTIVITY_TASK_TIMED_OUT',
  'TIMER_STARTED',
  'TIMER_FIRED',
  'TIMER_CANCELED',
  'START_CHILD_WORKFLOW_EXECUTION_INITIATED',
  'CHILD_WORKFLOW_EXECUTION_STARTED',
  'CHILD_WORKFLOW_EXECUTION_COMPLETED',
  'CHILD_WORKFLOW_EXECUTION_CANCELED',
  'CHILD_WORKFLOW_EXECUTION_TERMINATED',
  'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED',
  'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED',
  'EXTERNAL_WORKFLOW_EXECUTION_SIGNALED',
  'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED',
  'EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED',
  'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
  'WORKFLOW_EXECUTION_CANCEL_REQUESTED',
  'WORKFLOW_EXECUTION_CONTINUED_AS_NEW',
  'WORKFLOW_EXECUTION_COMPLETED',
  'WORKFLOW_EXECUTION_FAILED',
  'WORKFLOW_EXECUTION_CANCELED',
  'WORKFLOW_EXECUTION_TERMINATED',
  'UPSERT_WORKFLOW_SEARCH_ATTRIBUTES',
])('T11 an event %s is in a history', (type) => {
  expect(events.some((event) => isOf(event, type))).toBe(true)
})

test('T11 every answer of an activity is in a history', () => {
  const possible = {
    callModel: tags<InStep<CallModelAnswer>>({
      answered: true,
      begun: true,
      moved: true,
      activates: true,
      refused: true,
      nothing_to_do: true,
      interrupted: true,
      pending: true,
      wait: true,
      end: true,
      terminated: true,
    }),
    executeTool: tags<InStep<ExecuteToolAnswer>>({
      result: true,
      kind: true,
      remote: true,
      pending: true,
      wait: true,
      end: true,
      terminated: true,
    }),
    completeCall: tags<InStep<CompleteCallAnswer>>({
      result: true,
      pending: true,
      wait: true,
      end: true,
      terminated: true,
    }),
    prepareChild: tags<InStep<PrepareChildAnswer>>({
      children: true,
      result: true,
      pending: true,
      wait: true,
      end: true,
      terminated: true,
    }),
    prepareMessage: tags<InStep<PrepareMessageAnswer>>({
      message: true,
      result: true,
      pending: true,
      wait: true,
      end: true,
      terminated: true,
    }),
    deliverReport: tags<DeliverReportAnswer>({ delivered: true, parent_gone: true }),
    checkChildren: tags<CheckChildrenAnswer>({ checked: true }),
    expireChild: tags<ExpireChildAnswer>({ expired: true }),
    runEffect: tags<RunEffectAnswer>({ ran: true, terminated: true }),
  }
  const missing = Object.entries(possible).flatMap(([activity, types]) =>
    types.map((type) => `${activity} ${type}`).filter((one) => !answers.has(one) && !UNRECORDED.has(one)),
  )
  expect(missing).toEqual([])
})

test('T11 every outcome of a call, operation and end of a run is in a history', () => {
  const possible: Readonly<Record<ResultAnswer['outcome'], true>> = {
    ...{ succeeded: true, failed: true, denied: true, interrupted: true, cancelled: true, unknown: true },
  }
  expect(Object.keys(possible).filter((one) => !outcomes.has(one) && !UNRECORDED.has(one))).toEqual([])
  const kinds: Readonly<Record<ThreadOperation['kind'], true>> = {
    ...{ queue_message: true, queue_tool: true, schedule_effect: true, remove_effect: true },
    ...{ remove_queued: true, set_env: true, hand_off: true, force_turn: true, stop_run: true },
    ...{
      terminate: true,
      defer_child: true,
      child_closed: true,
      postpone_messages: true,
      signal_thread: true,
    },
  }
  expect(Object.keys(kinds).filter((kind) => !operations.has(kind) && !UNRECORDED.has(kind))).toEqual([])
  const reasons = [
    ...['stop_on_response', 'stop_tool', 'session_stop', 'session_fail', 'max_steps', 'max_session_turns'],
    ...['repeated_tool_error', 'nothing_to_do', 'model_failed', 'blocked', 'stopped', 'terminated'],
  ]
  expect(reasons.filter((reason) => !endings.has(reason) && !UNRECORDED.has(reason))).toEqual([])
})

function tags<Union extends { readonly type: string }>(table: Tags<Union>): readonly string[] {
  return Object.keys(table)
}

function namesIn(type: string, attribute: string): ReadonlySet<string> {
  const found = events.flatMap((event) => {
    const name = isOf(event, type) ? attributesOf(event)[attribute] : undefined
    return typeof name === 'string' ? [name] : []
  })
  return new Set(found)
}
