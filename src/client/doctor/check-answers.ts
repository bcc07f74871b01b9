import { LIMITS } from '../../protocol/limits.js'
import type { PendingRecord } from '../../store/calls/requests.js'
import { untakenAnswers } from '../../store/consistency.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import { announceAnswer } from '../announce-answer.js'
import { microseconds } from '../clock.js'
import { isOpen } from '../open-thread.js'
import { askWorkflow } from './ask-workflow.js'
import { repaired } from './finding.js'
import type { Doctor, Finding } from './finding.js'

/** Answers in the rows of their requests that the workflow waits for: their caller died before it told, and never came again. */
export async function checkAnswers(doctor: Doctor, thread: ThreadRecord): Promise<readonly Finding[]> {
  // T8: a thread that was asked to end takes no answer.
  if (!isOpen(thread)) return []
  const { context } = doctor
  const { id: threadId } = thread
  const store = await context.store()
  const before = microseconds() - LIMITS.underWay * 1000
  const untaken = await store.read((db) => untakenAnswers(db, { threadId, before }))
  if (untaken.length === 0) return []
  const unasked = `${untaken.length} answers were given, and no worker says whether it knows of them`
  const asked = await askWorkflow(doctor, { threadId, unasked })
  if (asked.snapshot === null) return asked.findings
  // What it was told of, it waits for no more, although its activity may not have begun.
  const waitedFor = new Set(asked.snapshot.pending.map(({ id }) => id))
  const findings: Finding[] = []
  for (const request of untaken)
    if (waitedFor.has(request.id)) findings.push(await toldAgain(doctor, request))
  return findings
}

function toldAgain(doctor: Doctor, request: PendingRecord): Promise<Finding> {
  const { thread_id: threadId, id } = request
  const problem = `Its request "${id}" was answered, and its workflow waits for the answer`
  const work = () => announceAnswer(doctor.context, request)
  return repaired(doctor, { kind: 'untold_answer', threadId, problem }, { work, done: 'It is told of it.' })
}
