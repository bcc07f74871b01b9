import type { PostgresPoolClient, PostgresQueryResult } from 'kysely'
import pg from 'pg'
import type { ClientConfig, Connection, PoolClient, QueryConfig, QueryResult } from 'pg'
import { isOutdatedPlan } from './postgres-error.js'

/** Prepared statements that each connection keeps, 50 KB of the server's memory for each; a step of a thread has some forty. */
export const PREPARED_STATEMENTS = 200

/** A connection for Kysely that several users may share: its statements run in the order in which they are made. */
export interface SharedClient extends PostgresPoolClient {
  /** Adds a user; each user releases it once. */
  enter(): void
}

interface Guard {
  /** Milliseconds without an answer after which the connection counts as broken; null: never. */
  readonly silence: number | null
  readonly nameOf: NameStatement
}

export function createSharedClient(client: PoolClient, { silence, nameOf }: Guard): SharedClient {
  let users = 0
  let outdated = false
  /** The beginning of a transaction without statements: it is sent together with the first one. */
  let begin: string | undefined
  let inFlight = 0
  let timer: NodeJS.Timeout | undefined

  /** Counts statements in flight, and restarts the timer for the next answer. */
  function wait(more: 1 | -1): void {
    inFlight += more
    if (silence === null || (more === 1 && inFlight > 1)) return
    clearTimeout(timer)
    // Closing the socket fails the statements in flight.
    timer = inFlight === 0 ? undefined : setTimeout(() => cut(client), silence)
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
    wait(1)
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
      wait(-1)
    }
  }
  return {
    // The other overload is for cursors, which are not used.
    query: query as PostgresPoolClient['query'],
    // Its prepared plans are of the schema before a migration: a new connection plans anew.
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

/** The pool makes only clients of this class. */
function cut(client: PoolClient): void {
  if (client instanceof HeardClient) client.cut()
}

function encodeParameter(parameter: unknown): unknown {
  return typeof parameter === 'string' ? encodeText(parameter) : parameter
}

/**
 * A connection that always has an `error` listener. The server may end it at any moment, also when the pool has just handed it
 * out and removed its own listener: an `error` event without a listener would end the process. Statements in flight fail
 * regardless.
 */
export class HeardClient extends pg.Client {
  constructor(config?: string | ClientConfig) {
    super(config)
    this.on('error', () => {})
  }

  /** Closes the connection at once and fails the statements in flight, for which `end` would wait. */
  cut(): void {
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
