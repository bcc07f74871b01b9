/**
 * The promises that user code gets from a state and may forget to await.
 *
 * Node ends the process when a promise is rejected and nothing has called its `then`. So each promise that a member returns
 * has a handler from the start, and records whether user code has added another one.
 *
 * Invariants:
 * W1: neither such a promise nor one that `then`, `catch` or `finally` derives from it ends the process.
 * W2: a rejection is handled if `then` was called on the rejected promise at any time before `waitForWork` ends.
 *     `await` calls `then`, because the promise is an instance of a subclass.
 * W3: an endpoint responds only when all of its promises are settled; the first rejection that user code has not handled is
 *     the endpoint's failure.
 */
import { setImmediate as turnOfEvents } from 'node:timers/promises'

/** Called with each promise that user code gets: those of members, and those that `then` derives from them. */
type Track = (promise: TrackedPromise<unknown>) => void

interface Rejection {
  readonly reason: unknown
}

/** A promise that records whether user code has added a handler. */
class TrackedPromise<Result> extends Promise<Result> {
  isHandled = false
  #track: Track = () => undefined

  // The result of `then` is wrapped below, so the engine must not create a tracked promise itself.
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

  /** Adds a handler that does not count as user code's. */
  observe(onSettled: (rejection: Rejection | undefined) => void): Promise<void> {
    return super.then(
      () => onSettled(undefined),
      (reason: unknown) => onSettled({ reason }),
    )
  }
}

/** Returns the same promise with unhandled rejections dropped, for code whose forgotten promises have no owner. */
export function suppressUnhandled<Result>(source: Promise<Result>): Promise<Result> {
  return TrackedPromise.of(source, (promise) => void promise.observe(() => undefined))
}

/** The promises of one endpoint. */
interface WatchedPromises {
  /** Returns the promise of `work` as user code gets it. */
  readonly watch: <Result>(work: () => Promise<Result>) => Promise<Result>
  /** Waits until all of them are settled (W3). @throws the first rejection that user code has not handled */
  readonly waitForWork: () => Promise<void>
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
    async waitForWork() {
      do {
        // A handler of one promise may begin another one.
        while (pending.size > 0) await Promise.all(pending)
        // Code that awaits its own promise after one of them may do so too.
        await turnOfEvents()
      } while (pending.size > 0)
      // Checked only now (W2), because user code may await a promise after its rejection.
      const unhandled = rejected.find(({ promise }) => !promise.isHandled)
      if (unhandled !== undefined) throw unhandled.reason
    },
  }
}
