import { listAgents } from '../../store/agents.js'
import type { AgentRecord } from '../../store/agents.js'
import type { ClientContext } from '../client-context.js'

const PAGE = 100

/** An agent that threads can be made for, as its worker described it when it started. */
export interface AgentSummary {
  readonly name: string
  readonly type: string
  readonly title: string | null
  readonly description: string | null
  readonly icon: string | null
  /** Prompts may list it among their tools. */
  readonly exposeAsTool: boolean
}

/** By name; a page is read when the one before is used up. */
export async function* agentSummaries(context: ClientContext): AsyncGenerator<AgentSummary, void, undefined> {
  const store = await context.store()
  let after: string | null = null
  for (;;) {
    const cursor: string | null = after
    const page: readonly AgentRecord[] = await store.read((db) =>
      listAgents(db, { after: cursor, limit: PAGE }),
    )
    yield* page.map(summaryOf)
    if (page.length < PAGE) return
    after = page.at(-1)?.name ?? null
  }
}

function summaryOf({ name, type, title, description, icon, expose_as_tool }: AgentRecord): AgentSummary {
  return { name, type, title, description, icon, exposeAsTool: expose_as_tool }
}
