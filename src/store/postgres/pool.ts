import type { PostgresPool } from 'kysely'
import pg from 'pg'
import type { CustomTypesConfig, PoolClient, PoolConfig } from 'pg'
import type { PostgresPlace } from './postgres-place.js'
import { createSharedClient, createStatementNames, decodeText, HeardClient } from './shared-client.js'
import type { SharedClient } from './shared-client.js'

/** A lock held longer belongs to a session that hangs: three tries fit into the patience. */
const LOCK_TIMEOUT = 10_000

/** A transaction of a process that stands still locks its rows for others. */
const IDLE_IN_TRANSACTION = 60_000

export interface PoolLimits {
  readonly connections: number
  /** Milliseconds that a caller waits for a connection. */
  readonly patience: number
  /** Milliseconds that the server gives a statement; null: no limit. */
  readonly statement: number | null
  /** Milliseconds without an answer after which the connection counts as broken; null: never. */
  readonly silence: number | null
  /** Whether the server plans a prepared statement for its values each time. */
  readonly plansEach: boolean
  /** Whether callers of the same moment share a connection: for single reads, which need no connection of their own. */
  readonly shares: boolean
}

/**
 * Every read has an index. A plan that scans a whole table is a wrong estimate of the planner, and in a serializable
 * transaction it would also conflict with every write to that table.
 */
const SETTINGS = ['-c enable_seqscan=off']

/** The settings of every connection to a place. */
export function connectionConfig(place: PostgresPlace): PoolConfig {
  return {
    fallback_application_name: 'everthread',
    keepAlive: true,
    // Some networks drop silent connections.
    keepAliveInitialDelayMillis: 10_000,
    types: TYPES,
    connectionString: place.connectionString,
    options: [...place.options, ...SETTINGS].join(' '),
  }
}

/** A pool of connections for Kysely. When a connection falls silent, its statements in flight fail. */
export function openPool(
  place: PostgresPlace,
  { connections, patience, statement, silence, plansEach, shares }: PoolLimits,
): PostgresPool {
  const config = connectionConfig(place)
  const pool = new pg.Pool({
    ...config,
    ...(plansEach && { options: `${config.options} -c plan_cache_mode=force_custom_plan` }),
    Client: HeardClient,
    // A statement is sent before the previous one is answered.
    pipeline: true,
    max: connections,
    connectionTimeoutMillis: patience,
    lock_timeout: Math.min(LOCK_TIMEOUT, patience),
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION,
    ...(statement !== null && { statement_timeout: statement }),
  })
  // An idle connection was lost: the next call gets another one.
  pool.on('error', () => {})
  const known = new WeakMap<PoolClient, SharedClient>()
  const nameOf = createStatementNames()
  const connect = shares ? shareConnections(() => pool.connect()) : () => pool.connect()
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

/** At most this many callers share a connection, so that a slow read delays only these. */
const MOST_SHARING = 8

/** Gives the callers of one turn of the event loop one connection: their statements are sent in one write. */
function shareConnections(connect: () => Promise<PoolClient>): () => Promise<PoolClient> {
  let places = 0
  let client: Promise<PoolClient> | undefined
  return () => {
    if (client === undefined || places === 0) {
      if (client === undefined) process.nextTick(() => void (client = undefined))
      client = connect()
      places = MOST_SHARING
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
