import { randomUUID } from 'node:crypto'
import type { InvokeTool } from '../../activities/thread-state/buffered-state.js'
import { createNamedCalls, refused } from '../../activities/tool/named-call.js'
import type { Registry } from '../../definitions/known-definitions.js'

interface Invoking {
  readonly registry: Registry
  readonly threadId: string
  /** Of the endpoint. */
  readonly signal: AbortSignal
}

/** Runs functions for an endpoint. What asks a model, a person or another thread is told to be queued: a worker has that. */
export function invokeInPlace({ registry, threadId, signal }: Invoking): InvokeTool {
  const call = createNamedCalls({
    registry,
    caller: { threadId, id: `endpoint_${randomUUID()}`, signal },
    runPrompt: async ({ name }) =>
      refused(`"${name}" asks a model, which an endpoint does not: use queueTool.`, 'not_in_place'),
  })
  return async (name, args, place) => {
    const result = await call(name, args, place)
    // What it wrote goes with it, as that of any call which is stopped (T9).
    signal.throwIfAborted()
    return result
  }
}
