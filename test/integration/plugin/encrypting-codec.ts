import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

import type { Payload, PayloadCodec } from '@temporalio/common'

const ENCODING = 'binary/encrypted'

/** AES-256-GCM over whole payloads, as Temporal's sample does it. */
export interface EncryptingCodec extends PayloadCodec {
  /** While it is true nothing can be decoded, as with a key that is gone. */
  broken: boolean
  /** How often it could not decode. */
  readonly failures: number
}

export function createEncryptingCodec(key = randomBytes(32)): EncryptingCodec {
  const codec = {
    broken: false,
    failures: 0,
    async encode(payloads: Payload[]) {
      return payloads.map((payload) => sealed(key, payload))
    },
    async decode(payloads: Payload[]) {
      if (codec.broken) {
        codec.failures += 1
        throw new Error('The key service does not answer.')
      }
      return payloads.map((payload) => opened(key, payload))
    },
  }
  return codec
}

export function isEncrypted({ metadata }: Payload): boolean {
  return Buffer.from(metadata?.['encoding'] ?? []).toString() === ENCODING
}

function sealed(key: Buffer, payload: Payload): Payload {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const bytes = Buffer.concat([cipher.update(textOf(payload)), cipher.final()])
  return {
    metadata: { encoding: Buffer.from(ENCODING) },
    data: Buffer.concat([nonce, cipher.getAuthTag(), bytes]),
  }
}

function opened(key: Buffer, payload: Payload): Payload {
  if (!isEncrypted(payload)) return payload
  const data = Buffer.from(payload.data ?? [])
  const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(0, 12))
  decipher.setAuthTag(data.subarray(12, 28))
  return payloadOf(Buffer.concat([decipher.update(data.subarray(28)), decipher.final()]).toString())
}

/** A real codec would encode the protobuf message. */
function textOf({ metadata, data }: Payload): string {
  const names = Object.entries(metadata ?? {}).map(([name, value]) => [
    name,
    Buffer.from(value).toString('base64'),
  ])
  return JSON.stringify({ names, data: Buffer.from(data ?? []).toString('base64') })
}

function payloadOf(text: string): Payload {
  const { names, data } = JSON.parse(text) as { names: [string, string][]; data: string }
  const metadata = Object.fromEntries(names.map(([name, value]) => [name, Buffer.from(value, 'base64')]))
  return { metadata, data: Buffer.from(data, 'base64') }
}
