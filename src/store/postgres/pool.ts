import type { PostgresPool } from 'kysely'
import pg from 'pg'
import type { CustomTypesConfig, PoolClient, PoolConfig } from 'pg'
import { LIMITS } from '../../protocol/limits.js'
import type { PostgresPlace } from './postgres-place.js'
import { createSharedClient, createStatementNames, decodeText, HeardClient } from './shared-client.js'
import type { SharedClient } from './shared-client.js'

export interface PoolLimits {
  readonly connections: number
  /** Milliseconds that a caller waits for a connection. */
  readonly patience: number
  /** Null: as long as it takes. */
  readonly statement: number | null
  /** Milliseconds without an answer, then the connection counts as gone; null: never. */
  readonly silence: number | null
  /** Whether a statement is planned for its values each time, though the server keeps it. */
  readonly plansEach: boolean
  /** Whether those that ask at the same moment get one connection: single reads, which nobody has to be alone for. */
  readonly shares: boolean
}

/**
 * Every read has its index, and a plan that reads a whole table is a wrong guess: of a tree's size, of a table that was
 * small yesterday. In a serializable transaction it would also conflict with every write to that table.
 */
const SETTINGS = ['-c enable_seqscan=off']

/** What every connection to a place is told. */
export function connectionConfig(place: PostgresPlace): PoolConfig {
  return {
    fallback_application_name: 'everthread',
    keepAlive: true,
    // A network that drops silent connections is kept from it.
    keepAliveInitialDelayMillis: 10_000,
    types: TYPES,
    connectionString: place.connectionString,
    options: [...place.options, ...SETTINGS].join(' '),
  }
}

/** Connections as Kysely wants them: of one that nothing comes from any more, the call in flight fails. */
export function openPool(
  place: PostgresPlace,
  { connections, patience, statement, silence, plansEach, shares }: PoolLimits,
): PostgresPool {
  const config = connectionConfig(place)
  const pool = new pg.Pool({
    ...config,
    ...(plansEach && { options: `${config.options} -c plan_cache_mode=force_custom_plan` }),
    Client: HeardClient,
    // A statement is sent before the one in front of it is answered.
    pipeline: true,
    max: connections,
    connectionTimeoutMillis: patience,
    lock_timeout: Math.min(LIMITS.databaseLock, patience),
    idle_in_transaction_session_timeout: LIMITS.databaseIdle,
    ...(statement !== null && { statement_timeout: statement }),
  })
  // Of a connection that nobody uses: the next call gets another one.
  pool.on('error', () => {})
  const known = new WeakMap<PoolClient, SharedClient>()
  const nameOf = createStatementNames()
  const connect = shares ? inCompany(() => pool.connect()) : () => pool.connect()
  return {
    options: pool.options,
    async connect() {
      const client = await connect()
      const wrapped = known.get(client) ?? createSharedClient(client, { silence, nameOf })
      known.set(client, wrapped)
      wrapped.enter()
      return wrapped
    },
    end: () => pool.end(),
  }
}

/** As many of one moment that one slow read may hold up. */
const COMPANY = 8

/** What is asked for until the code that runs has come to an end: it is sent in one piece then. */
function inCompany(connect: () => Promise<PoolClient>): () => Promise<PoolClient> {
  let places = 0
  let client: Promise<PoolClient> | undefined
  return () => {
    if (client === undefined || places === 0) {
      if (client === undefined) process.nextTick(() => void (client = undefined))
      client = connect()
      places = COMPANY
    }
    places -= 1
    return client
  }
}

const INT8 = 20
const NUMERIC = 1700
const TEXT = 25

/** Counts, sums and times are below 2^53. */
const TYPES: CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === INT8 || oid === NUMERIC) return Number
    return oid === TEXT ? decodeText : pg.types.getTypeParser(oid, format)
  }) as CustomTypesConfig['getTypeParser'],
}
