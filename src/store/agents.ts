import type { Selectable } from 'kysely'
import { rowCodec } from './row-codec.js'
import type { Decoded } from './row-codec.js'
import type { Schema } from './schema.js'
import type { Reader, Writer } from './store.js'
import type { Micros } from '../protocol/time.js'

type Row = Selectable<Schema['agents']>

type Columns = { expose_as_tool: boolean; inventory: unknown }

const codec = rowCodec<Row, Columns>({ json: ['inventory'], flags: ['expose_as_tool'] })

type WorkersAgent = Omit<Decoded<Row, Columns>, 'updated_at'>

interface WorkersAgents {
  readonly agents: readonly WorkersAgent[]
  readonly now: Micros
}

/** Records the agents of a worker. Rows of other agents stay unchanged, and so do rows that say the same already. */
export async function putAgents(tx: Writer, { agents, now }: WorkersAgents): Promise<void> {
  for (const agent of agents) {
    const row = codec.toRow(agent)
    if (isSame(row, await findAgent(tx, agent.name))) continue
    const { name, ...columns } = { ...row, updated_at: now }
    await tx
      .insertInto('agents')
      .values({ name, ...columns })
      .onConflict((conflict) => conflict.column('name').doUpdateSet(columns))
      .execute()
  }
}

function isSame(row: Omit<Row, 'updated_at'>, known: Row | undefined): boolean {
  if (known === undefined) return false
  const { updated_at: _, ...columns } = known
  return Object.entries(columns).every(([column, value]) => row[column as keyof typeof row] === value)
}

function findAgent(db: Reader, name: string): Promise<Row | undefined> {
  return db.selectFrom('agents').selectAll().where('name', '=', name).executeTakeFirst()
}

/** The inventory that a worker has recorded, as JSON, and when it was last changed; null: none has recorded this agent. */
export async function findInventory(
  db: Reader,
  name: string,
): Promise<{ readonly inventory: unknown; readonly recordedAt: Micros } | null> {
  const row = await findAgent(db, name)
  return row === undefined ? null : { inventory: codec.fromRow(row).inventory, recordedAt: row.updated_at }
}

/** The columns of lists: the inventory of an agent is large. */
const LISTED = ['name', 'type', 'title', 'description', 'icon', 'expose_as_tool'] as const

/** An agent that a worker runs. */
export type AgentRecord = Pick<Decoded<Row, Columns>, (typeof LISTED)[number]>

interface ListAgents {
  /** Only names after this one. */
  readonly after: string | null
  readonly limit: number
}

/** A page of agents by name. */
export async function listAgents(db: Reader, { after, limit }: ListAgents): Promise<readonly AgentRecord[]> {
  let query = db.selectFrom('agents').select(LISTED)
  if (after !== null) query = query.where('name', '>', after)
  const rows = await query.orderBy('name').limit(limit).execute()
  return rows.map((row) => ({ ...row, expose_as_tool: row.expose_as_tool !== 0 }))
}

/** Whether a worker has ever recorded an agent of that name. */
export async function isListedAgent(db: Reader, name: string): Promise<boolean> {
  const row = await db.selectFrom('agents').select('name').where('name', '=', name).executeTakeFirst()
  return row !== undefined
}

interface NewPlan {
  readonly digest: string
  /** JSON. */
  readonly content: unknown
  readonly now: Micros
}

/** Stores the content of a plan under its digest, so that a run keeps its plan while workers change. */
export async function putPlan(tx: Writer, { digest, content, now }: NewPlan): Promise<void> {
  await tx
    .insertInto('plans')
    .values({ digest, content: JSON.stringify(content), created_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** The parsed content, or null if there is none. */
export async function getPlan(db: Reader, digest: string): Promise<unknown> {
  const row = await db.selectFrom('plans').select('content').where('digest', '=', digest).executeTakeFirst()
  return row === undefined ? null : JSON.parse(row.content)
}
