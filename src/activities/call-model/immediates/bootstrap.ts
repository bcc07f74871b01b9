/**
 * One forced call of a model that derives a subagent's first arguments from its hints. It is a convenience: whatever
 * goes wrong, and a provider that is busy, costs the hints nothing.
 */
import { randomUUID } from 'node:crypto'
import type { ModelAnswer } from '../../../model/model-answer.js'
import { ModelAbortedError } from '../../../model/model-aborted-error.js'
import { MODEL_LIMITS } from '../../../model/model-limits.js'
import type { Fact } from '../../../protocol/facts.js'
import { appendEvents } from '../../../store/events.js'
import { takeOperation } from '../../../store/operations.js'
import type { Store } from '../../../store/store.js'
import { assertStoppedByUser } from '../../beat.js'
import { OperationLost, commitHeld } from '../../commit.js'
import type { ActivityDependencies } from '../../dependencies.js'
import { stepBatch } from '../../hooks/step-batch.js'
import { completedFact, failedFact } from '../answer-facts.js'
import { askModels } from '../ask-models.js'
import type { Reply } from '../ask-models.js'
import { candidatesOf } from '../candidates.js'
import type { DeltaWriter } from '../delta-writer.js'
import { microseconds, operationOf, stepScope } from '../model-step.js'
import type { ModelStep } from '../model-step.js'
import { recordFailures } from '../record-failures.js'
import { RequestLog } from '../request-log.js'
import type { HeldActivation } from './activation.js'
import { BOOTSTRAP_TOOL, bootstrapRequest } from './bootstrap-request.js'
import type { Bootstrap } from './bootstrap-request.js'

/** Nobody watches it. */
const UNWATCHED: DeltaWriter = { add: () => undefined, begin: () => undefined, done: async () => undefined }

export interface Bootstrapping {
  readonly activation: HeldActivation
  readonly signal: AbortSignal
  /** Of `performance`: when models are asked no more. */
  readonly deadline: number
  /** All requests of the activation so far. */
  readonly log: RequestLog
}

export interface Bootstrapped {
  /** Raw arguments as the model wrote them; null if there are none. */
  readonly written: string | null
  readonly log: RequestLog
}

/** @throws `Operation.Lost` if another attempt holds the activation */
export async function bootstrap(
  dependencies: ActivityDependencies,
  bootstrapping: Bootstrapping,
  asked: Bootstrap,
): Promise<Bootstrapped> {
  const { activation, signal, deadline } = bootstrapping
  const step = bootstrapStep(dependencies, bootstrapping)
  const candidates = candidatesOf(dependencies.registry, activation).filter(
    ({ name }) => activation.content.models[name]?.supportsToolCalls === true,
  )
  const { modelLimits: limits = MODEL_LIMITS } = dependencies
  const total = Math.min(limits.total, deadline - performance.now())
  if (candidates.length === 0 || total <= 0 || signal.aborted)
    return { written: null, log: bootstrapping.log }
  const reply = await unlessStopped(() =>
    askModels(
      { ...dependencies, modelLimits: { ...limits, total } },
      {
        step,
        candidates,
        build: async (model) => bootstrapRequest(activation, asked, model),
        deltas: UNWATCHED,
        signal,
      },
    ),
  )
  await record(dependencies.store, step, reply)
  return { written: reply !== null && 'answer' in reply ? writtenIn(reply.answer) : null, log: step.log }
}

/** Null: somebody stopped the run, and what is known without a model has to do. */
async function unlessStopped(ask: () => Promise<Reply>): Promise<Reply | null> {
  try {
    return await ask()
  } catch (error) {
    if (!ModelAbortedError.isInstance(error)) throw error
    assertStoppedByUser()
    return null
  }
}

function writtenIn({ toolCalls }: ModelAnswer): string | null {
  return toolCalls.find(({ name }) => name === BOOTSTRAP_TOOL)?.input ?? null
}

/** What it cost is kept whatever becomes of this attempt. */
async function record(store: Store, step: ModelStep, reply: Reply | null): Promise<void> {
  const { input, attempt, log, now } = step
  const events = recordedFacts(step, reply)
  await commitHeld<unknown>(store, operationOf(input), async (tx) => {
    const hold = { ...operationOf(input), attempt, state: 'started', detail: log.detail() } as const
    if (!(await takeOperation(tx, hold))) throw new OperationLost()
    await recordFailures(tx, step)
    await appendEvents(tx, { threadId: input.threadId, events, now })
  })
}

function recordedFacts(step: ModelStep, reply: Reply | null): readonly Fact[] {
  if (reply !== null && 'answer' in reply)
    return [completedFact(step, reply, step.log.answered(reply.answer.usage))]
  if (step.log.open) return [failedFact(step, { kind: 'interrupted' }, 'none')]
  const last = step.log.failures.at(-1)
  return last === undefined ? [] : [failedFact(step, last.error, 'none')]
}

function bootstrapStep(dependencies: ActivityDependencies, { activation, log }: Bootstrapping): ModelStep {
  const { input, content, prompt, held } = activation
  const { id: operationId } = operationOf(input)
  const hooks = {
    input,
    content,
    ids: [],
    promptPath: [prompt.name],
    name: operationId,
    recordsMissing: false,
  }
  return {
    ...{ input, content, prompt, operationId, attempt: held.attempt },
    // It becomes no message.
    messageId: randomUUID(),
    parentId: null,
    scope: stepScope(input),
    now: microseconds(input),
    startedAt: performance.now(),
    log: new RequestLog(log.detail()),
    hooks: stepBatch(dependencies, hooks),
    operations: [],
    resumed: true,
  }
}
