import { setTimeout as sleep } from 'node:timers/promises'

import type { ThreadClient } from '../client/thread-client.js'
import { LIMITS } from '../protocol/limits.js'

/** What answers now. */
export interface Readiness {
  readonly ready: boolean
  readonly store: boolean
  readonly temporal: boolean
}

/** Looks whether store and Temporal answer; those who ask at once, or soon after, share one look. */
export function createReadiness(client: ThreadClient): () => Promise<Readiness> {
  let looked: { readonly at: number; readonly found: Promise<Readiness> } | undefined
  return () => {
    if (looked === undefined || Date.now() - looked.at > LIMITS.readinessAge)
      looked = { at: Date.now(), found: look(client) }
    return looked.found
  }
}

async function look(client: ThreadClient): Promise<Readiness> {
  const [store, temporal] = await Promise.all([
    answers(async () => client.find('')),
    answers(async () => {
      const { temporal: server } = client
      await server.withDeadline(Date.now() + LIMITS.readinessCheck, () =>
        server.workflowService.getSystemInfo({}),
      )
    }),
  ])
  return { ready: store && temporal, store, temporal }
}

/** False for what fails or takes too long, whatever the reason: the log of a request that needs it has that. */
async function answers(work: () => Promise<unknown>): Promise<boolean> {
  const over = new AbortController()
  const late = sleep(LIMITS.readinessCheck, false, { signal: over.signal }).catch(() => false)
  const answered = work().then(
    () => true,
    () => false,
  )
  try {
    return await Promise.race([answered, late])
  } finally {
    over.abort()
  }
}
