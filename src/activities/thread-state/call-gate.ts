import { unheeded } from './watched-promises.js'

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

/** As `whileOpen`, of a function that answers at once. */
export function ifOpen<Arguments extends readonly unknown[], Result>(
  gate: CallGate,
  work: (...given: Arguments) => Result,
): (...given: Arguments) => Result {
  return (...given) => {
    gate.assertOpen()
    return work(...given)
  }
}

/** The same function, refused from the end of the call on, also when the call ends while it runs. */
export function whileOpen<Arguments extends readonly unknown[], Result>(
  gate: CallGate,
  work: (...given: Arguments) => Promise<Result>,
): (...given: Arguments) => Promise<Result> {
  async function run(given: Arguments): Promise<Result> {
    gate.assertOpen()
    const result = await work(...given)
    gate.assertOpen()
    return result
  }
  // A tool that does not await it would otherwise take down the worker, with an unhandled rejection.
  return (...given) => unheeded(run(given))
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
