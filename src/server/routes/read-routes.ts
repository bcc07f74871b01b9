/** The routes that answer one question about a thread each, and what this runtime can do at all. */
import { answerConfigErrors } from '../error-response.js'
import { createRoute, z } from '@hono/zod-openapi'
import type { ThreadDiagnostics } from '../../client/reads/thread-diagnostics.js'
import { LIMITS } from '../../protocol/limits.js'
import { withoutUndefined } from '../../protocol/values.js'
import { CONTROL_STATES } from '../../views/control-states.js'
import {
  json,
  microseconds,
  pageQuery,
  readRefusals,
  refusals,
  security,
  threadParams,
  wholeNumber,
} from '../schemas.js'
import { entry, pendingRequest, permissionSummary, queued, run, status } from '../thread-schemas.js'
import { routingSummary } from '../usage-schemas.js'
import type { Caller, ServerContext, ThreadApp } from '../server-context.js'

const unavailable = z
  .object({ unavailable: z.string() })
  .openapi('Unavailable', { description: 'This runtime cannot say it, for this reason.' })

const count = z.int().nonnegative()
const threadId = z.string()

const capabilities = z
  .object({
    families: z
      .array(
        z.object({
          layer: z.enum(['core', 'extension', 'profile']),
          name: z.string(),
          status: z.enum(['available', 'partial', 'unavailable']),
          detail: z.string(),
        }),
      )
      .readonly(),
    facts: z
      .array(
        z.object({
          layer: z.enum(['input', 'execution', 'state', 'coordination', 'observability']),
          name: z.string(),
          status: z.enum(['available', 'unavailable']),
          detail: z.string(),
        }),
      )
      .readonly()
      .openapi({ description: 'The facts of the layer map of the Agent Runtime draft.' }),
    commands: z
      .array(
        z.discriminatedUnion('status', [
          z.object({
            name: z.string(),
            status: z.literal('available'),
            client: z.string().openapi({ description: 'The method of the client in TypeScript.' }),
            operation: z.string().openapi({ description: 'The `operationId` of its route.' }),
          }),
          z.object({ name: z.string(), status: z.literal('unavailable'), reason: z.string() }),
        ]),
      )
      .readonly()
      .openapi({ description: 'The commands of the Agent Runtime draft.' }),
    events: z
      .array(
        z.discriminatedUnion('status', [
          z.object({ type: z.string(), family: z.string(), status: z.literal('available') }),
          z.object({
            ...{ type: z.string(), family: z.string() },
            ...{ status: z.literal('unavailable'), reason: z.string() },
          }),
        ]),
      )
      .readonly()
      .openapi({ description: 'The events of the expanded families of the Agent Runtime draft.' }),
    unavailable: z.array(z.object({ id: z.string(), name: z.string(), reason: z.string() })).readonly(),
  })
  .openapi('Capabilities')

const queue = z
  .object({
    threadId,
    items: z
      .array(
        queued.extend({
          place: z.int().positive(),
          source: z
            .string()
            .openapi({ description: 'client, cli, parent, child, tool, hook, effect, runtime or unknown.' }),
          deliver: z
            .string()
            .openapi({ description: 'How it will be delivered; later versions add members.' }),
        }),
      )
      .readonly(),
    waiting: count,
    resumes: z.enum(['now', 'run', 'answer', 'limit', 'parked', 'reopen', 'never']),
    stale: z.boolean(),
    at: microseconds,
  })
  .openapi('Queue')

const children = z
  .object({
    children: z.array(entry).readonly(),
    count,
    next: z.string().nullable().openapi({ description: '`cursor` of the next page; null on the last one.' }),
  })
  .openapi('ChildrenPage')

const boundary = z
  .object({
    side: z.enum(['a', 'b']),
    position: z.int(),
    reason: z.string(),
    opening: z.int().nullable(),
    clippedUpTo: z.int().nullable(),
    clearedUpTo: z.int().nullable(),
    summary: z.string().nullable(),
    operation: z.string(),
    dropped: count,
    tokensBefore: z.int().nullable(),
    tokensAfter: z.int().nullable(),
    createdAt: microseconds,
  })
  .openapi('ContextBoundary')

const boundaries = z.object({ boundaries: z.array(boundary).readonly() }).openapi('ContextBoundaries')

const artifacts = z
  .object({
    threadId,
    newest: z
      .array(
        z.object({
          path: z.string(),
          mimeType: z.string(),
          size: count,
          updatedAt: microseconds,
          version: z.string().nullable().openapi({ description: 'Equal for equal bytes.' }),
        }),
      )
      .readonly(),
    count,
    bytes: count,
    previews: unavailable,
    validation: unavailable,
    diffs: unavailable,
  })
  .openapi('Artifacts')

const limitWait = z.object({ limit: z.string(), until: microseconds })

const incident = z
  .object({
    kind: z.enum([
      ...([
        'warning',
        'failed_call',
        'failed_request',
        'failed_hook',
        'failed_effect',
        'failed_run',
      ] as const),
    ]),
    code: z.string(),
    name: z.string().nullable(),
    sequence: z.int().positive(),
    at: microseconds,
    runId: z.string().optional(),
    toolCallId: z.string().optional(),
    outcome: z.enum(['succeeded', 'failed', 'denied', 'interrupted', 'cancelled', 'unknown']).optional(),
    errorId: z.string().optional(),
  })
  .openapi('Incident')

const finding = z.object({
  kind: z.string(),
  threadId: z.string().nullable(),
  problem: z.string().openapi({ description: 'For operators only; empty for others.' }),
  fixed: z.boolean(),
  remedy: z.string(),
})

const diagnostics = z
  .object({
    threadId,
    status,
    stale: z.boolean(),
    at: microseconds,
    findings: z.union([z.array(finding).readonly(), unavailable]),
    incidents: z.array(incident).readonly(),
    errors: z.array(z.object({ id: z.string(), at: microseconds, type: z.string() })).readonly(),
    pending: count,
    working: z.object({ doing: z.string().nullable(), since: microseconds }).nullable(),
    interrupt: z.enum(['none', 'stopped', 'terminating', 'terminated']),
    waitsFor: limitWait.nullable(),
    exceeded: z.array(z.string()).readonly(),
    context: z.union([boundary, z.literal('not_applicable')]),
    commands: unavailable,
    processes: unavailable,
  })
  .openapi('Diagnostics')

const readModel = z
  .object({
    threadId,
    sessionId: z.string(),
    agent: z.string(),
    status,
    controlState: z.enum(CONTROL_STATES),
    stale: z.boolean(),
    at: microseconds,
    activeTurn: z.union([z.object({ turnId: z.string() }), z.enum(['not_applicable', 'unknown'])]),
    run: run.nullable(),
    lastOutcome: z.union([
      z.object({ runId: z.string(), reason: z.string(), steps: z.int(), endedAt: microseconds }),
      z.literal('not_applicable'),
    ]),
    pending: z.array(pendingRequest).readonly(),
    queue,
    diagnostics,
    tools: z.union([
      z.object({ allowed: count, ask: count, denied: count, unavailable: count }),
      unavailable,
    ]),
    artifacts,
    routing: routingSummary.omit({ threadId: true }),
    permissions: permissionSummary.omit({ threadId: true, agent: true, pending: true }),
    subagents: z.object({ count, first: z.array(entry).readonly() }),
    telemetry: z.union([z.object({ traceparent: z.string() }), z.literal('unknown')]),
    tasks: unavailable,
    jobs: unavailable,
    evidence: unavailable,
    environment: unavailable,
    processes: unavailable,
    channels: unavailable,
    unavailable: capabilities.shape.unavailable,
  })
  .openapi('ReadModel')

const shared = { tags: ['threads'], security }
const request = { params: threadParams }
const newest = z.strictObject({ limit: wholeNumber(1, LIMITS.longestPage) })

const readCapabilities = createRoute({
  ...shared,
  method: 'get',
  path: '/capabilities',
  operationId: 'getCapabilities',
  summary:
    'What this runtime has of the capabilities that others name, and what it has not, with the reasons.',
  responses: { 200: json('The same for all callers.', capabilities), ...refusals },
})

const readQueue = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/queue',
  operationId: 'getQueue',
  summary: 'What waits for the thread, in the order of delivery, with its sources.',
  request: { ...request, query: newest },
  responses: { 200: json('The queue at one moment.', queue), ...readRefusals },
})

const readChildren = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/children',
  operationId: 'listChildren',
  summary: 'The subagents that the thread ever started, the first one first.',
  request: { ...request, query: pageQuery },
  responses: { 200: json('One page.', children), ...readRefusals },
})

const readBoundaries = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/boundaries',
  operationId: 'listBoundaries',
  summary: 'Where the contexts of the thread begin, the newest cut first.',
  request: { ...request, query: newest },
  responses: { 200: json('The newest cuts.', boundaries), ...readRefusals },
})

const readArtifacts = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/artifacts',
  operationId: 'getArtifacts',
  summary: 'The files that the thread has changed last, with their versions.',
  request: { ...request, query: newest },
  responses: { 200: json('The files at one moment.', artifacts), ...readRefusals },
})

const readDiagnostics = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/diagnostics',
  operationId: 'getDiagnostics',
  summary: 'What is wrong with the thread: findings, failures, waits; what cannot be known says so.',
  request,
  responses: { 200: json('The diagnostics at one moment.', diagnostics), ...readRefusals },
})

const readWhole = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/read-model',
  operationId: 'getReadModel',
  summary: 'All that the thread does now in one bounded answer.',
  request,
  responses: { 200: json('The state at one moment.', readModel), ...readRefusals },
})

/** Adds the routes that answer one question each. */
export function addReadRoutes(app: ThreadApp, { client }: ServerContext): void {
  app.openapi(readCapabilities, (context) => context.json(client.capabilities(), 200))
  app.openapi(readQueue, async (context) => {
    const options = withoutUndefined(context.req.valid('query'))
    return context.json(await client.get(context.req.valid('param').threadId).queue(options), 200)
  })
  app.openapi(readChildren, async (context) => {
    const options = withoutUndefined(context.req.valid('query'))
    const thread = client.get(context.req.valid('param').threadId)
    return context.json(await answerConfigErrors(client, () => thread.children(options)), 200)
  })
  app.openapi(readBoundaries, async (context) => {
    const options = withoutUndefined(context.req.valid('query'))
    const found = await client.get(context.req.valid('param').threadId).boundaries(options)
    return context.json({ boundaries: found }, 200)
  })
  app.openapi(readArtifacts, async (context) => {
    const options = withoutUndefined(context.req.valid('query'))
    return context.json(await client.get(context.req.valid('param').threadId).artifacts(options), 200)
  })
  app.openapi(readDiagnostics, async (context) => {
    const found = await client.get(context.req.valid('param').threadId).diagnostics()
    return context.json(shownTo(context.get('caller'), found), 200)
  })
  app.openapi(readWhole, async (context) => {
    const model = await client.get(context.req.valid('param').threadId).readModel()
    return context.json({ ...model, diagnostics: shownTo(context.get('caller'), model.diagnostics) }, 200)
  })
}

/** Findings name workers, stores and task queues of the operator: an account gets their kinds. */
function shownTo({ account }: Caller, found: ThreadDiagnostics): ThreadDiagnostics {
  const { findings } = found
  if (account === null || 'unavailable' in findings) return found
  const kinds = findings.map((finding) => ({ ...finding, problem: '', remedy: 'Ask the operator.' }))
  return { ...found, findings: kinds }
}
