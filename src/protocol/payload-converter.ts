/**
 * The payload converter of workers. Decoding happens before any handler runs, and one signal that cannot be
 * decoded wedges a workflow for ever; here it becomes `{ undecodable: true }`, which the handlers record and
 * skip (T10). A pure function of the bytes, frozen like wire format (T11). It goes around the converter of the worker's
 * user, if there is one, and is soft only in our own workflow types: a user's workflow fails as it always did.
 */
import type { PayloadConverter } from '@temporalio/common'
import { payloadConverter as inner } from './inner-payload-converter.js'

/** What an undecodable payload becomes. */
export const UNDECODABLE = Object.freeze({ undecodable: true })

/** Found by a prebundled worker's check: a bundle without this converter is refused. */
export const CONVERTER_MARKER = 'everthread-payload-converter-1'

export const payloadConverter: PayloadConverter = {
  toPayload: (value, context, hint) => inner.toPayload(value, context, hint),
  fromPayload<T>(...parameters: Parameters<PayloadConverter['fromPayload']>): T {
    try {
      return inner.fromPayload<T>(...(parameters as Parameters<typeof inner.fromPayload<T>>))
    } catch (error) {
      if (!isOurWorkflow()) throw error
      return UNDECODABLE as T
    }
  },
}

/** The SDK gives converters no workflow type; inside the sandbox its activator, a global, has it. */
function isOurWorkflow(): boolean {
  const sandbox = globalThis as { __TEMPORAL_ACTIVATOR__?: { info?: { workflowType?: string } } }
  const type = sandbox.__TEMPORAL_ACTIVATOR__?.info?.workflowType
  return type === 'agentThread' || type?.startsWith('thread.') === true
}
