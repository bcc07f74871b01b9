import type {
  CompleteCallAnswer,
  CompleteCallInput,
  Completion,
  ResultAnswer,
} from '../../src/protocol/activities.js'
import { resultOperationId } from '../../src/protocol/ids.js'
import type { MessageRow, ThreadRow } from '../store/rows.js'
import { chosenResult } from './choices.js'
import { commitResult, enterCall } from './hold-call.js'
import type { Attempt, Steps } from './steps.js'
import { toldOf } from './told-of.js'

type Reports = Extract<Completion, { readonly kind: 'children' }>['reports']

const SUCCEEDED: ResultAnswer = { type: 'result', outcome: 'succeeded' }

/** The second half of a call whose answer came from elsewhere. */
export function* completeCall(attempt: Attempt, input: CompleteCallInput): Steps<CompleteCallAnswer> {
  const { world } = attempt
  const { by, callId } = input
  const entered = enterCall<CompleteCallAnswer>(attempt, input, {
    id: resultOperationId(callId),
    opens: false,
  })
  if (entered.kind === 'answered') return entered.answer
  yield
  const { thread } = entered
  world.saw(`completion ${by.kind}`)
  switch (by.kind) {
    case 'children':
      return commitResult(attempt, entered, input, {
        make: () => childrenResult(attempt, thread, { callId, reports: by.reports }),
      })
    case 'sent':
      return commitResult(attempt, entered, input, { make: () => SUCCEEDED })
    case 'frame':
      return commitResult(attempt, entered, input, { make: () => SUCCEEDED, closes: callId })
    case 'response':
      return commitResult(attempt, entered, input, {
        make: () => responseResult(attempt, thread, by.requestId),
      })
    case 'remote':
      return commitResult(attempt, entered, input, { make: () => remoteResult(attempt, thread, callId) })
  }
}

function childrenResult(
  { world }: Attempt,
  thread: ThreadRow,
  { callId, reports }: { readonly callId: string; readonly reports: Reports },
): ResultAnswer {
  for (const { reference, report } of reports) {
    world.saw(`report ${report.kind}`)
    const child = thread.children.get(reference)
    const words = wordsOf(thread, { callId, report, left: child?.report ?? null })
    const by = report.kind === 'timed_out' ? 'timeout' : 'result'
    // One report may answer several calls, of which one waits.
    for (const answered of new Set([callId, ...(words?.invocations ?? [])]))
      toldOf(world, { thread: thread.id, child: reference, callId: answered, by })
    // Its words are in the result now.
    drop(words)
    if (child === undefined) continue
    if (report.kind === 'closed') child.closed = true
    if (report.kind !== 'timed_out' || child.resumable) continue
    child.closed = true
    const ended = world.threads.get(reference)
    if (ended !== undefined) ended.terminateRequested = true
    if (child.report !== null) drop(thread.messages.get(child.report))
  }
  return SUCCEEDED
}

interface Answered {
  readonly callId: string
  readonly report: Reports[number]['report']
  /** The child's last report. */
  readonly left: string | null
}

/** One that closed may have reported to the store before it could say so. */
function wordsOf(thread: ThreadRow, { callId, report, left }: Answered): MessageRow | undefined {
  if (report.kind === 'timed_out') return undefined
  if (report.kind !== 'closed') return thread.messages.get(report.messageId ?? '')
  const row = thread.messages.get(left ?? '')
  return row?.invocations?.includes(callId) === true ? row : undefined
}

function drop(row: MessageRow | undefined): void {
  if (row?.status === 'pending') row.status = 'dropped'
}

function responseResult({ world }: Attempt, thread: ThreadRow, requestId: string): ResultAnswer {
  const request = thread.requests.get(requestId)
  if (request?.state === 'answered') return chosenResult(world, thread, `${requestId}-answer`)
  // A bare update said that there is an answer.
  if (request !== undefined) request.state = 'closed'
  return { type: 'result', outcome: 'failed', errorDigest: 'invalid' }
}

function remoteResult({ world }: Attempt, thread: ThreadRow, callId: string): ResultAnswer {
  const remote = thread.remotes.get(callId)
  if (remote?.state === 'answered') return chosenResult(world, thread, `${callId}-remote`)
  const isTaken = remote?.state === 'started'
  if (remote !== undefined) remote.state = 'unanswered'
  return { type: 'result', outcome: isTaken ? 'unknown' : 'failed' }
}
