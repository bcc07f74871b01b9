import type { ThreadTree } from '../client/index.js'
import { section } from './thread-lines.js'

/** All threads below one, each under the one that started it. */
export function treeLines({ children }: ThreadTree): readonly string[] {
  return section('Children', linesOf(children, ''))
}

function linesOf(threads: readonly ThreadTree[], indent: string): readonly string[] {
  return threads.flatMap((thread) => [
    `${indent}${lineOf(thread)}`,
    ...linesOf(thread.children, `${indent}  `),
  ])
}

function lineOf({ threadId, agent, status, closedAt, entry }: ThreadTree): string {
  const named = entry?.threadName === undefined ? '' : ` "${entry.threadName}"`
  // One that waits for variables has done nothing yet.
  const open = entry?.status === 'deferred' ? 'open' : `open (${status})`
  const state = `${entry?.status ?? status}, ${closedAt === null ? open : 'closed'}`
  return `${threadId} ${entry?.name ?? agent}${named}: ${state}`
}
