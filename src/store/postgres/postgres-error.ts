import { StoreError } from '../store-error.js'
import type { StoreErrorCode } from '../store-error.js'

interface Known {
  readonly code: StoreErrorCode
  readonly advice: string
}

const LOGIN = 'refused the user or its password: correct them in the URL or in PGPASSWORD'
const NO_HOST = 'has a host that is not known or not reached: correct the URL, or check the network'
const GONE = 'does not answer: start the server, or wait until it is up again'
const UNPLANNED_STILL = 'could not plan a statement in time: try again'
const CHANGED = 'was changed by others each time: try again'

/** SQLSTATEs and network codes of Node that are no bug, with advice. */
const KNOWN: Readonly<Record<string, Known>> = {
  40001: { code: 'busy', advice: CHANGED },
  '40P01': { code: 'busy', advice: CHANGED },
  '55P03': { code: 'busy', advice: 'has a row or table that another session keeps locked: end that session' },
  57014: { code: 'busy', advice: 'did not answer a statement in time: look for what keeps it busy' },
  26000: { code: 'busy', advice: UNPLANNED_STILL },
  '42P05': { code: 'busy', advice: UNPLANNED_STILL },
  '25P03': { code: 'busy', advice: 'ended a transaction that stood still: the machine may be overloaded' },
  '57P01': { code: 'unavailable', advice: GONE },
  '57P02': { code: 'unavailable', advice: GONE },
  '57P03': { code: 'unavailable', advice: GONE },
  '08000': { code: 'unavailable', advice: GONE },
  '08003': { code: 'unavailable', advice: GONE },
  '08006': { code: 'unavailable', advice: GONE },
  ECONNREFUSED: { code: 'unavailable', advice: GONE },
  ECONNRESET: { code: 'unavailable', advice: GONE },
  EPIPE: { code: 'unavailable', advice: GONE },
  ENOENT: { code: 'unavailable', advice: GONE },
  ETIMEDOUT: { code: 'unavailable', advice: GONE },
  EHOSTUNREACH: { code: 'unavailable', advice: NO_HOST },
  ENETUNREACH: { code: 'unavailable', advice: NO_HOST },
  ENOTFOUND: { code: 'unavailable', advice: NO_HOST },
  EAI_AGAIN: { code: 'unavailable', advice: NO_HOST },
  28000: {
    code: 'unavailable',
    advice: 'refused the connection: check user, database and sslmode in the URL',
  },
  '28P01': { code: 'unavailable', advice: LOGIN },
  '3D000': { code: 'unavailable', advice: 'does not exist: make it with createdb, or correct the URL' },
  '3F000': { code: 'unavailable', advice: 'has no schema to work in: make the schema of its search_path' },
  42501: {
    code: 'unavailable',
    advice:
      'does not let this user do that: run "everthread setup" as the owner of the schema, and give all other users the grants of docs/operations.md',
  },
  25006: { code: 'unavailable', advice: 'is read-only, as a standby is: name the primary server' },
  53100: { code: 'unavailable', advice: 'is on a full disk: free some space' },
  53200: { code: 'unavailable', advice: 'is out of memory: give its server more' },
  53300: {
    code: 'unavailable',
    advice: 'has too many connections: raise max_connections, or lower ?connections= in the URL',
  },
  XX001: { code: 'corrupt', advice: 'is damaged: restore it from a backup' },
  XX002: { code: 'corrupt', advice: 'has a damaged index: rebuild it with REINDEX' },
  SELF_SIGNED_CERT_IN_CHAIN: {
    code: 'unavailable',
    advice: 'has a certificate of an unknown issuer: name it with sslrootcert in the URL',
  },
  DEPTH_ZERO_SELF_SIGNED_CERT: {
    code: 'unavailable',
    advice: 'has a certificate of an unknown issuer: name it with sslrootcert in the URL',
  },
}

/** Errors of `pg` and its pool that have no code. */
const WORDS: readonly (readonly [RegExp, Known])[] = [
  [
    /^timeout exceeded when trying to connect/,
    {
      code: 'busy',
      advice: 'gave none of its connections in time: raise ?connections= in the URL, or run more processes',
    },
  ],
  [
    /^Connection terminated|^timeout expired|^Client was closed|^Client has encountered a connection error/,
    { code: 'unavailable', advice: GONE },
  ],
  [
    /does not support SSL/,
    { code: 'unavailable', advice: 'has no TLS: use sslmode=disable in the URL, or set up TLS' },
  ],
  [/password must be a string/, { code: 'unavailable', advice: LOGIN }],
]

const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01'])

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined
  return error.code
}

function knownOf(error: unknown): Known | undefined {
  const known = KNOWN[codeOf(error) ?? '']
  if (known !== undefined || !(error instanceof Error)) return known
  return WORDS.find(([words]) => words.test(error.message))?.[1]
}

/** A conflict with another transaction: a retry sees what that one committed. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(codeOf(error) ?? '')
}

/** The server has never begun the transaction whose status was queried. */
export function isUnknownTransaction(error: unknown): boolean {
  return codeOf(error) === '22023'
}

/**
 * A prepared statement of the connection is unusable: a migration changed its columns, or it could not be planned at first and
 * `pg` believes that it was. Another connection plans it anew.
 */
export function isOutdatedPlan(error: unknown): boolean {
  if (UNPLANNED.has(codeOf(error) ?? '')) return true
  // The code stands for everything that is not supported, and the message is in the language of the server.
  if (codeOf(error) !== '0A000' || !(error instanceof Error)) return false
  return 'routine' in error && error.routine === 'RevalidateCachedQuery'
}

/** The connection has no statement of that name, or another statement has it. */
const UNPLANNED: ReadonlySet<string> = new Set(['26000', '42P05'])

/** The connection or server is lost: what was in flight and not committed has not happened. */
export function isLost(error: unknown): boolean {
  const known = knownOf(error)
  return known?.advice === GONE || codeOf(error) === '25P03'
}

/** A retry of the same work may succeed soon. */
export function isPassing(error: unknown): boolean {
  return isConflict(error) || isLost(error) || isOutdatedPlan(error) || PASSING.has(codeOf(error) ?? '')
}

const PASSING: ReadonlySet<string> = new Set(['53300', '55P03'])

/** A StoreError for a failure of server or network; any other error, which is a bug, unchanged. */
export function asStoreError(error: unknown, name: string): unknown {
  const known = knownOf(error)
  if (known === undefined || !(error instanceof Error)) return error
  // For a host with several addresses Node throws one AggregateError without a message.
  const said = error.message === '' ? codeOf(error) : error.message
  return new StoreError(known.code, `The database ${name} ${known.advice} (PostgreSQL: ${said})`, error)
}
