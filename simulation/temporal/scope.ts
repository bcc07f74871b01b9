import { CancelledFailure } from '@temporalio/common'

type Listener = (error: CancelledFailure) => void

let current: CancellationScope | undefined

/**
 * The SDK's cancellation scope, as far as threads use it: they are shielded from their root's cancellation, so no scope
 * hands its own to another, and what a scope cancels is asked for in the first, synchronous part of `run`.
 */
export class CancellationScope {
  readonly cancellable: boolean
  #cancelled: CancelledFailure | undefined
  readonly #listeners: Listener[] = []

  constructor({ cancellable }: { readonly cancellable: boolean }) {
    this.cancellable = cancellable
  }

  static current(): CancellationScope {
    if (current === undefined) throw new Error('Expected a workflow to be active, got none.')
    return current
  }

  static nonCancellable<T>(work: () => Promise<T>): Promise<T> {
    return new CancellationScope({ cancellable: false }).run(work)
  }

  get consideredCancelled(): boolean {
    return this.cancellable && this.#cancelled !== undefined
  }

  get cancelRequested(): Promise<never> {
    return new Promise((_resolve, reject) => {
      this.onCancel(reject)
    })
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    const outer = current
    enterScope(this)
    try {
      return work()
    } finally {
      current = outer
    }
  }

  /** Calls at once if the scope is cancelled already. */
  onCancel(listener: Listener): void {
    if (this.#cancelled === undefined) this.#listeners.push(listener)
    else listener(this.#cancelled)
  }

  cancel(): void {
    if (this.#cancelled !== undefined) return
    this.#cancelled = new CancelledFailure('Cancellation scope cancelled')
    for (const listener of this.#listeners) listener(this.#cancelled)
  }
}

/** What a workflow does outside of `run` is in this one. */
export function enterScope(scope: CancellationScope): void {
  current = scope
}
