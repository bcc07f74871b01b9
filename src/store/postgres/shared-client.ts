import type { PostgresPoolClient, PostgresQueryResult } from 'kysely'
import pg from 'pg'
import type { ClientConfig, Connection, PoolClient, QueryConfig, QueryResult } from 'pg'
import { LIMITS } from '../../protocol/limits.js'
import { isOutdatedPlan } from './postgres-error.js'

/** A connection as Kysely wants it. Several may have it at a time: its statements run in the order in which they are made. */
export interface SharedClient extends PostgresPoolClient {
  /** One more has it; each of them releases it. */
  enter(): void
}

interface Guard {
  /** Milliseconds without an answer, then the connection counts as gone; null: never. */
  readonly silence: number | null
  readonly nameOf: NameStatement
}

export function createSharedClient(client: PoolClient, { silence, nameOf }: Guard): SharedClient {
  let users = 0
  let outdated = false
  /** The beginning of a transaction in which nothing was asked yet: it goes with what is asked first. */
  let begin: string | undefined
  let underWay = 0
  let timer: NodeJS.Timeout | undefined

  /** Of those that are under way the next one is to be answered in time. */
  function wait(more: 1 | -1): void {
    underWay += more
    if (silence === null || (more === 1 && underWay > 1)) return
    clearTimeout(timer)
    // Ends the socket under the statements, which then fail.
    timer = underWay === 0 ? undefined : setTimeout(() => cut(client), silence)
  }

  async function query<R>(sql: string, parameters: readonly unknown[] = []): Promise<PostgresQueryResult<R>> {
    if (BEGINNING.test(sql)) {
      begin = sql
      return unsent('SELECT')
    }
    const opening = begin
    begin = undefined
    if (opening !== undefined && sql === 'commit') return unsent('COMMIT')
    if (opening !== undefined && sql === 'rollback') return unsent('ROLLBACK')
    const values = parameters.map(encoded)
    // Those without values are `commit` and the like: nothing to plan.
    const name = values.length === 0 ? undefined : nameOf(sql)
    wait(1)
    try {
      const statement = { text: sql, values, ...(name !== undefined && { name }) }
      gather(client)
      const result =
        opening === undefined ? await client.query(statement) : await runFirst(client, opening, statement)
      // What Kysely wants is a part of what `pg` answers: the driver's boundary.
      return result as unknown as PostgresQueryResult<R>
    } catch (error) {
      outdated ||= isOutdatedPlan(error)
      throw error
    } finally {
      wait(-1)
    }
  }
  return {
    // Cursors are not used: the one other form.
    query: query as PostgresPoolClient['query'],
    // What it keeps planned is of the schema before a migration: a new one plans anew.
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

/** As Kysely begins transactions. */
const BEGINNING = /^(begin|start transaction)\b/

/** What the server need not hear of yet, or at all. */
function unsent<R>(command: 'SELECT' | 'COMMIT' | 'ROLLBACK'): PostgresQueryResult<R> {
  return { command, rowCount: 0, rows: [] }
}

/** What is sent until the code that runs has come to an end goes in one piece: a write to a socket costs more than most statements. */
function gather({ connection: { stream } }: PoolClient): void {
  stream.cork()
  process.nextTick(() => stream.uncork())
}

/** The pool makes no other ones. */
function cut(client: PoolClient): void {
  if (client instanceof HeardClient) client.cut()
}

function encoded(parameter: unknown): unknown {
  return typeof parameter === 'string' ? encodeText(parameter) : parameter
}

/**
 * A connection whose errors somebody hears from its first byte on. The server may end it at any moment, also in the one in
 * which the pool hands it out and listens no more: an `error` that nobody hears would end the process. What the connection
 * was asked for fails all the same.
 */
export class HeardClient extends pg.Client {
  constructor(config?: string | ClientConfig) {
    super(config)
    this.on('error', () => {})
  }

  /** Ends the connection under whatever it is asked for, which fails: `end` waits for that. */
  cut(): void {
    this.connection.stream.destroy()
  }
}

/**
 * The first statement of a transaction goes to the server with the beginning of it, as one group: nobody waits for the
 * beginning alone, and where it fails the server does not run the statement. What comes behind the group has to wait for its
 * answer: it would be run (`openSession`).
 */
function runFirst(client: pg.Client, begin: string, config: QueryConfig): Promise<QueryResult> {
  return new Promise((resolve, reject) => {
    // Without values it would go as a group of its own.
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

/** The statement behind it ends the group. */
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
 * Under its name a connection keeps a statement parsed and planned. One without a name is parsed and planned each time, which
 * takes the server longer than to run most of ours. Undefined: it goes without, for a connection keeps them until it ends,
 * and lists of each length are a statement of their own.
 */
type NameStatement = (text: string) => string | undefined

export function createStatementNames(): NameStatement {
  const names = new Map<string, string>()
  return (text) => {
    const known = names.get(text)
    if (known !== undefined || names.size >= LIMITS.databaseStatements) return known
    const name = `everthread_${names.size}`
    names.set(text, name)
    return name
  }
}

/**
 * PostgreSQL's text cannot hold the zero character, which models and people may send: it is stored as a code point that
 * Unicode will never assign, with a digit behind it, and so is that code point itself.
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
