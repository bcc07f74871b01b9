import { ModelError } from './model-error.js'

import type { ModelLimits } from './model-limits.js'

/** The clocks of one attempt and its caller's signal, joined in the one signal that the provider gets. */
export interface AttemptWatch {
  /** Aborts with the caller's reason, or with a `stalled` ModelError. */
  readonly signal: AbortSignal
  /** Tells that a chunk came. */
  progressed(chunk: { readonly hasContent: boolean }): void
  /** Stops the provider, whatever it still does. */
  abort(): void
  close(): void
}

/**
 * Watches an attempt from the moment of the request. Only content ends the wait for the first chunk, for a
 * preamble says nothing of whether the model works on a long prompt; afterwards every chunk counts, since some
 * providers send only pings while they prepare long tool arguments.
 */
export function watchAttempt(signal: AbortSignal, limits: ModelLimits): AttemptWatch {
  const controller = new AbortController()
  const onAbort = (): void => {
    controller.abort(signal.reason)
  }
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  const failAfter = (milliseconds: number, what: string, retryable = false): NodeJS.Timeout =>
    setTimeout(() => {
      controller.abort(stalled(`${what} within ${milliseconds / 1000} s.`, retryable))
    }, milliseconds)
  const total = failAfter(limits.total, 'The model did not finish its answer')
  let silence = failAfter(limits.firstChunk, 'The model did not begin its answer')
  let hasBegun = false
  return {
    signal: controller.signal,
    progressed({ hasContent }) {
      if (hasBegun) silence.refresh()
      else if (hasContent) {
        hasBegun = true
        clearTimeout(silence)
        // It was at work: a second request may well be answered, unlike one that was never begun.
        silence = failAfter(limits.stall, 'The model fell silent and did not go on', true)
      }
    },
    abort() {
      controller.abort()
    },
    close() {
      clearTimeout(total)
      clearTimeout(silence)
      signal.removeEventListener('abort', onAbort)
    },
  }
}

function stalled(message: string, retryable: boolean): ModelError {
  return new ModelError({ kind: 'stalled', message, retryable })
}
