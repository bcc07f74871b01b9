import type { Kysely } from 'kysely'

type Asked = Pick<Kysely<unknown>, 'getExecutor'>

/** What migrations need to know of a database beyond the SQL that all understand. */
export interface SchemaDialect {
  readonly kind: 'sqlite' | 'postgres'
  /** Names of the tables that are there, whoever made them. */
  tables(db: Asked): Promise<readonly string[]>
  /** Names of the columns of that table. */
  columns(db: Asked, table: string): Promise<readonly string[]>
  /** Until the transaction ends no other process migrates. */
  lock(tx: Asked): Promise<void>
  /** What to do about the tables of another program. */
  readonly elsewhere: string
}
