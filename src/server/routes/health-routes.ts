import { setTimeout as sleep } from 'node:timers/promises'
import { createRoute, z } from '@hono/zod-openapi'
import type { ThreadClient } from '../../client/thread-client.js'
import { json, problem } from '../schemas.js'
import type { ServerContext, ThreadApp } from '../server-context.js'

/** How long a readiness check may take. */
const READINESS_CHECK = 2_000

/** The deadline of the call to Temporal: the SDK's retry that meets it ends the call up to a second late. */
const READINESS_CALL = 1_000

/** How long the answer of a readiness check is valid. */
const READINESS_AGE = 1_000

const MALFORMED = { 400: json('The URL cannot be read.', problem) }

const health = createRoute({
  method: 'get',
  path: '/health',
  operationId: 'getHealth',
  tags: ['server'],
  security: [],
  summary: 'The process answers: nothing else is looked at.',
  responses: {
    200: json('It does.', z.object({ status: z.literal('ok') }).openapi('Health')),
    ...MALFORMED,
  },
})

const state = z.object({ ready: z.boolean(), store: z.boolean(), temporal: z.boolean() }).openapi('Readiness')

const ready = createRoute({
  method: 'get',
  path: '/ready',
  operationId: 'getReadiness',
  tags: ['server'],
  security: [],
  summary: 'Whether store and Temporal answer. Looked at once a second at most.',
  responses: {
    200: json('Both do.', state),
    503: json('One does not: send nobody here.', state),
    ...MALFORMED,
  },
})

/** What load balancers ask, without a token. */
export function addHealthRoutes(app: ThreadApp, { client }: ServerContext): void {
  const readiness = createReadiness(client)
  app.openapi(health, (context) => context.json({ status: 'ok' as const }, 200))
  app.openapi(ready, async (context) => {
    const found = await readiness()
    return found.ready ? context.json(found, 200) : context.json(found, 503)
  })
}

/** What answers now. */
interface Readiness {
  readonly ready: boolean
  readonly store: boolean
  readonly temporal: boolean
}

/** Looks whether store and Temporal answer; those who ask at once, or soon after, share one look. */
function createReadiness(client: ThreadClient): () => Promise<Readiness> {
  let looked: { readonly at: number; readonly found: Promise<Readiness> } | undefined
  return () => {
    if (looked === undefined || Date.now() - looked.at > READINESS_AGE)
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
    await temporal.withDeadline(Date.now() + READINESS_CALL, () => temporal.workflowService.getSystemInfo({}))
  }
  return call().then(
    () => true,
    () => false,
  )
}

/** False when it fails or takes too long, whatever the reason: the log of a request that needs it has that. */
async function storeAnswers(client: ThreadClient): Promise<boolean> {
  const over = new AbortController()
  const late = sleep(READINESS_CHECK, false, { signal: over.signal }).catch(() => false)
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
