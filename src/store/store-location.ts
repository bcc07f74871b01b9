import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { ConfigError } from '../protocol/errors.js'
import { isPostgres, postgresProblem } from './postgres/postgres-place.js'
import { parseS3Url } from './s3/s3-location.js'
import type { S3Location } from './s3/s3-location.js'

/** The places of a store: URLs, or paths relative to the working directory. */
export interface StoreOptions {
  /** A SQLite file, or `postgres://user:password@host:5432/database`. @default EVERTHREAD_DATABASE_URL, else `file:.everthread/threads.db` */
  readonly database?: string
  /**
   * Or `s3://bucket/prefix?region=…&endpoint=…&forcePathStyle=…`, with credentials from the AWS SDK's own sources.
   * @default EVERTHREAD_BLOBS_URL, else `file:.everthread/blobs`
   */
  readonly blobs?: string
  /**
   * 32 bytes as base64 or hex, for secret variables and logins; several, separated by commas: the first seals, all open.
   * @default EVERTHREAD_SECRET_KEY
   */
  readonly secretKey?: string
}

/** An absolute path of a folder, or a bucket. */
type BlobLocation = string | S3Location

interface StoreLocation {
  readonly database: string
  readonly blobs: BlobLocation
}

/**
 * Absolute path of the database file or its URL; absolute path of the blob folder or its bucket.
 * @throws ConfigError naming everything that is wrong.
 */
export function storeLocation(options: StoreOptions, environment = process.env): StoreLocation {
  const database = parseDatabase({
    source: options.database === undefined ? 'EVERTHREAD_DATABASE_URL' : 'store.database',
    place: options.database ?? environment['EVERTHREAD_DATABASE_URL'] ?? 'file:.everthread/threads.db',
    example: 'file:.everthread/threads.db, or a postgres: URL',
  })
  const blobs = blobLocation(options, environment)
  const problems = [
    ...('problem' in database ? [database.problem] : []),
    ...('problems' in blobs ? blobs.problems : []),
  ]
  if ('problem' in database || 'problems' in blobs) throw new ConfigError(problems)
  return { database: database.path, blobs: blobs.location }
}

function blobLocation(
  options: StoreOptions,
  environment: NodeJS.ProcessEnv,
): { readonly location: BlobLocation } | { readonly problems: readonly string[] } {
  const source = options.blobs === undefined ? 'EVERTHREAD_BLOBS_URL' : 'store.blobs'
  const place = options.blobs ?? environment['EVERTHREAD_BLOBS_URL'] ?? 'file:.everthread/blobs'
  const bucket = parseBucket(source, place)
  if (bucket !== undefined) return bucket
  const parsed = parsePlace({ source, place, example: 'file:.everthread/blobs, or an s3: URL' })
  return 'problem' in parsed ? { problems: [parsed.problem] } : { location: parsed.path }
}

/** The bucket of an `s3:` URL, or all its problems; undefined for another place. */
function parseBucket(
  source: string,
  place: string,
): { readonly location: S3Location } | { readonly problems: readonly string[] } | undefined {
  if (!/^s3:/i.test(place)) return undefined
  const parsed = parseS3Url(source, place)
  return 'problems' in parsed ? parsed : { location: parsed }
}

interface Place {
  readonly source: string
  readonly place: string
  readonly example: string
}

function parseDatabase(place: Place): { path: string } | { problem: string } {
  if (!isPostgres(place.place)) return parsePlace(place)
  const problem = postgresProblem(place.place)
  return problem === undefined
    ? { path: place.place }
    : { problem: `Expected ${place.source} to be a URL such as ${POSTGRES_EXAMPLE}, got ${problem}` }
}

const POSTGRES_EXAMPLE = 'postgres://user:password@host:5432/database'

function parsePlace({ source, place, example }: Place): { path: string } | { problem: string } {
  const expected = `Expected ${source} to be a file: URL or a path such as ${example}`
  if (/%00|\0/.test(place)) return { problem: `${expected}, got one with a zero character` }
  if (place.trim() === '') return { problem: `${expected}, got nothing` }
  // The rest of a URL with another scheme may hold a password: only the scheme is shown.
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(place)?.[1]?.toLowerCase()
  if (scheme === undefined) {
    return place.startsWith(':') ? { problem: `${expected}, got "${place}"` } : { path: resolve(place) }
  }
  if (scheme !== 'file') return { problem: `${expected}, got the scheme "${scheme}:"` }
  try {
    const url = new URL(place, pathToFileURL(`${process.cwd()}/`))
    if (url.search !== '' || url.hash !== '') return { problem: `${expected}, without "?" and "#"` }
    return { path: fileURLToPath(url) }
  } catch {
    return { problem: `${expected}, got a file: URL that names no path of this machine` }
  }
}

/**
 * The id of a store is made once, with its schema, and kept in `schema_info`. It ties threads to their store: each start and
 * each activity input carries it, and a worker refuses work of another store. A copy of a database keeps the id until it gets
 * a new one.
 */

/** Without `l`, `o`, `u` and `v`: people read ids aloud and copy them by hand. */
const ALPHABET = '0123456789abcdefghijkmnpqrstwxyz'
/** Sixty bits, so that stores on one Temporal server do not get the same id by accident. */
const LENGTH = 12

export function makeStoreId(): string {
  // 256 is a multiple of 32, so all letters are equally likely.
  return [...randomBytes(LENGTH)].map((byte) => ALPHABET[byte % ALPHABET.length]).join('')
}

/**
 * The task queue of workers and clients: the given one, else EVERTHREAD_TASK_QUEUE, else one derived from the id of the store,
 * so that two projects on one Temporal server do not take each other's threads.
 */
export function taskQueueOf(storeId: string, given?: string, environment = process.env): string {
  return given ?? environment['EVERTHREAD_TASK_QUEUE'] ?? ownTaskQueue(storeId)
}

/** The default task queue, which only workers of this store have. */
export function ownTaskQueue(storeId: string): string {
  return `everthread-${storeId}`
}
