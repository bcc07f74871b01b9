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
  const [store, temporal] = await Promise.all([storeAnswers(client), temporalAnswers(client)])
  return { ready: store && temporal, store, temporal }
}

/**
 * Waited for to its end: a call that is left alone repeats itself from a timer of the SDK's, and one that meets a
 * connection closed meanwhile throws where nobody can catch it, which ends the process.
 */
async function temporalAnswers({ temporal }: ThreadClient): Promise<boolean> {
  const call = async () => {
    await temporal.withDeadline(Date.now() + LIMITS.readinessCall, () =>
      temporal.workflowService.getSystemInfo({}),
    )
  }
  return call().then(
    () => true,
    () => false,
  )
}

/** False when it fails or takes too long, whatever the reason: the log of a request that needs it has that. */
async function storeAnswers(client: ThreadClient): Promise<boolean> {
  const over = new AbortController()
  const late = sleep(LIMITS.readinessCheck, false, { signal: over.signal }).catch(() => false)
  const answered = client.find('').then(
    () => true,
    () => false,
  )
  try {
    return await Promise.race([answered, late])
  } finally {
    over.abort()
  }
}
