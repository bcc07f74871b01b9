/**
 * Compaction: a cut of a context with a summary of what it leaves out.
 * Owns: the operation of a compaction, its events, its request to a model, and what becomes of a summary that cannot be used.
 * Does not own: when and where a context is cut (`turn/context-window.ts`), and the text of the request (`summary-request.ts`).
 * Invariants:
 * - Its boundary and the end of its operation are one transaction: there is one boundary, and a summary that is committed is never
 *   asked for again (T4). An attempt that ends before that costs at most its request.
 * - It never fails a step: without a summary the context is cut all the same, unless a message has come between two runs.
 * - It writes no message: the transcript and what is open stay as they are (AR-TC.6).
 */
import { randomUUID } from 'node:crypto'

import type { ModelAnswer } from '../../model/model-answer.js'
import { MODEL_LIMITS } from '../../model/stream-answer.js'
import type { EventScope } from '../../protocol/events.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { compactionOperationId } from '../../protocol/ids.js'
import { LIMITS } from '../../protocol/limits.js'
import type {
  CompactionEnd,
  CompactionFailure,
  CompactionStage,
  CompactionStart,
} from '../../protocol/payloads/compaction.js'
import { appendEvents } from '../../store/events.js'
import { insertBoundary } from '../../store/messages/context-boundaries.js'
import type { Writer } from '../../store/store.js'
import { assertStoppedByUser } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import { endCharge } from '../budget/charge-request.js'
import { compactionHooks } from '../hooks/hook-points.js'
import { begin, commit, finish, keep, lookUp } from '../operation.js'
import type { HeldOperation } from '../operation.js'
import { stepBatch } from '../hooks/step-batch.js'
import { completionFact, failureFact, recordFailures, stateOf } from '../turn/answer-facts.js'
import { callCandidates } from '../turn/candidates.js'
import type { Reply } from '../turn/candidates.js'
import { NO_STREAM } from '../turn/deltas.js'
import type { Compaction } from '../turn/model-request.js'
import type { ModelStep } from '../turn/model-step.js'
import { RequestLog } from '../turn/request-log.js'
import type { OperationDetail } from '../turn/request-log.js'
import { routeOf } from '../turn/routing.js'
import { startOf } from './compaction-facts.js'
import { summaryRequest } from './summary-request.js'

/** Milliseconds: a step waits for its summary, and does without one that takes longer. */
const PATIENCE = 120_000

/** Characters of a summary in its event. */
const PREVIEW = 200

/** What a compaction ends with, which is the answer of its operation. */
type Outcome =
  | { readonly stage: CompactionStage; readonly summary: string | null }
  | { readonly failed: CompactionFailure; readonly summary: string | null }

/** The work that a compaction is a part of. */
interface Compacting {
  readonly step: ModelStep
  readonly signal: AbortSignal
  /** Left out: it is a part of the step, which waits for it. */
  readonly between?: BetweenRuns
}

/** A compaction for which no step waits. */
export interface BetweenRuns {
  /** Whether a message has come, which must not wait. */
  isGivenUp(): boolean
  /** Ends the work around it, in the transaction with which the compaction ends. */
  end(tx: Writer): Promise<void>
}

/**
 * Commits the cut, with a summary if a model writes one. If another attempt has committed it, nothing is left to do. One between runs
 * that is given up leaves the context as it is.
 * @throws `Operation.Lost` if another attempt holds it
 */
export async function compact(
  dependencies: ActivityDependencies,
  compacting: Compacting,
  compaction: Compaction,
): Promise<void> {
  const { step } = compacting
  const started = startOf(compaction)
  const held = await beginCompaction(dependencies, compacting, { compaction, started })
  if (held === null) return
  const hooks = compactionHooks(step.hooks)
  const own = summaryStep(dependencies, step, held)
  const keeps = await hooks.before(compaction.leaves)
  const summarized = await summarize(dependencies, { ...compacting, step: own }, { compaction, keeps })
  const { reply, outcome } = summarized
  const summary = isGivenUp(outcome) ? outcome.summary : await hooks.after(outcome.summary)
  await step.hooks.waitForWork()
  await commitCompaction(
    dependencies,
    { ...compacting, own },
    { compaction, started, reply, outcome: { ...outcome, summary } },
  )
  await endCharge(dependencies, own, NOTHING_FOLLOWS)
}

function isGivenUp(outcome: Outcome): boolean {
  return 'failed' in outcome && outcome.failed === 'message_came'
}

/** The charge ends with the compaction: the request of the step is charged by itself. */
const NOTHING_FOLLOWS = { type: 'activates', calls: [] } as const

interface Started {
  readonly compaction: Compaction
  readonly started: CompactionStart
}

/** Null: it is done. */
async function beginCompaction(
  { store }: ActivityDependencies,
  { step: { input, operation, now, content, scope }, between }: Compacting,
  { compaction: { boundary }, started }: Started,
): Promise<HeldOperation | null> {
  const { threadId, run, step, side } = input
  const place = between === undefined ? { run, step, side } : { side }
  const key = { threadId, id: compactionOperationId(operation.id, boundary) }
  return store.write(async (tx) => {
    const found = await lookUp(tx, key)
    if (found.kind === 'answered') return null
    const { held } = await begin(tx, found, {
      kind: 'compaction',
      place: { ...place, key: operation.id },
      // A model that was asked and did not answer is asked again; each request is counted.
      onInterrupted: 'rerun',
      now,
      detail: { plan: content.plan.digest },
    })
    if (found.operation === null)
      await appendEvents(tx, {
        threadId,
        events: [fact('context.compaction.started', started, withoutMessage(scope))],
        now,
        movesActivity: false,
      })
    return held
  })
}

/** The events of a compaction belong to no message. */
function withoutMessage(of: EventScope): EventScope {
  const { messageId: _, ...scope } = of
  return scope
}

/** The request for a summary: its answer becomes no message, and it takes no answer of a person. */
function summaryStep(dependencies: ActivityDependencies, step: ModelStep, held: HeldOperation): ModelStep {
  const { input, content, prompt } = step
  const { response: _, ...asked } = input
  // Written by `commitCompaction` or before a request: the store's boundary.
  const known = held.detail as Partial<OperationDetail> | null
  return {
    ...step,
    input: asked as ModelStep['input'],
    operation: held,
    prompt: {
      ...prompt,
      model: prompt.compaction?.model ?? prompt.model,
      tools: [],
      reasoning: null,
      toolChoice: 'auto',
    },
    messageId: randomUUID(),
    parentId: null,
    scope: withoutMessage(step.scope),
    log: new RequestLog({ plan: content.plan.digest, ...known }),
    hooks: stepBatch(dependencies, {
      ...{ input, content, ids: [], promptPath: [prompt.name] },
      name: held.id,
      recordsMissing: false,
    }),
    operations: [],
    isStep: false,
    resumed: true,
  }
}

interface Summarized {
  /** Null: no model was asked. */
  readonly reply: Reply | null
  readonly outcome: Outcome
}

async function summarize(
  dependencies: ActivityDependencies,
  { step, signal, between }: Compacting,
  { compaction, keeps }: { readonly compaction: Compaction; readonly keeps: string | null },
): Promise<Summarized> {
  const { leaves, before } = compaction
  if (leaves.length === 0) return { reply: null, outcome: { stage: 'nothing', summary: before } }
  if (step.prompt.compaction?.summary === false)
    return { reply: null, outcome: { stage: 'cut', summary: before } }
  const failed = (code: CompactionFailure) => ({ failed: code, summary: before })
  const route = routeOf(dependencies.registry, step, 'summary')
  if (route.available.length === 0) return { reply: null, outcome: failed('model_failed') }
  const { modelLimits: limits = MODEL_LIMITS } = dependencies
  const total = Math.min(limits.total, PATIENCE)
  const build = async (model: string) => summaryRequest(step, { compaction, keeps, model })
  const reply = await callCandidates(
    { ...dependencies, modelLimits: { ...limits, total } },
    { step, route, build, deltas: NO_STREAM, signal },
  )
  // After a user's stop the context is cut, and the step ends; after a shutdown another attempt follows.
  if ('stopped' in reply) {
    if (between?.isGivenUp() === true) return { reply, outcome: failed('message_came') }
    assertStoppedByUser()
    return { reply, outcome: failed('stopped') }
  }
  if ('over' in reply) return { reply, outcome: failed('no_budget') }
  if (!('answer' in reply)) return { reply, outcome: failed('model_failed') }
  return { reply, outcome: outcomeOf(reply.answer, before) }
}

function outcomeOf({ text }: ModelAnswer, before: string | null): Outcome {
  const summary = text.trim()
  if (summary === '') return { failed: 'empty', summary: before }
  if (Buffer.byteLength(summary) > LIMITS.summaryBytes) return { failed: 'too_long', summary: before }
  return { stage: 'summarized', summary }
}

interface Concluded extends Started, Summarized {}

/** The last transaction: the boundary, the end of the operation, its cost, and its events. */
async function commitCompaction(
  { store }: ActivityDependencies,
  { step, own, between }: Compacting & { readonly own: ModelStep },
  concluded: Concluded,
): Promise<void> {
  const { reply, outcome, compaction } = concluded
  const requests = requestFacts(own, reply)
  const cost = own.log.sumUnreportedUsage()
  if (cost !== null) step.log.addBeside(cost)
  const { summary } = outcome
  const { boundary } = compaction
  const detail = { ...boundary.detail, summary }
  const { threadId } = step.input
  await commit<unknown>(store, own.operation, async (tx: Writer) => {
    await finish(tx, own.operation, { answer: outcome, detail: own.log.detail() })
    if (between === undefined)
      await keep(tx, step.operation, { state: stateOf(step), detail: step.log.detail() })
    else await between.end(tx)
    if (!isGivenUp(outcome)) await insertBoundary(tx, { ...boundary, detail })
    await recordFailures(tx, own)
    const events = [...requests, endFact(own, concluded)]
    await appendEvents(tx, { threadId, events, now: step.now, movesActivity: false })
  })
}

function requestFacts(step: ModelStep, reply: Reply | null): readonly Fact[] {
  if (reply === null || 'over' in reply) return []
  if ('answer' in reply) return [completionFact(step, reply, step.log.recordAnswer(reply.answer.usage))]
  if (step.log.isOpen) return [failureFact(step, { kind: 'interrupted' }, 'none')]
  const last = step.log.failures.at(-1)
  return last === undefined ? [] : [failureFact(step, last.error, 'none')]
}

function endFact({ operation, scope }: ModelStep, { compaction, started, outcome }: Concluded): Fact {
  const { position, tokensBefore, tokensAfter } = compaction.boundary
  const end: CompactionEnd = {
    ...started,
    ...{ operation: operation.id, position, next: compaction.next, tokensBefore, tokensAfter },
  }
  if ('failed' in outcome) return fact('context.compaction.failed', { ...end, code: outcome.failed }, scope)
  const { stage, summary } = outcome
  const preview =
    stage === 'summarized' && summary !== null ? { summaryPreview: summary.slice(0, PREVIEW) } : {}
  return fact('context.compaction.completed', { ...end, stage, ...preview }, scope)
}
