import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import pg from 'pg'
import type { CustomTypesConfig, PoolClient, PoolConfig } from 'pg'

import { LIMITS } from '../../protocol/limits.js'
import { HeardClient } from './heard-client.js'
import { isOutdatedPlan } from './postgres-error.js'
import type { PostgresPlace } from './postgres-place.js'
import { createStatementNames } from './statement-names.js'
import type { NameStatement } from './statement-names.js'
import { decodeText, encodeText } from './text-codec.js'

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
  { connections, patience, statement, silence, plansEach }: PoolLimits,
): PostgresPool {
  const config = connectionConfig(place)
  const pool = new pg.Pool({
    ...config,
    ...(plansEach && { options: `${config.options} -c plan_cache_mode=force_custom_plan` }),
    Client: HeardClient,
    max: connections,
    connectionTimeoutMillis: patience,
    lock_timeout: Math.min(LIMITS.databaseLock, patience),
    idle_in_transaction_session_timeout: LIMITS.databaseIdle,
    ...(statement !== null && { statement_timeout: statement }),
  })
  // Of a connection that nobody uses: the next call gets another one.
  pool.on('error', () => {})
  const known = new WeakMap<PoolClient, PostgresPoolClient>()
  const nameOf = createStatementNames()
  return {
    options: pool.options,
    async connect() {
      const client = await pool.connect()
      const wrapped = known.get(client) ?? guarded(client, { silence, nameOf })
      known.set(client, wrapped)
      return wrapped
    },
    end: () => pool.end(),
  }
}

interface Guard {
  readonly silence: number | null
  readonly nameOf: NameStatement
}

function guarded(client: PoolClient, { silence, nameOf }: Guard): PostgresPoolClient {
  let outdated = false

  async function query<R>(sql: string, parameters: readonly unknown[] = []): Promise<PostgresQueryResult<R>> {
    // Ends the socket under the statement, which then fails.
    const timer = silence === null ? undefined : setTimeout(() => void client.end(), silence)
    try {
      const values = parameters.map(encoded)
      // Those without values are `begin` and the like: nothing to plan.
      const name = values.length === 0 ? undefined : nameOf(sql)
      const result = await client.query({ text: sql, values, ...(name !== undefined && { name }) })
      // What Kysely wants is a part of what `pg` answers: the driver's boundary.
      return result as unknown as PostgresQueryResult<R>
    } catch (error) {
      outdated ||= isOutdatedPlan(error)
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    // Cursors are not used: the one other form.
    query: query as PostgresPoolClient['query'],
    // What it keeps planned is of the schema before a migration: a new one plans anew.
    release: (destroy) => client.release(outdated ? true : destroy),
  }
}

function encoded(parameter: unknown): unknown {
  return typeof parameter === 'string' ? encodeText(parameter) : parameter
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
