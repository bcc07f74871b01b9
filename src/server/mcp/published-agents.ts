/**
 * The agents that an MCP server offers, each as a tool that starts it.
 * Owns: which agents those are, and the names of their tools. Does not own: what the tools do (`agent-tools.ts`).
 * Invariant: the name of a tool depends on the name of its agent alone, so that it stays the same while others come and go.
 */
import { createHash } from 'node:crypto'
import type { ThreadClient } from '../../client/thread-client.js'

/** An agent that a client may start. */
export interface PublishedAgent {
  readonly name: string
  /** For people. */
  readonly title: string | null
  readonly description: string | null
  /** The tool that starts it. */
  readonly tool: string
}

/** The longest name: a client that puts `mcp__SERVER__` before it stays below the 64 characters that models allow. */
const LONGEST = 40
const PREFIX = 'start_'

/**
 * Lists those agents that workers have recorded and that talk with a person, by name; with `names`, those in that order, recorded or
 * not: a worker may come later.
 */
export async function listPublished(
  client: ThreadClient,
  names?: readonly string[],
): Promise<readonly PublishedAgent[]> {
  const recorded = new Map<string, PublishedAgent>()
  for await (const { name, title, description, type } of client.agents())
    if (names !== undefined || type === 'ai_human')
      recorded.set(name, { name, title, description, tool: toolNameOf(name) })
  if (names === undefined) return [...recorded.values()]
  return [...new Set(names)].map(
    (name) => recorded.get(name) ?? { name, title: null, description: null, tool: toolNameOf(name) },
  )
}

/** Names of tools have letters, digits, `_` and `-`; a name with anything else, or a long one, gets a digest of its own. */
function toolNameOf(agent: string): string {
  const plain = agent.replace(/[^A-Za-z0-9_-]/g, '_')
  if (plain === agent && agent.length <= LONGEST - PREFIX.length) return `${PREFIX}${agent}`
  const digest = createHash('sha256').update(agent).digest('hex').slice(0, 8)
  return `${PREFIX}${plain.slice(0, LONGEST - PREFIX.length - digest.length - 1)}_${digest}`
}
