/** The routes of `everthread dev` alone, and the guard in front of everything that it serves. */
import { randomUUID } from 'node:crypto'
import type { createThreadApp } from '../server/index.js'
import type { superviseWorker } from './worker-supervisor.js'

type ThreadApp = ReturnType<typeof createThreadApp>

/** Adds the routes behind those of threads: they have the same tokens, errors and limits. */
export function addDevRoutes(
  app: ThreadApp,
  worker: Pick<ReturnType<typeof superviseWorker>, 'status' | 'kill' | 'deploy'>,
): void {
  app.get('/dev/status', (context) => context.json(worker.status()))
  app.post('/dev/kill-worker', (context) => {
    worker.kill()
    return context.json(worker.status(), 202)
  })
  app.post('/dev/deploy', (context) => {
    worker.deploy()
    return context.json(worker.status(), 202)
  })
}

/**
 * Refuses what no page of ours sends: a request by another name of this machine, which a foreign site may have given itself (DNS
 * rebinding), and one that the page of another site sends. Answers undefined for any other request.
 */
export function refuseForeign(request: Request, port: number): Response | undefined {
  // Browsers leave out the port of http.
  const own = ['127.0.0.1', 'localhost', '[::1]'].map((name) => (port === 80 ? name : `${name}:${port}`))
  const host = request.headers.get('host') ?? ''
  const origin = request.headers.get('origin')
  if (!own.includes(host.toLowerCase())) return refusal(`the header "Host" to be ${own.join(' or ')}`)
  if (origin !== null && !own.some((name) => origin.toLowerCase() === `http://${name}`))
    return refusal(`no "Origin" but http://${own.join(' or http://')}`)
  return undefined
}

function refusal(expected: string): Response {
  const message = `Expected ${expected}, got another: everthread dev serves this machine only.`
  const error = { code: 'foreign_request', message, requestId: randomUUID() }
  return Response.json({ error }, { status: 403, headers: { 'Cache-Control': 'no-store' } })
}
