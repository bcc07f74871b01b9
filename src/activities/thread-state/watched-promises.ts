/**
 * Promises that user code gets from a state and may forget to await.
 *
 * Node ends the process when a promise is rejected and nothing has called its `then`. So each promise that a member answers
 * has a handler from the start, and remembers whether user code has added one of its own.
 *
 * Invariants:
 * W1: neither such a promise nor what `then`, `catch` and `finally` make of it ends the process.
 * W2: a rejection is handled if `then` was called on the promise that rejects, at any time before the end is asked for.
 *     `await` calls `then`, because the promise is an instance of a subclass.
 * W3: an endpoint is answered only when all of its promises are settled; the first rejection that user code has not handled
 *     is the endpoint's failure.
 */
import { setImmediate as turnOfEvents } from 'node:timers/promises'

/** Called with each promise that user code gets: those of members, and those that `then` makes of them. */
type Track = (promise: TrackedPromise<unknown>) => void

interface Rejection {
  readonly reason: unknown
}

/** A promise that knows whether user code has added a handler. */
class TrackedPromise<Result> extends Promise<Result> {
  isHandled = false
  #track: Track = () => undefined

  // What `then` makes is wrapped below: the engine must not make a tracked promise of its own.
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  static of<Result>(source: Promise<Result>, track: Track): TrackedPromise<Result> {
    const promise = new TrackedPromise<Result>((resolve, reject) => void source.then(resolve, reject))
    promise.#track = track
    track(promise)
    return promise
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is a promise that records the call
  override then<Kept = Result, Mended = never>(
    onKept?: ((value: Result) => Kept | PromiseLike<Kept>) | null,
    onFailed?: ((reason: unknown) => Mended | PromiseLike<Mended>) | null,
  ): Promise<Kept | Mended> {
    this.isHandled = true
    return TrackedPromise.of(super.then(onKept, onFailed), this.#track)
  }

  /** Adds a handler that does not count as one of user code. */
  observe(onSettled: (rejection: Rejection | undefined) => void): Promise<void> {
    return super.then(
      () => onSettled(undefined),
      (reason: unknown) => onSettled({ reason }),
    )
  }
}

/** The same promise for code whose forgotten promises nobody asks about: a rejection that it does not handle is dropped. */
export function suppressUnhandled<Result>(source: Promise<Result>): Promise<Result> {
  return TrackedPromise.of(source, (promise) => void promise.observe(() => undefined))
}

/** The promises of one endpoint. */
interface WatchedPromises {
  /** Answers the promise of `work` as user code gets it. */
  readonly watch: <Result>(work: () => Promise<Result>) => Promise<Result>
  /** Waits until all of them are settled (W3). @throws the first rejection that user code has not handled */
  readonly settled: () => Promise<void>
}

export function watchPromises(): WatchedPromises {
  const pending = new Set<Promise<unknown>>()
  const rejected: { readonly promise: TrackedPromise<unknown>; readonly reason: unknown }[] = []

  function track(promise: TrackedPromise<unknown>): void {
    const observed = promise.observe((rejection) => {
      pending.delete(observed)
      if (rejection !== undefined) rejected.push({ promise, ...rejection })
    })
    pending.add(observed)
  }

  return {
    watch: (work) => TrackedPromise.of(work(), track),
    async settled() {
      do {
        // A handler of one of them may begin another one.
        while (pending.size > 0) await Promise.all(pending)
        // So may code that awaits a promise of its own behind one of them.
        await turnOfEvents()
      } while (pending.size > 0)
      // Looked at only now (W2): user code may await a promise after it was rejected.
      const unhandled = rejected.find(({ promise }) => !promise.isHandled)
      if (unhandled !== undefined) throw unhandled.reason
    },
  }
}
