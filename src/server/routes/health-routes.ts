import { setTimeout as sleep } from 'node:timers/promises'
import { createRoute, z } from '@hono/zod-openapi'
import type { ThreadClient } from '../../client/thread-client.js'
import { json, problem } from '../schemas.js'
import type { ServerContext, ThreadApp } from '../server-context.js'

/** How long a readiness check may take. */
const READINESS_CHECK = 2_000

/** The deadline of the call to Temporal. A retry of the SDK that is running then may end the call a second later. */
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
  summary: 'Answers if the process does; nothing else is checked.',
  responses: {
    200: json('The process answers.', z.object({ status: z.literal('ok') }).openapi('Health')),
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
  summary: 'Checks that store and Temporal answer, at most once a second.',
  responses: {
    200: json('Both answer.', state),
    503: json('One does not: send no requests here.', state),
    ...MALFORMED,
  },
})

/** Adds the checks of load balancers, which need no token. */
export function addHealthRoutes(app: ThreadApp, { client }: ServerContext): void {
  const readiness = createReadiness(client)
  app.openapi(health, (context) => context.json({ status: 'ok' as const }, 200))
  app.openapi(ready, async (context) => {
    const found = await readiness()
    return found.ready ? context.json(found, 200) : context.json(found, 503)
  })
}

/** The parts that answer now; `ready` if all do. */
interface Readiness {
  readonly ready: boolean
  readonly store: boolean
  readonly temporal: boolean
}

/** Checks that store and Temporal answer; requests at the same time, or soon after, share one check. */
function createReadiness(client: ThreadClient): () => Promise<Readiness> {
  let last: { readonly at: number; readonly found: Promise<Readiness> } | undefined
  return () => {
    if (last === undefined || Date.now() - last.at > READINESS_AGE)
      last = { at: Date.now(), found: checkReadiness(client) }
    return last.found
  }
}

async function checkReadiness(client: ThreadClient): Promise<Readiness> {
  const [store, temporal] = await Promise.all([storeAnswers(client), temporalAnswers(client)])
  return { ready: store && temporal, store, temporal }
}

/**
 * Awaits the call to its end. The SDK repeats an abandoned call from a timer, and if the connection is closed by then, the
 * call throws where nothing can catch it, which ends the process.
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

/** False when the store fails or takes too long. The reason is in the log of a request that needs the store. */
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
