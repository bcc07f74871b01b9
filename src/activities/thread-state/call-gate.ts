/** Open while a call runs. What a tool left running finds it closed. */
export interface CallGate {
  /** @throws a sentence that says that the call has ended */
  assertOpen(): void
  close(): void
}

/** `named`: what has ended, for the sentence. */
export function createCallGate(named: string): CallGate {
  let open = true
  return {
    assertOpen() {
      if (open) return
      throw new Error(
        `The ${named} has ended, so its thread's state can no longer be used through it: ` +
          'await everything that belongs to a call before it returns, and stop at execution.abortSignal.',
      )
    },
    close() {
      open = false
    },
  }
}

/** Runs what it is given one after the other, in the order of the calls; a failure stops only itself. */
export function createTurns(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }
}
