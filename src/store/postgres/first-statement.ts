import pg from 'pg'
import type { Connection, QueryConfig, QueryResult } from 'pg'

/**
 * The first statement of a transaction goes to the server with the beginning of it, as one group: nobody waits for the
 * beginning alone, and where it fails the server does not run the statement. What comes behind the group has to wait for its
 * answer: it would be run (`openSession`).
 */
export function runFirst(client: pg.Client, begin: string, config: QueryConfig): Promise<QueryResult> {
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
