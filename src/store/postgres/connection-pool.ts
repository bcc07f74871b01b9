/**
 * Owns: connections to PostgreSQL. Their settings, the pools of a store, what happens when a connection falls silent or is
 * lost, prepared statements, and which statements share a write to the socket or a round trip.
 *
 * Does not own: what a failed statement means (`postgres-error.ts`), nor retries (`transactor.ts`).
 */
import { Kysely, PostgresDialect } from 'kysely'
import type { Dialect, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import pg from 'pg'
import type {
  ClientConfig,
  Connection,
  CustomTypesConfig,
  PoolClient,
  PoolConfig,
  QueryConfig,
  QueryResult,
} from 'pg'

import type { Schema } from '../schema.js'
import type { TransactionPlace } from '../transaction.js'
import { isOutdatedPlan } from './postgres-error.js'
import type { PostgresPlace } from './postgres-place.js'

/** A lock held longer belongs to a session that hangs: three tries fit into the patience. */
const LOCK_TIMEOUT = 10_000

/** A transaction of a suspended process keeps its rows locked for others. */
const IDLE_IN_TRANSACTION = 60_000

interface PoolLimits {
  readonly connections: number
  /** Milliseconds that a caller waits for a connection. */
  readonly patience: number
  /** Milliseconds that the server gives a statement; null: no limit. */
  readonly statement: number | null
  /** Milliseconds without an answer after which the connection counts as broken; null: never. */
  readonly silence: number | null
  /** Whether the server plans a prepared statement for its values each time. */
  readonly plansEach: boolean
  /** Whether callers of one turn of the event loop share a connection: for single reads, which need no connection of their own. */
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

/** Opens a pool of connections, and Kysely with it. */
export function openConnections(place: PostgresPlace, limits: PoolLimits): TransactionPlace {
  const postgres = new PostgresDialect({ pool: openPool(place, limits) })
  const driver = postgres.createDriver()
  const dialect: Dialect = {
    createDriver: () => driver,
    createQueryCompiler: () => postgres.createQueryCompiler(),
    createAdapter: () => postgres.createAdapter(),
    createIntrospector: (db) => postgres.createIntrospector(db),
  }
  const settings = { isolationLevel: 'serializable' } as const
  return { database: new Kysely<Schema>({ dialect }), dialect, driver, settings, pipelined: true }
}

/** A pool of connections for Kysely. When a connection falls silent, its statements in flight fail. */
function openPool(
  place: PostgresPlace,
  { connections, patience, statement, silence, plansEach, shares }: PoolLimits,
): PostgresPool {
  const config = connectionConfig(place)
  const pool = new pg.Pool({
    ...config,
    ...(plansEach && { options: `${config.options} -c plan_cache_mode=force_custom_plan` }),
    Client: GuardedClient,
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

/** Prepared statements that each connection keeps, 50 KB of the server's memory for each; a step of a thread has some forty. */
export const PREPARED_STATEMENTS = 200

/** A connection for Kysely that several users may share: its statements run in the order in which they are made. */
interface SharedClient extends PostgresPoolClient {
  /** Adds a user; each user releases it once. */
  enter(): void
}

interface Guard {
  /** Milliseconds without an answer after which the connection counts as broken; null: never. */
  readonly silence: number | null
  readonly nameOf: NameStatement
}

function createSharedClient(client: PoolClient, { silence, nameOf }: Guard): SharedClient {
  let users = 0
  let outdated = false
  /** The beginning of a transaction without statements: it is sent together with the first one. */
  let begin: string | undefined
  let inFlight = 0
  let timer: NodeJS.Timeout | undefined

  /** Counts statements in flight, and restarts the timer for the next answer. */
  function countInFlight(more: 1 | -1): void {
    inFlight += more
    if (silence === null || (more === 1 && inFlight > 1)) return
    clearTimeout(timer)
    // Closing the socket fails the statements in flight.
    timer = inFlight === 0 ? undefined : setTimeout(() => destroyConnection(client), silence)
  }

  async function query<R>(sql: string, parameters: readonly unknown[] = []): Promise<PostgresQueryResult<R>> {
    if (BEGINNING.test(sql)) {
      begin = sql
      return emptyResult('SELECT')
    }
    const opening = begin
    begin = undefined
    if (opening !== undefined && sql === 'commit') return emptyResult('COMMIT')
    if (opening !== undefined && sql === 'rollback') return emptyResult('ROLLBACK')
    const values = parameters.map(encodeParameter)
    // Statements without values are `commit` and the like, which need no plan.
    const name = values.length === 0 ? undefined : nameOf(sql)
    countInFlight(1)
    try {
      const statement = { text: sql, values, ...(name !== undefined && { name }) }
      corkUntilNextTick(client)
      const result =
        opening === undefined ? await client.query(statement) : await runFirst(client, opening, statement)
      // The result of `pg` has what Kysely needs: the boundary of the driver.
      return result as unknown as PostgresQueryResult<R>
    } catch (error) {
      outdated ||= isOutdatedPlan(error)
      throw error
    } finally {
      countInFlight(-1)
    }
  }
  return {
    // The other overload is for cursors, which are not used.
    query: query as PostgresPoolClient['query'],
    // The prepared plans of this connection are outdated: a new connection plans again.
    release(destroy) {
      outdated ||= destroy === true
      users -= 1
      if (users === 0) client.release(outdated)
    },
    enter() {
      users += 1
    },
  }
}

/** The statements with which Kysely begins transactions. */
const BEGINNING = /^(begin|start transaction)\b/

/** The result of a statement that is not sent, or not yet. */
function emptyResult<R>(command: 'SELECT' | 'COMMIT' | 'ROLLBACK'): PostgresQueryResult<R> {
  return { command, rowCount: 0, rows: [] }
}

/** Sends the statements of one turn of the event loop in one write: a write to a socket costs more than most statements. */
function corkUntilNextTick({ connection: { stream } }: PoolClient): void {
  stream.cork()
  process.nextTick(() => stream.uncork())
}

/** All clients of the pool are of this class. */
function destroyConnection(client: PoolClient): void {
  if (client instanceof GuardedClient) client.destroy()
}

function encodeParameter(parameter: unknown): unknown {
  return typeof parameter === 'string' ? encodeText(parameter) : parameter
}

/**
 * A connection that always has an `error` listener. The server may end it at any moment, also when the pool has just handed it
 * out and removed its own listener: an `error` event without a listener would end the process. Statements in flight fail
 * regardless.
 */
export class GuardedClient extends pg.Client {
  constructor(config?: string | ClientConfig) {
    super(config)
    this.on('error', () => {})
  }

  /** Closes the connection at once and fails the statements in flight, for which `end` would wait. */
  destroy(): void {
    this.connection.stream.destroy()
  }
}

/**
 * Sends the beginning of a transaction and its first statement as one group of the extended protocol: this saves a round trip,
 * and the server skips the statement if the beginning fails. Statements behind the group have to wait for its answer, because
 * the server would run them (`openSession`).
 */
function runFirst(client: pg.Client, begin: string, config: QueryConfig): Promise<QueryResult> {
  return new Promise((resolve, reject) => {
    // Without values `pg` would send it as a group of its own.
    const grouped = { ...config, queryMode: 'extended' }
    const query = new pg.Query(grouped, (error, result) => {
      if (error === undefined || error === null) resolve(lastOf(result))
      else reject(error)
    })
    const submit = query.submit.bind(query)
    query.submit = (connection) => {
      sendWithoutEnd(connection, begin)
      return submit(connection)
    }
    client.query(query)
  })
}

/** Sends a statement without ending the group: the next one ends it. */
function sendWithoutEnd(connection: Connection, text: string): void {
  connection.parse({ name: '', text, types: [] }, true)
  connection.bind({}, true)
  connection.execute({}, true)
}

/** `pg` answers a result for each statement of a group. */
function lastOf(results: QueryResult | readonly QueryResult[]): QueryResult {
  const last = 'length' in results ? results.at(-1) : results
  if (last === undefined) throw new Error('Expected the result of a statement, got none')
  return last
}

/**
 * The name under which a connection keeps a statement parsed and planned. Parsing and planning take the server longer than
 * running most of our statements. Undefined above a limit: a connection keeps named statements until it ends, and a list of
 * each length is a statement of its own.
 */
type NameStatement = (text: string) => string | undefined

export function createStatementNames(): NameStatement {
  const names = new Map<string, string>()
  return (text) => {
    const known = names.get(text)
    if (known !== undefined || names.size >= PREPARED_STATEMENTS) return known
    const name = `everthread_${names.size}`
    names.set(text, name)
    return name
  }
}

/**
 * PostgreSQL's text cannot hold the zero character, which models and people may send. It is stored as a code point that Unicode
 * never assigns, followed by a digit, and so is that code point itself.
 */
const ESCAPE = '\uFDD0'

export function encodeText(text: string): string {
  if (!text.includes('\0') && !text.includes(ESCAPE)) return text
  return text.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll('\0', `${ESCAPE}0`)
}

export function decodeText(text: string): string {
  if (!text.includes(ESCAPE)) return text
  return text.replaceAll(`${ESCAPE}0`, '\0').replaceAll(`${ESCAPE}1`, ESCAPE)
}
