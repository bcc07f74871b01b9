import { createRoute, z } from '@hono/zod-openapi'
import type { FileStream } from '../../client/lists/thread-files.js'
import { LIMITS } from '../../protocol/limits.js'
import { ProblemError } from '../error-response.js'
import { answerBody, downloadHeaders, readRange } from '../file-response.js'
import { logBrokenAnswer } from '../request-log.js'
import { keyHeader, threadOfCommand } from '../keyed-id.js'
import { fileRecord, json, problem, readRefusals, security, threadParams, writeRefusals } from '../schemas.js'
import type { ServerContext, ThreadApp } from '../server-context.js'
import { queryToken } from '../tokens/thread-tokens.js'

const shared = { tags: ['files'], security }

const path = z.string().openapi({ description: 'Absolute: /notes/plan.md.', example: '/notes/plan.md' })

const content = { ...shared, path: '/threads/{threadId}/files/content' as const }

const request = { params: threadParams, query: z.strictObject({ path }) }

const binary = z.string().openapi({ format: 'binary' })

const anyType = { content: { '*/*': { schema: binary } } }

const bytes = {
  content: { 'application/octet-stream': { schema: binary } },
}

const list = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/files',
  operationId: 'listFiles',
  summary: 'The direct entries of a folder of the thread.',
  request: {
    params: threadParams,
    query: z.strictObject({
      path: path.optional().openapi({ description: 'A folder; the root folder if left out.', example: '/' }),
    }),
  },
  responses: {
    200: json('Ordered by name.', z.object({ entries: z.array(fileRecord) }).openapi('Folder')),
    ...readRefusals,
  },
})

const download = createRoute({
  ...content,
  method: 'get',
  operationId: 'downloadFile',
  summary: 'The bytes of a file, or one range of them; always as a download, whatever type it has.',
  request: {
    params: threadParams,
    query: z.strictObject({ ...queryToken, path }),
    headers: z.object({
      range: z.string().optional().openapi({ description: 'bytes=0-99, bytes=100-, bytes=-100; one range.' }),
      'if-range': z
        .string()
        .optional()
        .openapi({ description: 'The ETag of the earlier parts: a file with another one comes whole.' }),
    }),
  },
  responses: {
    200: { description: 'The whole file, in its own type.', ...anyType },
    206: { description: 'The range, in its own type.', ...anyType },
    ...readRefusals,
    409: json('It is a folder.', problem),
    416: json('The file ends before the range; `Content-Range` has its size.', problem),
  },
})

const upload = createRoute({
  ...content,
  method: 'put',
  operationId: 'uploadFile',
  summary: `Writes or replaces a file, as it streams in; at most ${LIMITS.fileBytes} bytes. Its type is the Content-Type.`,
  request: { ...request, headers: keyHeader, body: { required: false, ...bytes } },
  responses: { 200: json('Written.', fileRecord), ...writeRefusals },
})

const remove = createRoute({
  ...content,
  method: 'delete',
  operationId: 'deleteFile',
  summary: 'Removes a file. A missing file is no error.',
  request: { ...request, headers: keyHeader },
  responses: { 204: { description: 'There is no such file any more.' }, ...writeRefusals },
})

/** Adds the routes of the thread's files, which are the same that its tools see. */
export function addFilesRoutes(app: ThreadApp, server: ServerContext): void {
  const { client } = server
  app.openapi(list, async (context) => {
    const { path: folder = '/' } = context.req.valid('query')
    return context.json(await client.get(context.req.valid('param').threadId).readdirFile(folder), 200)
  })
  app.openapi(download, async (context) => {
    const { path: named } = context.req.valid('query')
    const { range: header, 'if-range': tag } = context.req.valid('header')
    const thread = client.get(context.req.valid('param').threadId)
    const range = readRange(header)
    let stream = await thread.readFileStream(named, range)
    if (range !== undefined && stream !== null && tag !== undefined && tag !== tagOf(stream))
      stream = await thread.readFileStream(named)
    if (stream === null) throw noFile(await thread.statFile(named))
    const body = answerBody(stream.data, (failure) => logBrokenAnswer(server, context, failure))
    const isPart = range !== undefined && (tag === undefined || tag === tagOf(stream))
    return respond(stream, { body, isPart })
  })
  app.openapi(upload, async (context) => {
    const { body, headers } = context.req.raw
    if (Number(headers.get('content-length') ?? 0) > LIMITS.fileBytes)
      throw new ProblemError(
        413,
        'too_large',
        `Expected a file of at most ${LIMITS.fileBytes} bytes, got a larger one.`,
      )
    const type = headers.get('content-type') ?? 'application/octet-stream'
    const data = body ?? new Uint8Array()
    const thread = threadOfCommand(server, context)
    return context.json(await thread.writeFile(context.req.valid('query').path, data, type), 200)
  })
  app.openapi(remove, async (context) => {
    await threadOfCommand(server, context).unlinkFile(context.req.valid('query').path)
    return context.body(null, 204)
  })
}

/** The error of a path that has no bytes. */
function noFile(record: { readonly isDirectory: boolean } | null): Error {
  if (record === null)
    return new ProblemError(404, 'file_not_found', 'Expected a file of the thread at that path, got none.')
  if (record.isDirectory)
    return new ProblemError(
      409,
      'file_is_folder',
      'Expected a file of the thread at that path, got a folder.',
    )
  return new ProblemError(500, 'file_lost', 'Expected the bytes of that file, got none: they are lost.')
}

/** The ETag of a file, which each write changes. */
function tagOf({ file }: FileStream): string {
  return `"${file.updatedAt.toString(36)}-${file.size.toString(36)}"`
}

function respond(
  stream: FileStream,
  { body, isPart }: { readonly body: ReadableStream<Uint8Array>; readonly isPart: boolean },
): Response {
  const { file, start, end } = stream
  if (isPart && start >= file.size)
    throw new ProblemError(
      416,
      'range_not_satisfiable',
      `Expected a range of the ${file.size} bytes, got one behind them.`,
      {
        'Content-Range': `bytes */${file.size}`,
      },
    )
  const headers = downloadHeaders(stream, tagOf(stream))
  if (!isPart) return new Response(body, { headers })
  return new Response(body, {
    status: 206,
    headers: { ...headers, 'Content-Range': `bytes ${start}-${end - 1}/${file.size}` },
  })
}
