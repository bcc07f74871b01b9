/** What budgets say that a tree has used, beside the requests that the store has of it. */
import type { ThreadClient } from 'everthread/client'

import type { Finding } from '../finding.js'
import { spentByTrees } from './ask-store.js'
import type { SpentByTree } from './ask-store.js'

/** A worker may die between the charge of a request and its row: a stop then leaves a charge without a request. */
const UNSENT = 5

/** Whatever was killed: nothing is held at the end, and every request was charged once. */
export function budgetFindings(trees: readonly SpentByTree[]): readonly Finding[] {
  return trees.flatMap(({ threadId, held, charged, requests, input, reported }) => {
    const unsent = charged - requests
    const problems = [
      ...(held === 0 ? [] : [`${held} tokens are held, and no request is in flight.`]),
      ...(unsent >= 0 && unsent <= UNSENT ? [] : [`${charged} requests were charged, and ${requests} sent.`]),
      ...(input >= reported ? [] : [`${input} tokens were charged, and ${reported} reported.`]),
    ]
    return problems.map((problem): Finding => ({ kind: 'wrong', threadId, id: 'budget', problem }))
  })
}

/** The sweep gives back what dead workers held. */
export async function checkBudgets(
  threads: Pick<ThreadClient, 'sweep'>,
  database: string,
): Promise<{ readonly findings: readonly Finding[]; readonly counts: Readonly<Record<string, number>> }> {
  await threads.sweep({ closedFor: '365d' })
  const trees = await spentByTrees(database)
  const sum = (of: (tree: SpentByTree) => number): number => trees.reduce((all, tree) => all + of(tree), 0)
  const charged = sum((tree) => tree.charged)
  const unsent = charged - sum(({ requests }) => requests)
  const counts = { charged_requests: charged, charged_and_not_sent: unsent }
  return { findings: budgetFindings(trees), counts }
}
