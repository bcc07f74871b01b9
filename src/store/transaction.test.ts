import { setImmediate as tick } from 'node:timers/promises'
import type { CompiledQuery, DatabaseConnection, QueryResult, RootOperationNode } from 'kysely'
import { expect, test } from 'vitest'
import { openSession } from './transaction.js'

/** A connection whose answers the test gives, in order. */
function heldConnection() {
  const sent: string[] = []
  const open: { resolve(result: QueryResult<never>): void; reject(error: Error): void }[] = []
  const connection: DatabaseConnection = {
    executeQuery: (query) =>
      new Promise((resolve, reject) => {
        sent.push(query.sql)
        open.push({ resolve, reject })
      }),
    streamQuery: () => {
      throw new Error('Expected no stream.')
    },
  }
  return {
    connection,
    sent,
    answer: () => open.shift()?.resolve({ rows: [] }),
    refuse: (words: string) => open.shift()?.reject(new Error(words)),
  }
}

/** A statement of one word; reads begin with `read`. */
function statement(sql: string): CompiledQuery {
  const kind = sql.startsWith('read') ? 'SelectQueryNode' : 'UpdateQueryNode'
  // Only the kind of the node is read.
  return { sql, parameters: [], query: { kind } as RootOperationNode, queryId: { queryId: sql } }
}

function asking(pipelined: boolean) {
  const held = heldConnection()
  const session = openSession(held.connection, { pipelined })
  const ask = (sql: string): Promise<string> =>
    session.connection.executeQuery(statement(sql)).then(
      () => 'done',
      (error: Error) => error.message,
    )
  return { ...held, session, ask }
}

test('a write waits for the answer to the first statement only', async () => {
  const { ask, sent, answer } = asking(true)
  const all = ['read-1', 'read-2', 'write-1', 'read-3', 'write-2'].map(ask)
  expect(sent).toEqual(['read-1', 'read-2'])
  answer()
  await all[0]
  expect(sent).toEqual(['read-1', 'read-2', 'write-1', 'read-3', 'write-2'])
  const last = ask('write-3')
  expect(sent.at(-1)).toBe('write-3')
  for (let left = 0; left < 5; left += 1) answer()
  expect(await Promise.all([...all, last])).toEqual(Array.from({ length: 6 }, () => 'done'))
})

test('after a failed first statement no other one is sent', async () => {
  const { ask, sent, refuse, session } = asking(true)
  const all = ['write-1', 'write-2', 'read-1'].map(ask)
  refuse('cancelled')
  expect(await Promise.all(all)).toEqual(['cancelled', 'cancelled', 'cancelled'])
  expect(sent).toEqual(['write-1'])
  expect(session.end()).toMatchObject({ error: { message: 'cancelled' } })
})

test('later statements fail with the first error', async () => {
  const { ask, answer, refuse } = asking(true)
  const first = ask('write-1')
  answer()
  await first
  const lost = ask('write-2')
  const aborted = ask('write-3')
  refuse('could not serialize')
  await tick()
  refuse('current transaction is aborted')
  expect(await Promise.all([lost, aborted, ask('write-4')])).toEqual(
    Array.from({ length: 3 }, () => 'could not serialize'),
  )
})

test('without pipelining each statement waits for the answer to the previous one', async () => {
  const { ask, sent, answer, refuse } = asking(false)
  const all = ['write-1', 'read-1', 'write-2'].map(ask)
  await tick()
  expect(sent).toEqual(['write-1'])
  answer()
  await tick()
  expect(sent).toEqual(['write-1', 'read-1'])
  refuse('disk full')
  expect(await Promise.all(all)).toEqual(['done', 'disk full', 'disk full'])
  expect(sent).toHaveLength(2)
})

test('no statement is sent after the end of the transaction', async () => {
  for (const pipelined of [true, false]) {
    const { ask, sent, session } = asking(pipelined)
    expect(session.end()).toBeUndefined()
    expect(await ask('write-1')).toContain('before the end of its transaction')
    expect(sent).toEqual([])
  }
})
