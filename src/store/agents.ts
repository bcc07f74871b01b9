import type { Selectable } from 'kysely'

import { rowCodec } from './row-codec.js'
import type { Decoded } from './row-codec.js'
import type { AgentsTable } from './schema.js'
import type { Reader, Writer } from './store.js'

/** An agent that a worker runs. */
export type AgentRecord = Decoded<Selectable<AgentsTable>, { expose_as_tool: boolean }>

const codec = rowCodec<Selectable<AgentsTable>, { expose_as_tool: boolean }>({ flags: ['expose_as_tool'] })

/** Writes what workers run now; an agent of another worker stays as that one wrote it. */
export async function putAgents(tx: Writer, agents: readonly AgentRecord[]): Promise<void> {
  for (const agent of agents) {
    const { name, ...rest } = codec.toRow(agent)
    await tx
      .insertInto('agents')
      .values({ name, ...rest })
      .onConflict((conflict) => conflict.column('name').doUpdateSet(rest))
      .execute()
  }
}

export interface ListAgents {
  /** A name: those behind it. */
  readonly after: string | null
  readonly limit: number
}

/** By name. */
export async function listAgents(db: Reader, { after, limit }: ListAgents): Promise<readonly AgentRecord[]> {
  let query = db.selectFrom('agents').selectAll()
  if (after !== null) query = query.where('name', '>', after)
  return (await query.orderBy('name').limit(limit).execute()).map(codec.fromRow)
}
