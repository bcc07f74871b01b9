import { createRoute, z } from '@hono/zod-openapi'

import { json, jsonBody, problem, refusals as always } from '../schemas/parts.js'
import { accepted, claimRequest, claimed, filePath, params, stored, toolResult } from './call-schemas.js'

const path = '/tool-calls/{threadId}/{callId}'

const shared = { tags: ['tool-calls'] }

const bytes = z.string().openapi({ type: 'string', format: 'binary' })

const refusals = {
  ...always,
  401: json('The token is missing, wrong, or of an earlier claim.', problem),
  410: json('The call was ended: nothing is taken any more.', problem),
}

/** With the worker's token. */
export const claimRoute = createRoute({
  ...shared,
  method: 'post',
  path: `${path}/claim`,
  operationId: 'claimToolCall',
  security: [{ toolWorker: [] }],
  summary: 'Takes a call: its arguments, and a token for the other routes.',
  request: { params, body: jsonBody(claimRequest) },
  responses: {
    200: json('The call is yours.', claimed),
    ...refusals,
    404: json('No such call on the task queues of this worker.', problem),
    409: json('Taken and not to be repeated, or answered: end the activity.', problem),
    413: json('The body is too large.', problem),
    415: json('The body is of another type.', problem),
  },
})

/** With the call's token, as those that follow. */
export const readFileRoute = createRoute({
  ...shared,
  method: 'get',
  path: `${path}/files`,
  operationId: 'readToolCallFile',
  security: [{ toolCall: [] }],
  summary: 'A file of the thread, or one that the call has written.',
  request: { params, query: filePath },
  responses: {
    200: { description: 'Its bytes.', content: { '*/*': { schema: bytes } } },
    ...refusals,
    404: json('No such file.', problem),
    409: json('The call is answered.', problem),
  },
})

export const writeFileRoute = createRoute({
  ...shared,
  method: 'put',
  path: `${path}/files`,
  operationId: 'writeToolCallFile',
  security: [{ toolCall: [] }],
  summary: 'Writes a file, which comes into the thread with the result; Content-Type is its type.',
  request: { params, query: filePath, body: { required: true, content: { '*/*': { schema: bytes } } } },
  responses: {
    200: json('Kept for the call.', stored),
    ...refusals,
    409: json('The call is answered.', problem),
    413: json('The file is too large.', problem),
  },
})

export const resultRoute = createRoute({
  ...shared,
  method: 'post',
  path: `${path}/result`,
  operationId: 'answerToolCall',
  security: [{ toolCall: [] }],
  summary: 'The result of the call, once; the same one again changes nothing.',
  request: { params, body: jsonBody(toolResult) },
  responses: {
    200: json('Stored. End the activity.', accepted),
    ...refusals,
    409: json('The call has another answer.', problem),
    413: json('The body is too large.', problem),
    415: json('The body is of another type.', problem),
  },
})
