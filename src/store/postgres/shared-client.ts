import type { PostgresPoolClient, PostgresQueryResult } from 'kysely'
import type { PoolClient } from 'pg'

import { runFirst } from './first-statement.js'
import { HeardClient } from './heard-client.js'
import { isOutdatedPlan } from './postgres-error.js'
import type { NameStatement } from './statement-names.js'
import { encodeText } from './text-codec.js'

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
