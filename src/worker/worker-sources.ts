import { sourcesOf } from '../definitions/known-definitions.js'
import type { Registry } from '../definitions/known-definitions.js'
import type { ToolSource } from '../definitions/tool-source.js'

/** The workers of this process that use a source; the last one that ends closes it. */
const users = new WeakMap<ToolSource, number>()

/** Runs a worker with the sources of its registry: processes and connections that they hold end with it. */
export async function withSources(registry: Registry, work: () => Promise<void>): Promise<void> {
  const sources = sourcesOf(registry)
  for (const source of sources) users.set(source, (users.get(source) ?? 0) + 1)
  try {
    await work()
  } finally {
    await Promise.allSettled(sources.map(leave))
  }
}

async function leave(source: ToolSource): Promise<void> {
  const left = (users.get(source) ?? 1) - 1
  users.set(source, left)
  if (left === 0) await source.close?.()
}
