/**
 * Signatures of what is posted, as Standard Webhooks 1.0 has them, so that a receiver may take any library of it: the secret is
 * `whsec_` with base64, and the signature HMAC-SHA256 of id, time and body, joined by dots.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'
/** Standard Webhooks allows 24 to 64 bytes. */
const SECRET_BYTES = { least: 24, most: 64, made: 32 } as const

export function makeSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES.made).toString('base64')
}

/** Explains what is wrong with a secret, without showing it. */
export function secretProblem(secret: unknown): string | undefined {
  const { least, most } = SECRET_BYTES
  const expected = `Expected "secret" to be "${PREFIX}" with ${least} to ${most} bytes in base64`
  if (typeof secret !== 'string') return `${expected}, got ${typeof secret}.`
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret)) return `${expected}, got another text.`
  const bytes = keyOf(secret).length
  return bytes < least || bytes > most ? `${expected}, got ${bytes}.` : undefined
}

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.slice(PREFIX.length), 'base64')
}

/** The id of what is posted: the same each time that it is tried, in any process, and another one for another webhook. */
export function messageIdOf(webhookId: string, subject: string): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([webhookId, subject]))
    .digest('hex')
  return `msg_${digest.slice(0, 32)}`
}

interface Signed {
  readonly secret: string
  readonly id: string
  /** Seconds since 1970. */
  readonly at: number
  readonly body: string
}

export function signedHeaders({ secret, id, at, body }: Signed): Readonly<Record<string, string>> {
  const signature = createHmac('sha256', keyOf(secret)).update(`${id}.${at}.${body}`).digest('base64')
  return {
    'content-type': 'application/json; charset=utf-8',
    'webhook-id': id,
    'webhook-timestamp': String(at),
    'webhook-signature': `v1,${signature}`,
  }
}
