import { log } from '@temporalio/activity'

import type { ModelDefinition } from '../../definitions/model.js'
import type { LanguageModel } from '../../model/language-model.js'
import { ModelAbortedError } from '../../model/model-aborted-error.js'
import type { ModelAnswer } from '../../model/model-answer.js'
import type { ModelError } from '../../model/model-error.js'
import type { Store } from '../../store/store.js'
import { errorTypeOf } from '../../telemetry/error-type.js'
import { watchModel } from '../../telemetry/watch-model.js'
import type { ModelWatch } from '../../telemetry/watch-model.js'
import { askedModel } from '../watched-model.js'
import type { Answered } from './answer-facts.js'
import type { Question } from './ask-models.js'
import type { BuiltRequest } from './build-request.js'
import { errorFields } from '../thrown.js'
import { noteProviderKeys } from './provider-keys.js'
import { failureId, providerWords } from './record-failures.js'
import { startRequest } from './start-request.js'

/** The requests to one model, as the store and those who watch learn of them. */
export interface RecordedRequests {
  readonly watch: ModelWatch
  begin(model: LanguageModel | null): Promise<void>
  /** Once for each request. */
  failed(error: ModelError): void
  /** It was cut, or something else than the model failed. */
  cut(error: unknown): void
  answered(answer: ModelAnswer): Answered
}

export function recordRequests(
  store: Store,
  { step, deltas }: Question,
  { candidate, built }: { readonly candidate: ModelDefinition; readonly built: BuiltRequest },
): RecordedRequests {
  const { input, prompt } = step
  const { name: model } = candidate
  const watch = watchModel({ threadId: input.threadId, agent: input.agent, prompt: prompt.name, model })
  let since = performance.now()
  let again = false
  let asked: LanguageModel | null = null
  return {
    watch,
    async begin(provided) {
      await startRequest(store, step, { model, built, again })
      again = true
      asked = provided
      deltas.begin(step.log.number)
      since = performance.now()
      watch.begin(askedModel(candidate, provided))
    },
    failed(error) {
      if (!step.log.open) return
      noteProviderKeys(candidate, asked)
      step.log.failed(error)
      watch.failed(error.kind)
      const { number: request } = step.log
      const { reason } = errorFields(providerWords(error))
      const errorId = failureId(step, request)
      log.warn('A request to a model failed.', { model, request, error: error.kind, errorId, reason })
    },
    cut: (error) => watch.failed(ModelAbortedError.isInstance(error) ? 'interrupted' : errorTypeOf(error)),
    answered(answer) {
      watch.answered(answer)
      const milliseconds = Math.round(performance.now() - since)
      log.debug('A model answered.', { model, request: step.log.number, milliseconds, ...answer.usage })
      return { answer, milliseconds }
    },
  }
}
