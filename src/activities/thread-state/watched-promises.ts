/** Promises of code that may forget to await them: none of them ends the process, and none of them is lost. */
export interface WatchedPromises {
  watch<Result>(work: () => Promise<Result>): Promise<Result>
  /** All of them are over. @throws what failed of those that nobody listened to */
  settled(): Promise<void>
}

export function watchPromises(): WatchedPromises {
  const open = new Set<Promise<unknown>>()
  const unheard: unknown[] = []

  return {
    watch(work) {
      const promise = HeardPromise.of(work())
      const over = promise.over((failure) => {
        open.delete(over)
        if (failure !== undefined && !promise.isHeard) unheard.push(failure.reason)
      })
      open.add(over)
      return promise
    },
    async settled() {
      // What is awaited late may begin more.
      while (open.size > 0) await Promise.all(open)
      // oxlint-disable-next-line typescript/only-throw-error -- what was thrown, whatever it is
      if (unheard.length > 0) throw unheard[0]
    },
  }
}

interface Failure {
  readonly reason: unknown
}

/** Knows whether somebody listens to it: `await` asks `then` of whatever is no plain promise. */
class HeardPromise<Result> extends Promise<Result> {
  isHeard = false

  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  static of<Result>(source: Promise<Result>): HeardPromise<Result> {
    return new HeardPromise<Result>((resolve, reject) => void source.then(resolve, reject))
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is a promise, which says that it was asked
  override then<Kept = Result, Mended = never>(
    onKept?: ((value: Result) => Kept | PromiseLike<Kept>) | null,
    onFailed?: ((reason: unknown) => Mended | PromiseLike<Mended>) | null,
  ): Promise<Kept | Mended> {
    this.isHeard = true
    return super.then(onKept, onFailed)
  }

  /** Listens without being somebody: what is rejected then has a handler. */
  over(look: (failure: Failure | undefined) => void): Promise<void> {
    return super.then(
      () => look(undefined),
      (reason: unknown) => look({ reason }),
    )
  }
}
