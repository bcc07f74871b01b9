import { createHash } from 'node:crypto'
import { ConfigError } from '../protocol/errors.js'
import type { StoreOptions } from './store-location.js'

/** A key for secrets. Its id says nothing of it and is kept with each value that it sealed. */
export interface SecretKey {
  readonly id: string
  readonly bytes: Buffer
}

const BYTES = 32

/**
 * The keys of the options, else of EVERTHREAD_SECRET_KEY: the first seals, all open. None is fine until there is a secret.
 * @throws ConfigError which shows nothing of a key
 */
export function secretKeys(options: StoreOptions, environment = process.env): readonly SecretKey[] {
  const source = options.secretKey === undefined ? 'EVERTHREAD_SECRET_KEY' : 'store.secretKey'
  const given = options.secretKey ?? environment['EVERTHREAD_SECRET_KEY'] ?? ''
  if (given.trim() === '') return []
  const texts = given.split(',').map((text) => text.trim())
  const keys = texts.flatMap((text) => keyOf(text) ?? [])
  if (keys.length === texts.length) return keys
  throw new ConfigError([
    `Expected ${source} to hold keys of ${BYTES} bytes as base64 or hex, separated by commas, got something else: ` +
      'make one with "openssl rand -base64 32"',
  ])
}

function keyOf(text: string): SecretKey | undefined {
  const bytes = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : base64Bytes(text)
  if (bytes?.byteLength !== BYTES) return undefined
  const id = createHash('sha256').update('everthread secret key').update(bytes).digest('hex').slice(0, 12)
  return { id, bytes }
}

function base64Bytes(text: string): Buffer | undefined {
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : undefined
}
