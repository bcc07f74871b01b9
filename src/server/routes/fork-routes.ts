import { createRoute, z } from '@hono/zod-openapi'
import { randomUUID } from 'node:crypto'
import type { ForkThread } from '../../client/index.js'
import { ThreadNotFoundError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { withoutUndefined } from '../../protocol/values.js'
import { answerConfigErrors, ProblemError } from '../error-response.js'
import { keyHeader, keyOf, nameKeyInConflicts, threadIdOfKey } from '../keyed-id.js'
import {
  givenMessage,
  json,
  optionalBody,
  key,
  problem,
  security,
  threadParams,
  writeRefusals,
} from '../schemas.js'
import type { Caller, ServerContext, ThreadApp } from '../server-context.js'
import { threadSummary } from '../thread-schemas.js'

const messageId = z.string().min(1).max(LIMITS.nameLength)

const forkedThread = z
  .strictObject({
    at: messageId.optional().openapi({ description: 'The last message that the fork has.' }),
    before: messageId.optional().openapi({
      description:
        'Instead of `at`: the first message that the fork does not have. Without both it has the whole transcript.',
    }),
    message: z
      .union([z.string().min(1), givenMessage])
      .optional()
      .openapi({
        description: 'The first message of the fork, such as an edited one.',
      }),
    again: z.literal(true).optional().openapi({
      description:
        'The message that `before` names is sent again; left out, that is the last one of a person.',
    }),
    key: key.optional(),
    id: z
      .string()
      .min(1)
      .max(LIMITS.threadIdLength)
      .optional()
      .openapi({ description: 'For operators: the id of the fork. An account gives a `key` instead.' }),
  })
  .openapi('NewFork')

const fork = createRoute({
  method: 'post',
  path: '/threads/{threadId}/fork',
  operationId: 'forkThread',
  tags: ['threads'],
  security,
  summary: 'Makes a new thread with the transcript of this one up to a message; this one stays as it is.',
  request: { params: threadParams, headers: keyHeader, body: optionalBody(forkedThread) },
  responses: {
    201: json('The fork exists, and its message is accepted.', threadSummary),
    ...writeRefusals,
    403: json("The token's account may not set this field.", problem),
  },
})

/** Adds the route that forks a thread. */
export function addForkRoutes(app: ThreadApp, { client, admitMessage }: ServerContext): void {
  app.openapi(fork, async (context) => {
    const { threadId: origin } = context.req.valid('param')
    const { key: given, ...body } = context.req.valid('json')
    const caller = context.get('caller')
    const byKey = keyOf(context, given)
    const id = forkId(caller, { id: body.id, key: byKey })
    context.set('keyless', byKey === undefined && body.id === undefined)
    const options = { ...withoutUndefined(body), id } as ForkThread
    const make = () =>
      nameKeyInConflicts(byKey, () => answerConfigErrors(client, () => client.fork(origin, options)))
    const sends = body.message !== undefined || body.again === true
    await (sends ? admitMessage(caller, id, make) : make())
    const thread = await client.find(id)
    if (thread === null) throw new ThreadNotFoundError(id)
    return context.json(thread, 201)
  })
}

/** As of a thread that is created: an account has its own keys, and chooses no ids. */
function forkId(
  { account }: Caller,
  { id, key: given }: { readonly id: string | undefined; readonly key: string | undefined },
): string {
  if (account !== null && id !== undefined)
    throw new ProblemError(
      403,
      'forbidden',
      'Expected no "id" from an account, got one: give a "key", which is the account\'s own.',
    )
  if (id !== undefined && given !== undefined)
    throw new ProblemError(400, 'bad_request', 'Expected "id" or "key", got both.')
  return id ?? (given === undefined ? randomUUID() : threadIdOfKey(account, given))
}
