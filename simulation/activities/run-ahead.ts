import type { AheadPair, CallModelAnswer, CallModelInput } from '../../src/protocol/activities.js'
import { LEVEL } from '../../src/protocol/answer-problem.js'
import { modelOperationId } from '../../src/protocol/ids.js'
import {
  NO_ANSWER,
  RULES,
  applyAhead,
  beginAhead,
  controlAhead,
  modelActionOf,
  nextAhead,
} from '../../src/thread/ahead.js'
import type { AheadWork } from '../../src/thread/ahead.js'
import type { ThreadRow } from '../store/rows.js'
import { callModel } from './call-model.js'
import { executeTool } from './execute-tool.js'
import { planOfDigest } from './plans.js'
import { settle } from './settle.js'
import { Cut, OperationLost } from './steps.js'
import type { Attempt, Steps } from './steps.js'

/** A model call, and what its activity does ahead of the workflow, as `src/activities/run-ahead` does it. */
export function* callModelAhead(attempt: Attempt, input: CallModelInput): Steps<CallModelAnswer> {
  const answer = yield* callModel(attempt, input)
  const { ahead } = input
  if (ahead?.rules !== RULES || (answer.type !== 'answered' && answer.type !== 'end')) return answer
  const pairs = yield* goAhead(attempt, input, answer)
  if (pairs.length === 0) return answer
  attempt.world.saw('answer with work done ahead')
  return { ...answer, ahead: garbled(attempt, input, pairs) }
}

function* goAhead(
  attempt: Attempt,
  input: CallModelInput,
  answer: Extract<CallModelAnswer, { readonly type: 'answered' | 'end' }>,
): Steps<readonly AheadPair[]> {
  const { world } = attempt
  const { knownPlan, ahead } = input
  if (ahead === undefined) return []
  const isNew = answer.type === 'end' || answer.plan !== undefined || knownPlan === null
  const start = controlAhead(input, ahead, isNew ? null : planOfDigest(knownPlan))
  if (start.run === null) return []
  const most = stepsPerActivity(input)
  let control = applyAhead(start, modelActionOf(input, start.run), answer, input.now + 1)
  let last = modelOperationId(input)
  let steps = 1
  const pairs: AheadPair[] = []
  for (;;) {
    const at = input.now + 2 + pairs.length
    const next = nextAhead(control, at)
    if (next === null) return pairs
    const { control: begun, work } = beginAhead(next, { level: LEVEL, now: at })
    yield
    if (attempt.isCut() || !mayBegin(attempt, input, { work, steps, most })) return pairs
    if (!isKnown(world.thread(input.threadId), work.id) && !holdsPrecedent(attempt, input, last)) return pairs
    if (work.name === 'callModel') steps += 1
    if (isOvertaken(attempt, world.thread(input.threadId), last))
      forgetAsker(world.thread(input.threadId), work.id)
    const given = yield* perform(attempt, work)
    world.saw('done ahead', work.name, given.type)
    pairs.push({ id: work.id, at, answer: given })
    if (given === NO_ANSWER) return pairs
    control = applyAhead(begun, next.action, given, at + 1)
    last = work.id
  }
}

/** The plan of a run says it: in half of all runs an activity stores only the end of the run. */
function stepsPerActivity({ threadId, run }: CallModelInput): number {
  const number = run + threadId.length
  return number % 2 === 0 ? 0 : (number * 5) % 9
}

interface Beginning {
  readonly work: AheadWork
  readonly steps: number
  readonly most: number
}

function mayBegin(
  { world }: Attempt,
  { threadId }: CallModelInput,
  { work, steps, most }: Beginning,
): boolean {
  if (work.name === 'settle') return true
  if (most === 0) return false
  if (work.name === 'executeTool') return true
  const thread = world.thread(threadId)
  if (thread.operations.has(work.id)) return true
  return steps < most && ![...thread.messages.values()].some(({ status }) => status === 'pending')
}

/** Whether its row answers: nothing begins. */
function isKnown({ operations }: ThreadRow, id: string): boolean {
  return [...operations.values()].some(
    (operation) =>
      operation.state === 'finished' && (operation.id === id || operation.id.startsWith(`${id}_`)),
  )
}

/** The fence: an attempt goes on only while its run is open and no later one has taken over what it did last. */
function holdsPrecedent({ world, order }: Attempt, { threadId, run }: CallModelInput, id: string): boolean {
  const thread = world.thread(threadId)
  if (thread.runs.get(run)?.ended === true) {
    world.saw('fault an attempt would have gone on in a run that is over')
    return false
  }
  const operation = thread.operations.get(id)
  if (operation === undefined) return true
  if ((operation.order ?? 0) > order) {
    world.saw('fault a stale attempt would have gone on')
    return false
  }
  operation.order = order
  return true
}

/** A later attempt went on, or has answered: what this one still asks for, another activity may have done, whose row answers. */
function isOvertaken({ world, order, isOver }: Attempt, { operations }: ThreadRow, last: string): boolean {
  if (!isOver() && (operations.get(last)?.order ?? 0) <= order) return false
  world.saw('fault an overtaken attempt asks for what is done')
  return true
}

/** One that fails is asked for by an activity of its own. */
function* perform(attempt: Attempt, work: AheadWork): Steps<AheadPair['answer']> {
  try {
    switch (work.name) {
      case 'callModel':
        return yield* callModel(attempt, work.input)
      case 'executeTool':
        return yield* executeTool(attempt, work.input)
      case 'settle':
        return yield* settle(attempt, work.input)
    }
  } catch (error) {
    if (!(error instanceof Cut) && !(error instanceof OperationLost)) throw error
    // A stop may come before the workflow asks for it.
    attempt.world.log.unheard.add(work.input.threadId)
    return NO_ANSWER
  }
}

/** Any prefix is a correct answer, and what is no next action is dropped: the workflow asks for it again. */
function garbled(attempt: Attempt, input: CallModelInput, pairs: readonly AheadPair[]): readonly AheadPair[] {
  const { world } = attempt
  if (!world.may(0.1)) return pairs
  const thread = world.thread(input.threadId)
  for (const { id } of pairs) forgetAsker(thread, id)
  // A stop may come before the workflow has asked for it again.
  world.log.unheard.add(thread.id)
  const [first, ...rest] = pairs
  if (first === undefined) return pairs
  const forms = [
    [...pairs.slice(0, -1), ...pairs.slice(-1).map((pair) => ({ ...pair, answer: NO_ANSWER }))],
    [...rest, first],
    [first, first, ...rest],
    [{ ...first, id: 'model_9_9' }, ...rest],
    [{ ...first, answer: { type: 'future' } }, ...rest],
    [...pairs, { ...first, answer: { type: 'settled' } }],
  ]
  world.saw('fault what was done ahead is garbled')
  world.log.garbled.add(thread.id)
  return world.random.pick(forms)
}

/** Another activity asks for it again. */
function forgetAsker({ operations }: ThreadRow, id: string): void {
  for (const operation of operations.values())
    if (operation.id === id || operation.id.startsWith(`${id}_`)) operation.by = null
}
