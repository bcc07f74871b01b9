/**
 * Phases 1 to 4 of a step in one activity: drain, assemble context, call the model, persist its answer. Three short
 * transactions, none held across the network: drain, start, commit (T2, T4). A retry finds the drain done; a finished
 * operation is answered from its row.
 */
import type { CallModelAnswer, CallModelInput } from '../../protocol/activities.js'
import { classifyModelError } from '../../model/classify-model-error.js'
import type { LanguageModel } from '../../model/language-model.js'
import { callWithRetries } from '../../model/call-model.js'
import { ModelAbortedError } from '../../model/model-aborted-error.js'
import { ModelError } from '../../model/model-error.js'
import { assertStoppedByUser, whileBeating } from '../beat.js'
import type { ActivityDependencies } from '../dependencies.js'
import { promptOf, waitForDefinition } from '../plan-content.js'
import { withVariables } from '../variables/render-system.js'
import { blockedRun } from './blocked-run.js'
import { buildRequest } from './build-request.js'
import type { BuiltRequest } from './build-request.js'
import { commitAnswer, commitFailure, commitInterruption } from './commit-answer.js'
import { writeDeltas } from './delta-writer.js'
import { MISSING, drainStep } from './drain-step.js'
import { recordRetry, startOperation } from './start-operation.js'
import type { ModelStep } from './model-step.js'
import { systemText } from './system-text.js'

export async function callModel(
  dependencies: ActivityDependencies,
  asked: CallModelInput,
): Promise<CallModelAnswer> {
  return whileBeating(async (signal) => {
    const drained = await drainStep(dependencies, asked)
    if (drained.kind === 'answered') return drained.answer
    const blocked = await blockedRun(dependencies, drained)
    if (blocked !== null) return blocked
    const { registry, store } = dependencies
    const { content, input } = drained
    const { threadId, agent } = input
    const scope = { threadId, agent, content }
    const prompt = await withVariables(dependencies, scope, promptOf(content, input.side))
    const definition = registry.model(prompt.model)
    if (definition === undefined) {
      waitForDefinition()
      return MISSING
    }
    const request = await buildRequest({
      store,
      input,
      content,
      prompt,
      model: prompt.model,
      cuts: 0,
      system: systemText(prompt.system),
      frameMessage: null,
    })
    const step: ModelStep = await startOperation(store, {
      input,
      content,
      prompt,
      request,
      attempt: drained.attempt,
    })
    return callProvider(dependencies, step, { definition, request, signal })
  })
}

interface ProviderCall {
  readonly definition: NonNullable<ReturnType<ActivityDependencies['registry']['model']>>
  readonly request: BuiltRequest
  readonly signal: AbortSignal
}

async function callProvider(
  { store }: ActivityDependencies,
  step: ModelStep,
  { definition, request: { options }, signal }: ProviderCall,
): Promise<CallModelAnswer> {
  const deltas = writeDeltas(store, step)
  let request = 1
  let failed: ModelError | null = null
  const startedAt = performance.now()
  const elapsed = (): number => Math.round(performance.now() - startedAt)
  try {
    const { answer } = await callWithRetries({
      model: languageModelOf(definition),
      options,
      signal,
      onDelta: (delta) => deltas.add(delta),
      onAttempt: async ({ attempt, error }) => {
        request = attempt
        if (error !== undefined) failed = error
        else if (failed !== null) await recordRetry(store, step, { attempt, failed })
        if (error === undefined) deltas.attempt(attempt)
      },
    })
    await deltas.done()
    return await commitAnswer(store, step, { answer, request, milliseconds: elapsed() })
  } catch (error) {
    await deltas.done()
    if (ModelAbortedError.isInstance(error)) {
      assertStoppedByUser()
      return commitInterruption(store, step, { partial: error.partial, request })
    }
    if (ModelError.isInstance(error)) return commitFailure(store, step, { error, request })
    throw error
  }
}

/** A provider that does not have the model, or lacks its key, is a model that failed, not a worker. */
function languageModelOf({ provider, model }: ProviderCall['definition']): LanguageModel {
  try {
    return provider.languageModel(model)
  } catch (error) {
    throw classifyModelError(error)
  }
}
