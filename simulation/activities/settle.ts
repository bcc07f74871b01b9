import type {
  PrepareChildAnswer,
  PrepareMessageAnswer,
  RunEffectAnswer,
  RunEffectInput,
} from '../../src/protocol/activities.js'
import type { SettleAnswer, SettleInput } from '../../src/protocol/end-activities.js'
import { phaseFact } from '../../src/protocol/facts.js'
import { runIdOf, settleOperationId, stepIdOf } from '../../src/protocol/ids.js'
import type { RunOutcome } from '../../src/protocol/status.js'
import type { ThreadOperation } from '../../src/protocol/operations.js'
import { rejectWaiting } from '../store/messages.js'
import type { ChildRow, LoggedFact, Operation, ThreadRow } from '../store/rows.js'
import type { World } from '../world.js'
import { chosenOperations } from './choices.js'
import { endCall, placeCall } from './hold-call.js'
import { anyThread } from './registered.js'
import { append, commit, Cut, finish, hold, openThread, recorded, takeFacts, TERMINATED } from './steps.js'
import type { Attempt, Steps } from './steps.js'

const SETTLED: SettleAnswer = { type: 'settled' }

/** The end of a run, of a thread, or of both, in one transaction (T8). */
export function* settle(attempt: Attempt, sent: SettleInput): Steps<SettleAnswer> {
  yield
  const thread = anyThread(attempt, sent)
  const id = settleOperationId(sent.settle)
  if (thread === null) return SETTLED
  const { input, ended } = withWorkAhead(attempt, thread, sent)
  const known = thread.operations.get(id)
  // It may have been stored when nobody heard so, and is asked for again; after a reset others may be unacknowledged.
  if (known !== undefined && (input.close === null || thread.closed !== null)) {
    for (const { reference } of input.closed ?? []) closeChild(thread, reference)
    takeBack(attempt, thread, input)
    return { ...answerOf(thread, input), ...ended }
  }
  const { end, close } = input
  if (end !== null) closeOpenCalls(thread, input, end.reason === 'terminated' ? 'cancelled' : 'interrupted')
  const facts = withoutStoredMarks(thread, input, takeFacts(thread, input))
  if (thread.closed === null || end !== null) append(thread, facts)
  for (const effectId of input.givenUp ?? []) giveUp(thread, effectId)
  for (const { reference } of input.closed ?? []) closeChild(thread, reference)
  takeBack(attempt, thread, input)
  if (end !== null) endRun(thread, input, end.outcome)
  if (close !== null) closeThread(attempt, thread, input)
  thread.status = input.snapshot.status
  const answer = { ...answerOf(thread, input), ...ended }
  finish(attempt, thread, id, answer)
  return answer
}

interface WorkAhead {
  readonly input: SettleInput
  readonly ended: Pick<SettleAnswer, 'ended'>
}

/** What an activity that nobody heard of did ahead is unacknowledged, too; an end of the run that it stored stays. */
function withWorkAhead({ world }: Attempt, thread: ThreadRow, input: SettleInput): WorkAhead {
  const { end, run, unacknowledgedStep: from, unacknowledged = [] } = input
  if (end === null || from === undefined) return { input, ended: {} }
  const isAhead = (id: string): boolean => {
    const [, of, step] = /^(?:model|call)_(\d+)_(\d+)/.exec(id)?.map(Number) ?? []
    return of === run && step !== undefined && step >= from
  }
  const ahead = [...thread.operations.keys()].filter(isAhead)
  // An earlier attempt went further than the one whose answer the workflow has.
  if (ahead.some((id) => isAnsweredStep(thread, id, { run, after: end.steps }))) {
    world.saw('an end that does not know of the last steps')
    world.log.unheard.add(thread.id)
  }
  const all = [...new Set([...unacknowledged, ...ahead])]
  const isOver = thread.runs.get(run)?.ended === true
  const own = ({ scope }: LoggedFact): boolean => scope?.runId === runIdOf(run)
  return {
    input: {
      ...input,
      unacknowledged: all,
      end: isOver ? null : end,
      facts: isOver ? input.facts.filter((fact) => !own(fact)) : input.facts,
    },
    ended: { ended: { reason: end.reason, steps: end.steps } },
  }
}

function isAnsweredStep(
  { operations }: ThreadRow,
  id: string,
  { run, after }: { readonly run: number; readonly after: number },
): boolean {
  const [, of, step = 0] = /^model_(\d+)_(\d+)$/.exec(id)?.map(Number) ?? []
  const answer = operations.get(id)?.answer as { readonly type?: string } | null | undefined
  return of === run && step > after && answer?.type === 'answered'
}

function answerOf(thread: ThreadRow, input: SettleInput): SettleAnswer {
  const operations = unheardOperations(thread, input)
  return {
    ...SETTLED,
    ...(operations.length > 0 && { operations }),
    ...(input.close === null && thread.terminateRequested && { terminated: true }),
  }
}

/** What was committed with answers that nobody heard; a tool of the step has its result by now. */
function unheardOperations(
  thread: ThreadRow,
  { unacknowledged = [], givenUp = [] }: SettleInput,
): readonly ThreadOperation[] {
  return [...unacknowledged, ...givenUp].flatMap((id) => {
    const answer = thread.operations.get(id)?.answer as { operations?: readonly ThreadOperation[] } | null
    const operations = answer?.operations ?? []
    return operations.filter(
      (operation) => operation.kind !== 'queue_tool' || thread.calls.get(operation.id)?.status === 'open',
    )
  })
}

/** Subagents, and messages to one, that were written for a call of which nobody heard (T7): its own result says that it was cut. */
function takeBack({ world }: Attempt, thread: ThreadRow, { unacknowledged = [] }: SettleInput): void {
  for (const id of unacknowledged) {
    const answer = thread.operations.get(id)?.answer as PrepareChildAnswer | PrepareMessageAnswer | null
    if (answer?.type === 'children')
      for (const { reference, messageId } of answer.children)
        if (isUntouched(world.thread(reference), messageId)) {
          closeUnstarted(world, thread.children.get(reference))
          world.log.invocations.delete(`${thread.id} ${reference} ${id}`)
        }
    if (answer?.type !== 'message') continue
    const row = world.thread(answer.reference).messages.get(answer.messageId)
    if (row?.status !== 'pending') continue
    row.status = 'removed'
    world.log.invocations.delete(`${thread.id} ${answer.reference} ${id}`)
  }
}

/** After a reset one may be at work. */
function isUntouched({ messages, runs }: ThreadRow, messageId: string): boolean {
  return messages.get(messageId)?.status !== 'delivered' && runs.size === 0
}

/** Rows of a child that no workflow will ever close. */
function closeUnstarted(world: World, child: ChildRow | undefined): void {
  if (child === undefined || child.closed) return
  child.closed = true
  const row = world.thread(child.reference)
  row.closed = 'terminated'
  row.terminateRequested = true
  rejectWaiting(row)
}

function giveUp(thread: ThreadRow, effectId: string): void {
  const effect = thread.effects.get(effectId)
  if (effect?.status === 'scheduled') effect.status = 'failed'
}

function closeChild(thread: ThreadRow, reference: string): void {
  const child = thread.children.get(reference)
  if (child !== undefined) child.closed = true
}

function endRun(thread: ThreadRow, { run }: SettleInput, outcome: RunOutcome | 'blocked'): void {
  thread.runs.set(run, { ended: true })
  append(thread, [
    { type: `run.${outcome === 'blocked' ? 'failed' : outcome}`, scope: { runId: runIdOf(run) } },
  ])
}

/** Every open call gets a result, nested ones first; a tool that waits in the queue outlives a run, not its thread. */
function closeOpenCalls(thread: ThreadRow, input: SettleInput, outcome: 'interrupted' | 'cancelled'): void {
  for (const row of [...thread.calls.values()].toReversed()) {
    if (row.status !== 'open') continue
    if (!row.placed && outcome === 'interrupted') {
      if (input.end?.tools?.includes(row.id) !== true) continue
      placeCall(thread, row)
    }
    endCall(thread, row, outcome)
    append(thread, [{ type: 'tool.result', scope: { toolCallId: row.id } }])
    for (const request of thread.requests.values()) if (request.callId === row.id) request.state = 'closed'
  }
  if (outcome === 'cancelled') for (const request of thread.requests.values()) request.state = 'closed'
  for (const operation of thread.operations.values())
    if (operation.state !== 'finished') endOperation(thread, operation, outcome)
}

function endOperation(thread: ThreadRow, operation: Operation, reason: string): void {
  const { state, id } = operation
  operation.state = 'finished'
  operation.answer = { type: 'end', reason, outcome: 'failed' }
  if (id.startsWith('model_')) append(thread, cutStepEvents(id, state, reason))
}

function cutStepEvents(id: string, state: Operation['state'], reason: string): readonly LoggedFact[] {
  // Nested steps have no phases of their own.
  const [, run, step] = /^model_(\d+)_(\d+)(?:i\d+)?$/.exec(id)?.map(Number) ?? []
  if (run === undefined || step === undefined) return []
  const scope = { runId: runIdOf(run), stepId: stepIdOf(run, step) }
  const marked = state === 'drained' ? 1 : 3
  const phases = ([2, 3, 4, 5, 6, 7] as const).filter((phase) => phase > marked)
  const completed: LoggedFact = { type: 'step.completed', scope, payload: { step, reason } }
  return [...phases.map((phase) => phaseFact(phase, scope)), completed]
}

/** From this commit on the thread takes nothing (T8). */
function closeThread({ world }: Attempt, thread: ThreadRow, input: SettleInput): void {
  const outcome = input.close?.outcome ?? 'terminated'
  closeOpenCalls(thread, input, 'cancelled')
  rejectWaiting(thread)
  for (const effect of thread.effects.values()) if (effect.status === 'scheduled') effect.status = 'removed'
  const isFirst = thread.closed === null
  thread.closed ??= outcome
  if (outcome === 'terminated') thread.terminateRequested = true
  const above = thread.parent === null ? undefined : world.threads.get(thread.parent)
  if (above !== undefined) closeChild(above, thread.id)
  for (const child of thread.children.values()) if (child.deferred) closeUnstarted(world, child)
  for (const [reference, child] of thread.children) {
    const row = world.thread(reference)
    if (child.deferred || row.closed !== null) continue
    row.endedAbove ||= !row.terminateRequested
    row.terminateRequested = true
  }
  if (isFirst) append(thread, [{ type: 'thread.closed' }])
}

/**
 * An activity whose answer was lost may have stored the marks of a step before, and begun the next turn: the run ends the turn that
 * is open in the store.
 */
function withoutStoredMarks(
  { events }: ThreadRow,
  { run, end, unacknowledged }: SettleInput,
  facts: readonly LoggedFact[],
): readonly LoggedFact[] {
  if (unacknowledged === undefined) return facts
  const marks = new Set(events.map(markOf))
  const scope = { runId: runIdOf(run) }
  const ofTurn = (event: LoggedFact): boolean =>
    (event.type === 'side.started' || event.type === 'side.completed') && event.scope?.runId === scope.runId
  const last = events.findLast(ofTurn)
  const unstored = facts.filter((fact) => markOf(fact) === null || !marks.has(markOf(fact)))
  if (last === undefined) return unstored
  const others = unstored.filter((fact) => !ofTurn(fact))
  const isOpen = last.type === 'side.started' && (end !== null || others.length < unstored.length)
  return isOpen ? [...others, { type: 'side.completed', scope, payload: last.payload ?? {} }] : others
}

function markOf({ type, scope, payload }: LoggedFact): string | null {
  if (scope?.stepId === undefined) return null
  if (type === 'step.phase') return `${scope.stepId} ${JSON.stringify(payload)}`
  return type === 'step.completed' || type === 'side.completed' ? `${scope.stepId} ${type}` : null
}

/** A due effect: at least once in code, exactly once in effect (T9). */
export function* runEffect(attempt: Attempt, input: RunEffectInput): Steps<RunEffectAnswer> {
  const thread = openThread(attempt, input)
  if (thread === null) return TERMINATED
  const { world } = attempt
  const { effectId: id } = input
  const known = thread.operations.get(id)
  if (known?.state === 'finished') return recorded(attempt, thread, known)
  if (known === undefined) append(thread, takeFacts(thread, input))
  const effect = thread.effects.get(id)
  if (effect?.status !== 'scheduled') {
    finish(attempt, thread, id, { type: 'ran' })
    return { type: 'ran' }
  }
  const { number } = hold(thread, id, 'started')
  yield
  if (attempt.isCut()) throw new Cut()
  return commit(attempt, thread, { id, number }, () => {
    effect.status = 'done'
    effect.runs += 1
    return {
      type: 'ran',
      operations: chosenOperations(world, thread, { key: `effect-${id}`, inStep: false }),
    }
  })
}
