/** Is told of a promise that somebody got. */
export type Told = (promise: HeardPromise<unknown>) => void

interface Failure {
  readonly reason: unknown
}

/**
 * Knows whether somebody listens to it, and so does all that `then`, `catch` and `finally` make of it: `await` asks `then`
 * of whatever is no plain promise. A handler that `told` attaches by `over` keeps Node from ending the process.
 */
export class HeardPromise<Result> extends Promise<Result> {
  isHeard = false
  #told: Told = () => undefined

  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  static of<Result>(source: Promise<Result>, told: Told): HeardPromise<Result> {
    const promise = new HeardPromise<Result>((resolve, reject) => void source.then(resolve, reject))
    promise.#told = told
    told(promise)
    return promise
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is a promise, which says that it was asked
  override then<Kept = Result, Mended = never>(
    onKept?: ((value: Result) => Kept | PromiseLike<Kept>) | null,
    onFailed?: ((reason: unknown) => Mended | PromiseLike<Mended>) | null,
  ): Promise<Kept | Mended> {
    this.isHeard = true
    return HeardPromise.of(super.then(onKept, onFailed), this.#told)
  }

  /** Listens without being somebody: what is rejected then has a handler. */
  over(look: (failure: Failure | undefined) => void): Promise<void> {
    return super.then(
      () => look(undefined),
      (reason: unknown) => look({ reason }),
    )
  }
}

/** Of code that is not asked what became of what it left running: nothing that fails unheard ends the process. */
export function unheeded<Result>(source: Promise<Result>): Promise<Result> {
  return HeardPromise.of(source, (promise) => void promise.over(() => undefined))
}
