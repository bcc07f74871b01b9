import type { CallModelAnswer, CallModelInput, EndAnswer } from '../../src/protocol/activities.js'
import { phaseFact } from '../../src/protocol/facts.js'
import { beginOperationId, immediatesId, modelOperationId, runIdOf } from '../../src/protocol/ids.js'
import { actualSide } from '../../src/protocol/plan.js'
import type { Plan } from '../../src/protocol/plan.js'
import { deliver, lastPlaced, say } from '../store/messages.js'
import type { LoggedFact, MessageRow, Operation, ThreadRow } from '../store/rows.js'
import { openFrame } from './call-frame.js'
import { chosenCalls, chosenOperations, USAGE } from './choices.js'
import { IMMEDIATE, planNamed, planOfDigest } from './plans.js'
import { registered } from './registered.js'
import { stagedItems } from './staged-items.js'
import { stepScope } from './step-scope.js'
import { append, commit, Cut, finish, hold, recorded, takeFacts, TERMINATED } from './steps.js'
import type { Attempt, Steps } from './steps.js'

const MISSING = { type: 'end', reason: 'definition_missing', outcome: 'failed' } as const

/** Phases 1 to 4 of a step, as `src/activities/call-model` does them: drain, start, ask, commit. */
export function* callModel(attempt: Attempt, input: CallModelInput): Steps<CallModelAnswer> {
  if (input.frame !== null) return yield* openFrame(attempt, { ...input, frame: input.frame })
  const plan = input.plan === null ? planNamed(input.agent) : planOfDigest(input.plan)
  const side = actualSide(plan, input.side)
  if (input.toolFirst) return beginRun(attempt, input, plan)
  const { taskQueue } = plan.prompts[plan.sides[side]?.prompt ?? ''] ?? {}
  const isElsewhere = taskQueue !== undefined && input.knownPlan !== plan.digest
  if (input.plan === null && input.moved !== true && isElsewhere) return { type: 'moved', plan }
  const activates = input.activated ? null : activate(attempt, { ...input, side }, plan)
  if (activates !== null) return activates
  const drained = drain(attempt, { ...input, side }, plan)
  if (drained.kind === 'answered') return drained.answer
  yield
  return yield* askModel(
    attempt,
    { ...input, side },
    { plan, number: drained.number, operations: drained.operations },
  )
}

function newPlan({ knownPlan }: CallModelInput, plan: Plan): { readonly plan?: Plan } {
  return plan.digest === knownPlan ? {} : { plan }
}

function beginRun(attempt: Attempt, input: CallModelInput, plan: Plan): CallModelAnswer {
  const thread = registered(attempt, input)
  if (thread === null) return TERMINATED
  const id = beginOperationId(input.run)
  const known = thread.operations.get(id)
  if (known !== undefined) return recorded(attempt, thread, known)
  append(thread, [...takeFacts(thread, input), ...recordRunStart(thread, input)])
  thread.agent = input.agent
  const answer: CallModelAnswer = attempt.world.may(0.05)
    ? MISSING
    : { type: 'begun', ...newPlan(input, plan) }
  finish(attempt, thread, id, answer)
  return answer
}

function recordRunStart(thread: ThreadRow, { run, trigger }: CallModelInput): readonly LoggedFact[] {
  if (trigger === null || thread.runs.has(run)) return []
  thread.runs.set(run, { ended: false })
  return [{ type: 'run.started', scope: { runId: runIdOf(run) } }]
}

/** The prompt's immediate subagents: an operation of its own before the step, and nothing is drained. */
function activate(attempt: Attempt, input: CallModelInput, plan: Plan): CallModelAnswer | null {
  if (!IMMEDIATE.has(input.agent)) return null
  const thread = registered(attempt, input)
  if (thread === null) return TERMINATED
  const { world } = attempt
  const before = input.activations === undefined ? '' : `n${input.activations}`
  const id = immediatesId(input, `${input.side}${input.agent}${before}`)
  const known = thread.operations.get(id)
  if (known !== undefined) return recorded(attempt, thread, known)
  append(thread, [...takeFacts(thread, input), ...recordRunStart(thread, input)])
  thread.agent = input.agent
  const count = 1 + world.random.below(2)
  const calls = Array.from({ length: count }, (_, index) => {
    const callId = `${id}_${index}`
    const row = { id: callId, name: 'ask', parentCall: null, run: input.run }
    thread.calls.set(callId, { ...row, placed: true, status: 'open', results: 0 })
    return { id: callId, name: 'ask', tool: { kind: 'subagent', agent: 'helper' } } as const
  })
  const answer: CallModelAnswer = { type: 'activates', ...newPlan(input, plan), calls, usage: USAGE }
  finish(attempt, thread, id, answer)
  return answer
}

type Drained =
  | { readonly kind: 'answered'; readonly answer: CallModelAnswer }
  | {
      readonly kind: 'held'
      readonly number: number
      readonly operations: ReturnType<typeof chosenOperations>
    }

/** Transaction 1. */
function drain(attempt: Attempt, input: CallModelInput, plan: Plan): Drained {
  const { world } = attempt
  const thread = registered(attempt, input)
  if (thread === null) return { kind: 'answered', answer: TERMINATED }
  const id = modelOperationId(input)
  const known = thread.operations.get(id)
  if (known?.state === 'finished')
    return { kind: 'answered', answer: takenAgain(attempt, thread, { input, known }) }
  const { isNew, number } = hold(thread, id, known?.state ?? 'drained')
  const operation = thread.operations.get(id)
  if (operation !== undefined) operation.plan ??= plan.digest
  // An attempt of which nobody heard has drained the step; the workflow may have more for it by now.
  if (!isNew) {
    deliver(thread, stagedItems(attempt, thread, input.drain), input.run)
    return { kind: 'held', number, operations: [] }
  }
  if (input.run === 1) starts(attempt, thread)
  if (input.wordless) say(thread, { role: 'user', by: 'runtime' })
  const ids = stagedItems(attempt, thread, input.drain)
  for (const refused of ids)
    if (world.may(0.02) && thread.messages.get(refused)?.by === 'client') refuse(thread.messages.get(refused))
  const delivered = deliver(thread, ids, input.run)
  thread.agent = input.agent
  if (input.plan === null && world.may(0.01))
    return { kind: 'answered', answer: missing(attempt, input, thread) }
  const idle = isIdle(thread, input, { plan, delivered })
  append(thread, [
    ...takeFacts(thread, input),
    ...(idle ? [] : [...recordRunStart(thread, input), ...stepFacts(input)]),
  ])
  if (!idle) return { kind: 'held', number, operations: [] }
  const answer: CallModelAnswer = { type: 'nothing_to_do', ...newPlan(input, plan) }
  finish(attempt, thread, id, answer)
  return { kind: 'answered', answer }
}

/** A finished step is answered from its row; what it meets all the same gets its place, and the workflow is told of what no run has answered. */
function takenAgain(
  attempt: Attempt,
  thread: ThreadRow,
  { input, known }: { readonly input: CallModelInput; readonly known: Operation },
): CallModelAnswer {
  const answer = withPlanOf(known, input, recorded<CallModelAnswer>(attempt, thread, known))
  const ids = deliver(thread, stagedItems(attempt, thread, input.drain)).map(({ id }) => id)
  if (ids.length === 0) return answer
  attempt.world.saw('answer callModel came late')
  // With such an answer the activity does not go on: the workflow asks for what an earlier attempt did ahead, and marks it again.
  const ahead = [...thread.operations.values()].filter(
    ({ by, id }) => by === attempt.activity && id !== known.id,
  )
  for (const operation of ahead) operation.by = null
  if (ahead.length > 0) attempt.world.log.garbled.add(thread.id)
  const numbers = {
    runs: Math.max(...thread.runs.keys(), input.run),
    settles: countOf(thread, 'settle_'),
    reports: countOf(thread, 'report_'),
  }
  const given = 'operations' in answer ? (answer.operations ?? []) : []
  return {
    ...answer,
    operations: [...given, { kind: 'postpone_messages', ids, ...numbers }],
  } as CallModelAnswer
}

/** An activity that went on by itself knew the plan, which a handoff in between may have made the workflow forget. */
function withPlanOf({ plan }: Operation, input: CallModelInput, answer: CallModelAnswer): CallModelAnswer {
  if (plan === undefined || input.plan !== null) return answer
  return { ...answer, ...newPlan(input, planOfDigest(plan)) } as CallModelAnswer
}

function countOf({ operations }: ThreadRow, prefix: string): number {
  return [...operations.keys()].filter((id) => id.startsWith(prefix)).length
}

/** A child that waited for its variables runs now. */
function starts({ world }: Attempt, { id, parent }: ThreadRow): void {
  const child = parent === null ? undefined : world.threads.get(parent)?.children.get(id)
  if (child !== undefined) child.deferred = false
}

function refuse(row: MessageRow | undefined): void {
  if (row?.status === 'pending') row.status = 'refused'
}

function missing(attempt: Attempt, input: CallModelInput, thread: ThreadRow): CallModelAnswer {
  append(thread, [...takeFacts(thread, input), ...recordRunStart(thread, input)])
  finish(attempt, thread, modelOperationId(input), MISSING)
  return MISSING
}

function isIdle(
  thread: ThreadRow,
  input: CallModelInput,
  { plan, delivered }: { readonly plan: Plan; readonly delivered: readonly MessageRow[] },
): boolean {
  if (input.trigger === null || delivered.length > 0) return false
  const last = lastPlaced(thread)
  if (input.asked && last !== undefined && (plan.type === 'dual_ai' || last.role !== 'assistant'))
    return false
  return !thread.operations.has(beginOperationId(input.run))
}

function stepFacts(input: CallModelInput): readonly LoggedFact[] {
  const scope = stepScope(input)
  const side: LoggedFact[] = input.sideStarts
    ? [{ type: 'side.started', scope, payload: { side: input.side } }]
    : []
  return [...side, { type: 'step.started', scope, payload: { step: input.step } }, phaseFact(1, scope)]
}

/** A step that ends with its model call still gets all of its events, and so does its turn. */
function lastFacts(input: CallModelInput, reason: string): readonly LoggedFact[] {
  const scope = stepScope(input)
  return [
    ...([5, 6, 7] as const).map((phase) => phaseFact(phase, scope)),
    { type: 'step.completed', scope, payload: { step: input.step, reason } },
    { type: 'side.completed', scope, payload: { side: input.side, reason } },
  ]
}

interface Held {
  readonly plan: Plan
  readonly number: number
  readonly operations: ReturnType<typeof chosenOperations>
}

function* askModel(attempt: Attempt, input: CallModelInput, { plan, number }: Held): Steps<CallModelAnswer> {
  const { world } = attempt
  const thread = world.thread(input.threadId)
  const id = modelOperationId(input)
  const operation = thread.operations.get(id)
  const scope = stepScope(input)
  const phases = (last: boolean): readonly LoggedFact[] =>
    ([2, 3, 4] as const)
      .filter((phase) => (phase === 4 ? last : operation?.requested !== true))
      .map((phase) => phaseFact(phase, scope))
  if (!thread.variables && world.random.chance(0.8))
    return commit(attempt, thread, { id, number }, () => {
      append(thread, [...phases(true), ...lastFacts(input, 'blocked')])
      return blocked(attempt, thread, input, newPlan(input, plan))
    })
  if (operation?.attempt === number && operation.state !== 'finished') {
    append(thread, phases(false))
    operation.requested = true
    operation.state = 'started'
  }
  yield
  if (attempt.isCut()) {
    if (world.may(0.3)) throw new Cut()
    return commit(attempt, thread, { id, number }, () => {
      append(thread, [...phases(true), ...lastFacts(input, 'stopped')])
      if (world.random.chance(0.5)) say(thread, { role: 'assistant', by: 'model' })
      return { type: 'interrupted', ...newPlan(input, plan) }
    })
  }
  if (world.may(0.05) && operation?.attempt === number && operation.state !== 'finished')
    return {
      type: 'wait',
      until: input.now + world.random.below(20_000),
      ...newPlan(input, plan),
      usage: USAGE,
    }
  return commit(attempt, thread, { id, number }, (): CallModelAnswer => {
    if (world.may(0.04)) {
      append(thread, [...phases(true), ...lastFacts(input, 'model_failed')])
      say(thread, { role: 'assistant', by: 'runtime' })
      return { type: 'end', reason: 'model_failed', outcome: 'failed', ...newPlan(input, plan) }
    }
    append(thread, phases(true))
    return answered(attempt, thread, { input, plan })
  })
}

function answered(
  attempt: Attempt,
  thread: ThreadRow,
  { input, plan }: { readonly input: CallModelInput; readonly plan: Plan },
): CallModelAnswer {
  const calls = chosenCalls(attempt.world, thread, {
    run: input.run,
    prefix: `call_${input.run}_${input.step}_`,
    parentCall: null,
  })
  const text = calls.length === 0 || attempt.world.random.chance(0.5)
  say(thread, { role: 'assistant', by: 'model' })
  const operations = attempt.world.may(0.05)
    ? chosenOperations(attempt.world, thread, { key: `hook-${input.run}-${input.step}`, inStep: true })
    : []
  return { type: 'answered', ...newPlan(input, plan), text, calls, usage: USAGE, operations }
}

function blocked(
  { world }: Attempt,
  thread: ThreadRow,
  { run }: CallModelInput,
  plan: { readonly plan?: Plan },
): EndAnswer {
  const id = `variables_${run}`
  for (const request of thread.requests.values())
    if (request.kind === 'variables' && request.child === undefined && request.state === 'open')
      request.state = 'closed'
  thread.requests.set(id, { id, kind: 'variables', callId: null, state: 'open' })
  world.saw('answer a run lacks variables')
  return { type: 'end', reason: 'blocked', outcome: 'blocked', request: { id, kind: 'variables' }, ...plan }
}
