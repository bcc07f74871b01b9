import { defaultPayloadConverter } from '@temporalio/common'
import type { Payload, PayloadConverter } from '@temporalio/common'

const ENCODING = 'text/bigint'

/** A payload converter of a user: whole numbers of any size. */
export const payloadConverter: PayloadConverter = {
  toPayload<T>(value: T): Payload {
    if (typeof value !== 'bigint') return defaultPayloadConverter.toPayload(value)
    return {
      metadata: { encoding: new TextEncoder().encode(ENCODING) },
      data: new TextEncoder().encode(String(value)),
    }
  },
  fromPayload<T>(payload: Payload): T {
    if (textOf(payload.metadata?.['encoding']) !== ENCODING)
      return defaultPayloadConverter.fromPayload<T>(payload)
    return BigInt(textOf(payload.data)) as T
  },
}

/** The sandbox has no Buffer. */
function textOf(bytes: Uint8Array | null | undefined): string {
  return new TextDecoder().decode(bytes ?? new Uint8Array())
}
