import type { Insertable, Selectable } from 'kysely'
import { rowCodec } from './row-codec.js'
import type { Decoded } from './row-codec.js'
import type { Schema } from './schema.js'
import type { Reader, Writer } from './store.js'
import type { Micros } from '../protocol/time.js'

/** An agent that a worker runs. */
export type AgentRecord = Decoded<Selectable<Schema['agents']>, { expose_as_tool: boolean }>

const codec = rowCodec<Selectable<Schema['agents']>, { expose_as_tool: boolean }>({
  flags: ['expose_as_tool'],
})

interface WorkersAgents {
  readonly agents: readonly Omit<Insertable<Schema['agents']>, 'updated_at'>[]
  readonly now: Micros
}

/** Records the agents of a worker; rows of other agents stay unchanged. */
export async function putAgents(tx: Writer, { agents, now }: WorkersAgents): Promise<void> {
  for (const { name, ...rest } of agents) {
    const columns = { ...rest, updated_at: now }
    await tx
      .insertInto('agents')
      .values({ name, ...columns })
      .onConflict((conflict) => conflict.column('name').doUpdateSet(columns))
      .execute()
  }
}

interface ListAgents {
  /** Only names after this one. */
  readonly after: string | null
  readonly limit: number
}

/** A page of agents by name. */
export async function listAgents(db: Reader, { after, limit }: ListAgents): Promise<readonly AgentRecord[]> {
  let query = db.selectFrom('agents').selectAll()
  if (after !== null) query = query.where('name', '>', after)
  return (await query.orderBy('name').limit(limit).execute()).map(codec.fromRow)
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
