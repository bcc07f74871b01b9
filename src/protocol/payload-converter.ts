/**
 * The payload converter of workers. Decoding happens before any handler runs, and one signal that cannot be decoded
 * blocks a workflow for ever; this converter turns it into `{ undecodable: true }`, which the handlers record and skip
 * (T10). It is a pure function of the bytes and, like wire format, never changes (T11). It wraps the user's own
 * converter, if there is one, and tolerates such payloads only in this package's workflow types: a user's workflow
 * fails as before.
 */
import type { PayloadConverter } from '@temporalio/common'
import { payloadConverter as inner } from './inner-payload-converter.js'

/** The value of an undecodable payload. */
export const UNDECODABLE = Object.freeze({ undecodable: true })

/** A worker looks for it in a prebuilt bundle, and refuses a bundle without this converter. */
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
