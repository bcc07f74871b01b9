import { randomUUID } from 'node:crypto'
import { createRoute, z } from '@hono/zod-openapi'
import type { CreateThread } from '../../client/create-thread.js'
import { ThreadNotFoundError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { withoutUndefined } from '../../protocol/values.js'
import { threadBudgets } from '../budget-schemas.js'
import { answerConfigErrors, ProblemError } from '../error-response.js'
import { keyHeader, keyOf, nameKeyInConflicts, threadIdOfKey } from '../keyed-id.js'
import {
  givenMessage,
  json,
  jsonBody,
  key,
  pageQuery,
  problem,
  readRefusals,
  refusals,
  rules,
  security,
  threadParams,
  writeRefusals,
  agentSummary,
} from '../schemas.js'
import { metadata, workspaceUri } from '../session-schemas.js'
import { threadCounts, threadSummary, threadsPage } from '../thread-schemas.js'
import type { Caller, ServerContext, ThreadApp } from '../server-context.js'

const name = z.string().min(1).max(LIMITS.threadIdLength)

const newThread = z
  .strictObject({
    agent: name,
    key: key.optional(),
    id: name
      .optional()
      .openapi({ description: 'For operators: the id of the thread. An account gives a `key` instead.' }),
    account: name.optional().openapi({
      description: "For operators: the thread's account. An account creates its own threads only.",
    }),
    message: z.union([z.string().min(1), givenMessage]).optional(),
    userId: name.optional(),
    env: z.record(z.string(), z.string()).optional().openapi({ description: 'Values of variables.' }),
    tags: z.array(name).max(LIMITS.startNames).optional(),
    title: z.string().max(500).optional(),
    metadata: metadata.optional(),
    workspaceUri: workspaceUri.optional(),
    permissions: rules.optional().openapi({
      description: 'Rules by capability. They can only make those of other sources stricter.',
    }),
    // Not `auto` and `bypass`, which answer in the place of a person.
    permissionMode: z.enum(['default', 'untrusted', 'on_request', 'on_failure', 'never', 'plan']).optional(),
    interactive: z
      .boolean()
      .optional()
      .openapi({ description: 'False: a call that needs an approval is denied at once.' }),
    budgets: threadBudgets.optional().openapi({
      description: 'What it may use. They can only be tighter than those of worker and agent.',
    }),
    allowUnknownAgent: z.boolean().optional().openapi({
      description:
        'True: the worker that has the agent starts later. Else an agent that no worker has listed is refused.',
    }),
  })
  .openapi('NewThread')

const create = createRoute({
  method: 'post',
  path: '/threads',
  operationId: 'createThread',
  tags: ['threads'],
  security,
  summary: 'Creates a thread, or finds the one with that key, and sends its first message once.',
  request: { headers: keyHeader, body: jsonBody(newThread) },
  responses: {
    201: json('The thread exists, and its message is accepted.', threadSummary),
    ...writeRefusals,
    403: json("The token's account may not set this field.", problem),
  },
})

const filter = {
  agent: z.string().optional(),
  userId: z.string().optional(),
  parent: z
    .string()
    .optional()
    .openapi({ description: 'Threads that this one started; "none": root threads.' }),
  root: z.string().optional().openapi({ description: 'All threads of its tree, itself included.' }),
  tag: z.string().optional(),
  search: z
    .string()
    .min(1)
    .max(LIMITS.nameLength)
    .optional()
    .openapi({ description: 'A text in the title, the id, the agent or the user, whatever its case.' }),
  account: z.string().optional().openapi({ description: 'For operators.' }),
}

const list = createRoute({
  method: 'get',
  path: '/threads',
  operationId: 'listThreads',
  tags: ['threads'],
  security,
  summary: 'Threads of the account, newest activity first.',
  request: { query: pageQuery.extend({ ...filter, status: z.string().optional() }) },
  responses: { 200: json('A page.', threadsPage), ...refusals },
})

const count = createRoute({
  method: 'get',
  // Not below /threads, where it could be the id of one.
  path: '/thread-counts',
  operationId: 'countThreads',
  tags: ['threads'],
  security,
  summary: 'The number of threads of the account by status.',
  request: { query: z.strictObject(filter) },
  responses: { 200: json('The counts at one moment.', threadCounts), ...refusals },
})

const read = createRoute({
  method: 'get',
  path: '/threads/{threadId}',
  operationId: 'getThread',
  tags: ['threads'],
  security,
  summary: 'A thread, from the store.',
  request: { params: threadParams },
  responses: { 200: json('The thread.', threadSummary), ...readRefusals },
})

/** Adds the routes that create, list and read threads. */
export function addThreadsRoutes(app: ThreadApp, { client, admitMessage }: ServerContext): void {
  app.openapi(create, async (context) => {
    const body = context.req.valid('json')
    const caller = context.get('caller')
    const key = keyOf(context, body.key)
    const given = ownBody({ ...body, key }, caller)
    const { id = randomUUID(), message } = given
    context.set('keyless', given.id === undefined)
    // A wrong configuration of Temporal is no fault of the caller, and must be found before a row is written.
    void client.temporal
    const make = () =>
      nameKeyInConflicts(key, () => answerConfigErrors(client, () => client.create({ ...given, id })))
    const { threadId } = message === undefined ? await make() : await admitMessage(caller, id, make)
    return context.json(await readThread(threadId), 201)
  })
  app.openapi(list, async (context) => {
    const { cursor, limit, ...rest } = context.req.valid('query')
    const page = await answerConfigErrors(client, () =>
      client.page(filterOf(rest, context.get('caller')), withoutUndefined({ cursor, limit })),
    )
    return context.json(page, 200)
  })
  app.openapi(count, async (context) =>
    context.json(await client.counts(filterOf(context.req.valid('query'), context.get('caller'))), 200),
  )
  app.openapi(read, async (context) =>
    context.json(await readThread(context.req.valid('param').threadId), 200),
  )

  async function readThread(threadId: string) {
    const thread = await client.find(threadId)
    if (thread === null) throw new ThreadNotFoundError(threadId)
    return thread
  }
}

interface GivenFilter {
  readonly parent?: string | undefined
  readonly account?: string | undefined
}

/** An account sees its own threads, whatever it asks for. */
function filterOf<Given extends GivenFilter>({ parent, account, ...rest }: Given, caller: Caller) {
  return withoutUndefined({
    ...rest,
    account: caller.account ?? account,
    parent: parent === 'none' ? null : parent,
  })
}

/** All accounts share one name space of ids: an account that could choose ids would find out about threads of others. */
function ownBody(
  { key: given, id, account, message, ...rest }: z.infer<typeof newThread>,
  caller: Caller,
): CreateThread {
  if (caller.account !== null && id !== undefined)
    throw new ProblemError(
      403,
      'forbidden',
      'Expected no "id" from an account, got one: give a "key", which is the account\'s own.',
    )
  if (caller.account !== null && account !== undefined && account !== caller.account)
    throw new ProblemError(403, 'forbidden', 'Expected no "account", or that of the token, got another one.')
  const user = caller.account === null ? undefined : caller.user
  if (user !== undefined && rest.userId !== undefined && rest.userId !== user)
    throw new ProblemError(
      403,
      'forbidden',
      'Expected no "userId", or the user of the token, got another one.',
    )
  if (id !== undefined && given !== undefined)
    throw new ProblemError(400, 'bad_request', 'Expected "id" or "key", got both.')
  const owner = caller.account ?? account
  const threadId = given === undefined ? id : threadIdOfKey(owner ?? null, given)
  return {
    ...rest,
    ...(threadId !== undefined && { id: threadId }),
    ...(owner !== undefined && { account: owner }),
    // Whom it works for cannot approve where two persons have to agree.
    ...(user !== undefined && { userId: user }),
    ...(message !== undefined && { message: typeof message === 'string' ? { content: message } : message }),
  } as CreateThread
}

const listAgents = createRoute({
  method: 'get',
  path: '/agents',
  operationId: 'listAgents',
  tags: ['agents'],
  security,
  summary: 'The agents that workers run, by name; the same for all accounts.',
  responses: {
    200: json('All of them.', z.object({ agents: z.array(agentSummary) }).openapi('Agents')),
    ...refusals,
  },
})

/** Adds the route that lists the agents of which threads can be created. */
export function addAgentsRoutes(app: ThreadApp, { client }: ServerContext): void {
  app.openapi(listAgents, async (context) => {
    const agents = []
    for await (const agent of client.agents()) agents.push(agent)
    return context.json({ agents }, 200)
  })
}
