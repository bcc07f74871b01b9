import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { ConfigError } from '../protocol/errors.js'
import { StoreError } from './store-error.js'
import type { StoreOptions } from './store-location.js'

/** A value that is sealed with the key of that id. */
export interface Sealed {
  readonly value: string
  readonly keyId: string
}

/** Binds a secret to its thread and name: a sealed value that was moved elsewhere cannot be opened. */
export interface SecretPlace {
  readonly threadId: string
  readonly name: string
}

/** Seals and opens the secrets of a store, by AES-256-GCM. */
export interface SecretBox {
  /** The keys that open; the first one also seals. */
  readonly keyIds: readonly string[]
  /** @throws StoreError `no_key` */
  seal(text: string, place: SecretPlace): Sealed
  /** Equal for equal texts at the same place. Nobody without the key can try texts out; without a key there are no secrets. */
  fingerprint(text: string, place: SecretPlace): string
  /** @throws StoreError `no_key`; `corrupt` for a changed value */
  open(sealed: Sealed, place: SecretPlace): string
}

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

export function createSecretBox(keys: readonly SecretKey[]): SecretBox {
  return {
    keyIds: keys.map(({ id }) => id),
    seal(text, place) {
      const [key] = keys
      if (key === undefined) throw noKey(place.name)
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, key.bytes, nonce).setAAD(authenticatedBytes(place))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      const value = Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')
      return { value, keyId: key.id }
    },
    fingerprint(text, place) {
      const bytes = authenticatedBytes(place)
      return createHmac('sha256', keys[0]?.bytes ?? '')
        .update(bytes)
        .update(text)
        .digest('hex')
    },
    open({ value, keyId }, place) {
      const key = keys.find(({ id }) => id === keyId)
      if (key === undefined) throw wrongKey(place.name, keyId)
      try {
        return decrypt(Buffer.from(value, 'base64'), key, place)
      } catch {
        // Without the cause, which adds nothing: errors are logged.
        throw new StoreError(
          'corrupt',
          `Expected the secret "${place.name}" as it was sealed, got something else: set it again`,
        )
      }
    },
  }
}

function decrypt(bytes: Buffer, key: SecretKey, place: SecretPlace): string {
  const tagEnd = NONCE_BYTES + TAG_BYTES
  const nonce = bytes.subarray(0, NONCE_BYTES)
  const decipher = createDecipheriv(ALGORITHM, key.bytes, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(authenticatedBytes(place)).setAuthTag(bytes.subarray(NONCE_BYTES, tagEnd))
  return Buffer.concat([decipher.update(bytes.subarray(tagEnd)), decipher.final()]).toString('utf8')
}

function authenticatedBytes({ threadId, name }: SecretPlace): Buffer {
  return Buffer.from(JSON.stringify([threadId, name]))
}

function noKey(name: string): StoreError {
  return new StoreError(
    'no_key',
    `Expected a key to seal the secret "${name}", got none: set EVERTHREAD_SECRET_KEY or store.secretKey ` +
      '("openssl rand -base64 32" makes one); values that clients set are kept as secrets, whatever they are',
  )
}

function wrongKey(name: string, keyId: string): StoreError {
  return new StoreError(
    'no_key',
    `Expected the key ${keyId}, which sealed the secret "${name}", got another one or none: ` +
      'add it to EVERTHREAD_SECRET_KEY, separated by a comma',
  )
}

/** A key for secrets. Its id, which does not reveal it, is stored with each value that it sealed. */
interface SecretKey {
  readonly id: string
  readonly bytes: Buffer
}

const BYTES = 32

/**
 * The keys of the options, else of EVERTHREAD_SECRET_KEY: the first one seals, all open. Without secrets no key is needed.
 * @throws ConfigError that contains no part of a key
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
