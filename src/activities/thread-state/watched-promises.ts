import { setImmediate as turnOfEvents } from 'node:timers/promises'

/** Is told of a promise that somebody got. */
type Told = (promise: HeardPromise<unknown>) => void

interface Failure {
  readonly reason: unknown
}

/**
 * Knows whether somebody listens to it, and so does all that `then`, `catch` and `finally` make of it: `await` asks `then`
 * of whatever is no plain promise. A handler that `told` attaches by `over` keeps Node from ending the process.
 */
class HeardPromise<Result> extends Promise<Result> {
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

/** Promises of code that may forget to await them: none of them ends the process, and none of them is lost. */
export interface WatchedPromises {
  watch<Result>(work: () => Promise<Result>): Promise<Result>
  /** All of them are over, and what `then` made of them. @throws what failed of those that nobody listened to */
  settled(): Promise<void>
}

export function watchPromises(): WatchedPromises {
  const open = new Set<Promise<unknown>>()
  const failed: { readonly promise: HeardPromise<unknown>; readonly reason: unknown }[] = []

  function told(promise: HeardPromise<unknown>): void {
    const over = promise.over((failure) => {
      open.delete(over)
      if (failure !== undefined) failed.push({ promise, ...failure })
    })
    open.add(over)
  }

  return {
    watch: (work) => HeardPromise.of(work(), told),
    async settled() {
      do {
        // What is awaited late may begin more.
        while (open.size > 0) await Promise.all(open)
        // And so may who awaits promises of its own behind one of these.
        await turnOfEvents()
      } while (open.size > 0)
      // Asked at the end: what fails before its turn to be awaited is heard then.
      const unheard = failed.find(({ promise }) => !promise.isHeard)
      if (unheard !== undefined) throw unheard.reason
    },
  }
}
