import type { ThreadState } from './thread-state.js'

/**
 * Answers a request below `/threads/{threadId}/api/`. `state.execution` is null: there is no run, and each write acts at
 * once. `params` are the parts of the path that its name leaves open; `*` is the rest of it. `request.signal` aborts when
 * the caller has gone, and when its time is over (`endpoints.timeout` of the server).
 */
export type ThreadEndpoint = (
  request: Request,
  state: ThreadState,
  params: Readonly<Record<string, string>>,
) => Response | Promise<Response>

/** Declares a thread endpoint. It has no name of its own: its path and method are the key, or the file, that holds it. */
export function defineThreadEndpoint(endpoint: ThreadEndpoint): ThreadEndpoint {
  return endpoint
}
