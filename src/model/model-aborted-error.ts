import type { ModelFile } from './model-answer.js'

const marker = Symbol.for('everthread.error.ModelAbortedError')

/** What had arrived of an answer when its caller stopped it. */
export interface PartialAnswer {
  readonly text: string
  readonly reasoning: string | null
  readonly files: readonly ModelFile[]
}

/** The caller's own signal ended a model call: never a fault of the provider, so never retried and no fallback. */
export class ModelAbortedError extends Error {
  static isInstance(error: unknown): error is ModelAbortedError {
    return typeof error === 'object' && error !== null && marker in error
  }

  override readonly name = 'ModelAbortedError'
  readonly [marker] = true
  /** Kept so that a stopped run can show what the person had already read. */
  readonly partial: PartialAnswer

  constructor({ partial, cause }: { readonly partial: PartialAnswer; readonly cause: unknown }) {
    super('The model call was stopped by its caller.', { cause })
    this.partial = partial
  }
}
