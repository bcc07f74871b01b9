/** The routes of the HTTP API, typed by its OpenAPI document: `api.get('/threads/{threadId}/usage', { path: { threadId } })`. */
import createClient from 'openapi-fetch'

import type { Paths } from './generated/api-types.js'
import type { Send } from './requests.js'

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

interface CallOptions {
  readonly signal?: AbortSignal
  /** Repeating it has no further effect, so that it is sent again where nobody answered. @default for GET, and with an idempotency key */
  readonly isSafe?: boolean
}

/** What a call of a route takes: `path`, `query`, `headers` and `body`, as the document has them. */
export type Input<Path extends keyof Paths, M extends keyof Paths[Path]> = Omit<
  Paths[Path][M] extends { readonly input: infer Given } ? Given : never,
  'url'
> &
  CallOptions

type Output<Path extends keyof Paths, M extends keyof Paths[Path]> = Paths[Path][M] extends {
  readonly output: infer Answer
}
  ? Answer
  : never

type PathsWith<M extends Method> = {
  [Path in keyof Paths]: M extends keyof Paths[Path] ? Path : never
}[keyof Paths]

type ApiMethod<M extends Method> = <Path extends PathsWith<M>>(
  path: Path,
  ...input: object extends Input<Path, M & keyof Paths[Path]>
    ? [Input<Path, M & keyof Paths[Path]>?]
    : [Input<Path, M & keyof Paths[Path]>]
) => Promise<Output<Path, M & keyof Paths[Path]>>

/** Each of these answers the body of a success, and throws an HttpError for a refusal. */
export interface Api {
  readonly get: ApiMethod<'get'>
  readonly post: ApiMethod<'post'>
  readonly put: ApiMethod<'put'>
  readonly patch: ApiMethod<'patch'>
  readonly delete: ApiMethod<'delete'>
}

/** What a route takes, without its types: `ApiMethod` has checked them. */
interface Given extends CallOptions {
  readonly path?: Record<string, unknown>
  readonly query?: Record<string, unknown>
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

type Route = (path: string, init: object) => Promise<{ readonly data?: unknown }>

export function createApi(url: string, send: Send): Api {
  const client = createClient({ baseUrl: url })
  const call =
    (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE') =>
    async (route: string, given: Given = {}): Promise<unknown> => {
      const { path, query, headers, body, signal, isSafe } = given
      const init = {
        params: { ...(path !== undefined && { path }), ...(query !== undefined && { query }) },
        ...(headers !== undefined && { headers }),
        ...(body !== undefined && { body }),
        ...(signal !== undefined && { signal }),
        // The request is kept for a repetition, which needs its body.
        fetch: (request: Request) => send(() => request.clone(), isSafe === undefined ? {} : { isSafe }),
      }
      const { data } = await (client[method] as Route)(route, init)
      return data
    }
  return {
    get: call('GET'),
    post: call('POST'),
    put: call('PUT'),
    patch: call('PATCH'),
    delete: call('DELETE'),
  } as Api
}
