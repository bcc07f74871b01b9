import { createRoute, z } from '@hono/zod-openapi'
import type { SessionFields } from '../../client/sessions/session-fields.js'
import { ThreadNotFoundError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { withoutUndefined } from '../../protocol/values.js'
import { answerConfigErrors } from '../error-response.js'
import {
  deletedThreads,
  flag,
  json,
  optionalBody,
  pageQuery,
  readRefusals,
  refusals,
  security,
  writeRefusals,
} from '../schemas.js'
import {
  escalationRequest,
  session,
  sessionChanges,
  sessionParams,
  sessionsPage,
  sessionSummary,
} from '../session-schemas.js'
import type { ServerContext, ThreadApp } from '../server-context.js'

const shared = { tags: ['sessions'], security }
const path = '/sessions/{sessionId}' as const
const request = { params: sessionParams }
const changed = { 200: json('What it is now.', sessionSummary), ...writeRefusals }

const list = createRoute({
  ...shared,
  method: 'get',
  path: '/sessions',
  operationId: 'listSessions',
  summary: 'Sessions of the account, newest activity first.',
  request: {
    query: pageQuery.extend({
      state: z.string().optional().openapi({
        description: 'active, idle, completed, failed, abandoned, terminated, escalated or archived.',
      }),
      tag: z.string().optional(),
      agent: z.string().optional(),
      userId: z.string().optional(),
      search: z
        .string()
        .min(1)
        .max(LIMITS.nameLength)
        .optional()
        .openapi({ description: 'A text in the title, the id, the agent or the user, whatever its case.' }),
      account: z.string().optional().openapi({ description: 'For operators.' }),
    }),
  },
  responses: { 200: json('A page.', sessionsPage), ...refusals },
})

const read = createRoute({
  ...shared,
  method: 'get',
  path,
  operationId: 'getSession',
  summary: 'A session in one answer of a bounded size, from the store, also a closed one.',
  request: {
    ...request,
    query: z.strictObject({
      usage: flag.openapi({ description: 'True: with what all of its threads have used.' }),
    }),
  },
  responses: {
    200: json('The session.', session),
    ...readRefusals,
    409: writeRefusals[409],
  },
})

const update = createRoute({
  ...shared,
  method: 'patch',
  path,
  operationId: 'updateSession',
  summary: 'Changes the fields that are given; null removes one.',
  request: { ...request, body: optionalBody(sessionChanges) },
  responses: changed,
})

const archive = createRoute({
  ...shared,
  method: 'post',
  path: `${path}/archive`,
  operationId: 'archiveSession',
  summary: 'Keeps a session of which nothing is left to do: it takes nothing more.',
  request,
  responses: changed,
})

const unarchive = createRoute({
  ...shared,
  method: 'post',
  path: `${path}/unarchive`,
  operationId: 'unarchiveSession',
  summary: 'Lets an archived session go on.',
  request,
  responses: changed,
})

const escalate = createRoute({
  ...shared,
  method: 'post',
  path: `${path}/escalate`,
  operationId: 'escalateSession',
  summary: 'Says that a person has taken over. It stops nothing.',
  request: { ...request, body: optionalBody(escalationRequest) },
  responses: changed,
})

const resolve = createRoute({
  ...shared,
  method: 'post',
  path: `${path}/resolve`,
  operationId: 'resolveSession',
  summary: 'Takes an escalation back.',
  request,
  responses: changed,
})

const purge = createRoute({
  ...shared,
  method: 'delete',
  path,
  operationId: 'purgeSession',
  summary: 'Deletes all threads of a session for good: rows, files, histories.',
  request: {
    ...request,
    query: z.strictObject({
      terminate: flag.openapi({
        description: 'True: terminates open threads first; otherwise those answer 409.',
      }),
    }),
  },
  responses: { 200: json('Deleted.', deletedThreads), ...writeRefusals },
})

/** Adds the routes of sessions: each command may be repeated without harm. */
export function addSessionsRoutes(app: ThreadApp, { client }: ServerContext): void {
  const { sessions } = client
  app.openapi(list, async (context) => {
    const { cursor, limit, account, ...filter } = context.req.valid('query')
    // An account sees its own sessions, whatever it asks for.
    const own = context.get('caller').account ?? account
    const page = await answerConfigErrors(client, () =>
      sessions.list(withoutUndefined({ ...filter, account: own }), withoutUndefined({ cursor, limit })),
    )
    return context.json(page, 200)
  })
  app.openapi(read, async (context) => {
    const { sessionId } = context.req.valid('param')
    const { usage = false } = context.req.valid('query')
    const found = await sessions.get(sessionId, { usage })
    if (found === null) throw new ThreadNotFoundError(sessionId)
    return context.json(found, 200)
  })
  app.openapi(update, async (context) => {
    const { sessionId } = context.req.valid('param')
    // A body is JSON.
    const given = withoutUndefined(context.req.valid('json')) as SessionFields
    return context.json(await answerConfigErrors(client, () => sessions.update(sessionId, given)), 200)
  })
  app.openapi(escalate, async (context) => {
    const { sessionId } = context.req.valid('param')
    const given = withoutUndefined(context.req.valid('json'))
    return context.json(await answerConfigErrors(client, () => sessions.escalate(sessionId, given)), 200)
  })
  app.openapi(archive, async (context) =>
    context.json(await sessions.archive(context.req.valid('param').sessionId), 200),
  )
  app.openapi(unarchive, async (context) =>
    context.json(await sessions.unarchive(context.req.valid('param').sessionId), 200),
  )
  app.openapi(resolve, async (context) =>
    context.json(await sessions.resolve(context.req.valid('param').sessionId), 200),
  )
  app.openapi(purge, async (context) => {
    const { terminate = false } = context.req.valid('query')
    return context.json(await sessions.purge(context.req.valid('param').sessionId, { terminate }), 200)
  })
}
