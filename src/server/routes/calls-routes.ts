import { createRoute, z } from '@hono/zod-openapi'
import { LIMITS } from '../../protocol/limits.js'
import { WaitTimeoutError } from '../../protocol/errors.js'
import { runResult, toolCallRead, waited } from '../message-schemas.js'
import { ProblemError } from '../error-response.js'
import { keyHeader, keyOf, threadOfCommand } from '../keyed-id.js'
import {
  fields,
  flag,
  json,
  jsonBody,
  key,
  readRefusals,
  security,
  threadParams,
  wholeNumber,
  writeRefusals,
} from '../schemas.js'
import type { ServerContext, ThreadApp } from '../server-context.js'

/** Proxies close a connection that is quiet for a minute. */
const LONGEST_WAIT = 50
const USUAL_WAIT = 10

const shared = { tags: ['messages'], security }

const queue = createRoute({
  ...shared,
  method: 'post',
  path: '/threads/{threadId}/calls',
  operationId: 'queueTool',
  summary:
    'Queues the call of a tool that no model has requested; the name of an agent starts a subagent. The model sees call and result.',
  request: {
    params: threadParams,
    headers: keyHeader,
    body: jsonBody(
      z
        .strictObject({
          name: z.string().min(1).max(LIMITS.nameLength),
          arguments: fields.optional().openapi({ description: 'Checked against the schema of the tool.' }),
          key: key.optional(),
        })
        .openapi('NewToolCall'),
    ),
  },
  responses: {
    202: json('Accepted.', z.object({ toolCallId: z.string() }).openapi('QueuedToolCall')),
    ...writeRefusals,
  },
})

const read = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/calls/{toolCallId}',
  operationId: 'readToolCall',
  summary: 'A tool call, what became of it, and the subagents that it started.',
  request: { params: threadParams.extend({ toolCallId: z.string() }) },
  responses: { 200: json('The call.', toolCallRead), ...readRefusals },
})

const wait = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/result',
  operationId: 'waitForResult',
  summary: 'Waits until nothing is queued and nothing runs, and returns the result of the last run.',
  request: {
    params: threadParams,
    query: z.strictObject({
      seconds: wholeNumber(0, LONGEST_WAIT).openapi({ description: `At most so long; else ${USUAL_WAIT}.` }),
      children: flag.openapi({ description: 'True: also until all threads below it are idle or closed.' }),
    }),
  },
  responses: { 200: json('The result, or why there is none yet: ask again.', waited), ...readRefusals },
})

const readRun = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/runs/{runId}',
  operationId: 'getRun',
  summary: 'What came of a run, as far as it has come: its reply, its output, why it ended.',
  request: { params: threadParams.extend({ runId: z.string().openapi({ example: 'run_1' }) }) },
  responses: { 200: json('The result; without a `reason` the run goes on.', runResult), ...readRefusals },
})

/** Adds the routes that call tools and start subagents by hand, and wait for what comes of it. */
export function addCallsRoutes(app: ThreadApp, server: ServerContext): void {
  const { client, admitMessage } = server
  app.openapi(queue, async (context) => {
    const { name, arguments: given = {}, key: repeated } = context.req.valid('json')
    context.set('keyless', keyOf(context, repeated) === undefined)
    const { threadId } = context.req.valid('param')
    const answer = await admitMessage(context.get('caller'), threadId, () =>
      threadOfCommand(server, context, repeated).queueTool(name, given),
    )
    return context.json(answer, 202)
  })
  app.openapi(read, async (context) => {
    const { threadId, toolCallId } = context.req.valid('param')
    const call = await client.get(threadId).toolCall(toolCallId)
    if (call === null)
      throw new ProblemError(404, 'not_found', `There is no call ${toolCallId} in this thread.`)
    return context.json(call, 200)
  })
  app.openapi(readRun, async (context) => {
    const { threadId, runId } = context.req.valid('param')
    const found = await client.get(threadId).result(runId)
    if (found === null)
      throw new ProblemError(404, 'not_found', `Expected a run of thread "${threadId}", got an id of none.`)
    return context.json(found, 200)
  })
  app.openapi(wait, async (context) => {
    const { seconds = USUAL_WAIT, children = false } = context.req.valid('query')
    const thread = client.get(context.req.valid('param').threadId)
    try {
      const result = await thread.waitUntilIdle({ timeout: seconds * 1000, children })
      return context.json({ idle: true, result, reason: null }, 200)
    } catch (error) {
      if (!WaitTimeoutError.isInstance(error)) throw error
      return context.json({ idle: false, result: null, reason: error.message }, 200)
    }
  })
}
