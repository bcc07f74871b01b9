import type { ThreadClient } from 'everthread/client'

import type { Deed } from '../desk/deeds.js'
import { readJournal } from '../desk/journal.js'
import type { Stamp } from '../desk/journal.js'
import { planThread } from '../driver/thread-plan.js'
import type { Finding } from '../finding.js'
import type { Acknowledgement } from '../processes/acknowledgement.js'
import type { AnswerLine } from '../processes/answer-line.js'
import type { ReceivedEvent } from '../processes/received-event.js'
import { checkAnswers } from './check-answers.js'
import { checkBudgets } from './check-budgets.js'
import { checkCalls } from './check-calls.js'
import { checkChildren } from './check-children.js'
import { checkDeltas } from './check-deltas.js'
import { checkDoctor } from './check-doctor.js'
import { checkEnds } from './check-ends.js'
import { checkEvents } from './check-events.js'
import { checkFiles } from './check-files.js'
import type { FileCheck } from './check-files.js'
import { checkHistory } from './check-histories.js'
import { checkMessages, checkPositions, checkWaiting } from './check-messages.js'
import { checkModels } from './check-models.js'
import { checkWrites } from './check-writes.js'
import { gatherEvidence } from './evidence.js'
import { countCut } from './count-cut.js'
import { grouped } from './grouped.js'
import { several } from './several.js'
import { readAllThreads } from './thread-record.js'
import type { ThreadRecord } from './thread-record.js'
import { unplacedMessages } from './ask-store.js'
import { isStoppedSubagent } from './wait-until-quiet.js'
import type { Unplaced } from './ask-store.js'

/** Whom and what the checks ask. */
export interface CheckedPlace {
  readonly threads: ThreadClient
  readonly seed: number
  /** Journals. */
  readonly deeds: string
  readonly acknowledged: string
  readonly received: string
  readonly answers: string
  readonly address: string
  readonly database: string
  readonly store: { readonly blobs: string; readonly secretKey: string }
}

interface Checked {
  readonly findings: readonly Finding[]
  /** How much there was to check. */
  readonly counts: Readonly<Record<string, number>>
}

/** Everything that was promised, from outside: the client's read API, journals of our own, the command. */
export async function checkAll(place: CheckedPlace): Promise<Checked> {
  const { threads } = place
  const deeds = readJournal<Deed>(place.deeds)
  const acknowledged = readJournal<Acknowledgement>(place.acknowledged)
  const received = readJournal<ReceivedEvent>(place.received)
  const answers = readJournal<AnswerLine>(place.answers)
  const evidence = gatherEvidence(deeds, received)
  const records = await readAllThreads(threads)
  const byId = new Map(records.map((record) => [record.threadId, record]))
  const receivedBy = grouped(received, ({ threadId }) => threadId)
  const deedsBy = grouped(deeds, ({ threadId }) => threadId)
  const checks = await several(records, async (record): Promise<FileCheck> => {
    const { threadId } = record
    const own = deedsBy.get(threadId) ?? []
    const { findings, files } = await checkFiles(threads, record)
    return {
      files,
      findings: [
        ...checkCalls(record, own, evidence, byId.get(record.parent ?? '')?.closed),
        ...checkModels(record, own, evidence),
        ...(await checkWrites(threads, record, byId)),
        ...checkEvents(record, receivedBy.get(threadId) ?? []),
        ...checkDeltas(record, receivedBy.get(threadId) ?? []),
        ...checkChildren(record, records),
        ...findings,
        ...(await checkHistory(threads, record)),
      ],
    }
  })
  const sent = acknowledged.filter(({ kind }) => kind === 'sent')
  const budgets = await checkBudgets(threads, place.database)
  const findings = [
    ...budgets.findings,
    ...checks.flatMap((checked) => checked.findings),
    ...(await checkSubmissions(place, byId, acknowledged)),
    ...checkAnswers(answers),
    ...checkDoctor(place),
  ]
  const of = (kind: Deed['kind']): number => deeds.filter((deed) => deed.kind === kind).length
  return {
    findings,
    counts: {
      threads: records.length,
      subagents: records.filter(({ parent }) => parent !== null).length,
      messages: sent.length,
      queue_full: acknowledged.filter(({ kind }) => kind === 'full').length,
      answers: answers.filter(({ kind }) => kind === 'returned').length,
      side_effects: of('tool'),
      model_requests: of('model'),
      effects: of('effect'),
      events: received.length,
      by_http: [...acknowledged, ...received].filter(({ way }) => way === 'http').length,
      http_answers: answers.filter(({ way, kind }) => way === 'http' && kind === 'returned').length,
      files: checks.reduce((sum, { files }) => sum + files, 0),
      ...budgets.counts,
      ...countCut(records, deeds),
    },
  }
}

/** What the client has sent is where its plan says, and has come to its one end. */
async function checkSubmissions(
  { threads, database, seed }: CheckedPlace,
  records: ReadonlyMap<string, ThreadRecord>,
  acknowledged: Plans['acknowledged'],
): Promise<readonly Finding[]> {
  const unplaced = await unplacedMessages(database)
  const kept = await keptByStopped(threads, unplaced)
  const sent = acknowledged.filter(({ kind }) => kind === 'sent')
  return [
    ...checkPlans(records, { acknowledged, unplaced, seed }),
    ...checkWaiting(unplaced, kept),
    ...(await checkEnds(threads, sent, { records, kept })),
  ]
}

/** Messages that stopped subagents say they keep. */
async function keptByStopped(
  threads: ThreadClient,
  unplaced: ReadonlyMap<string, Unplaced>,
): Promise<ReadonlySet<string>> {
  const waiting = [...unplaced.values()].filter(({ status }) => status === 'pending')
  const ids = [...new Set(waiting.map(({ threadId }) => threadId))]
  const snapshots = await several(ids, (threadId) => threads.get(threadId).snapshot())
  return new Set(snapshots.filter(isStoppedSubagent).flatMap(({ queue }) => queue.map(({ id }) => id)))
}

interface Plans {
  readonly seed: number
  readonly acknowledged: readonly (Acknowledgement & Stamp)[]
  readonly unplaced: ReadonlyMap<string, Unplaced>
}

function checkPlans(
  byId: ReadonlyMap<string, ThreadRecord>,
  { seed, acknowledged, unplaced }: Plans,
): readonly Finding[] {
  const byThread = grouped(acknowledged, ({ threadId }) => threadId)
  const planned = [...byThread].flatMap(([threadId, lines]): readonly Finding[] => {
    const record = byId.get(threadId)
    if (record === undefined)
      return [{ kind: 'lost', threadId, id: threadId, problem: 'A thread that was created is not there.' }]
    const plan = planThread(seed, Number(threadId.split('-').at(-1)))
    return checkMessages(record, { plan, acknowledged: lines, unplaced })
  })
  const others = [...byId.values()].filter(({ threadId }) => !byThread.has(threadId))
  return [...planned, ...others.flatMap(checkPositions)]
}
