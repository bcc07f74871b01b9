// The handlers of the routes in app/api/chat: each asks who is logged in, and answers with what `useChat` reads.
import { ThreadNotFoundError } from 'everthread'
import { toUIMessageStreamResponse } from 'everthread/client'
import type { ThreadClient, ThreadHandle, UIMessagesRequest } from 'everthread/client'

/** As Next gives it to a route. */
interface Context {
  readonly params: Promise<{ readonly id: string }>
}
type Route = (request: Request, context: Context) => Promise<Response>

interface Chat {
  readonly threads: ThreadClient
  /** Who is logged in: the user of your session, or undefined. */
  readonly userOf: (request: Request) => Promise<string | undefined>
}

export function chatRoutes({ threads, userOf }: Chat) {
  /** A route of the user's own chat; another one's looks like one that is not there. */
  const route =
    (answer: (thread: ThreadHandle, request: Request) => Promise<Response>): Route =>
    async (request, { params }) => {
      const user = await userOf(request)
      if (user === undefined) return new Response('Log in first.', { status: 401 })
      const { id } = await params
      const chat = await threads.sessions.get(id).catch((error: unknown) => {
        if (ThreadNotFoundError.isInstance(error)) return undefined
        throw error
      })
      if (chat?.userId !== user) return new Response('There is no such chat.', { status: 404 })
      return answer(threads.get(id), request)
    }
  return {
    load: route(async (thread) => Response.json(await thread.uiMessages())),
    send: route(async (thread, request) =>
      toUIMessageStreamResponse(thread, (await request.json()) as UIMessagesRequest, {
        signal: request.signal,
      }),
    ),
    resume: route((thread, { signal, url }) =>
      toUIMessageStreamResponse(thread, null, {
        signal,
        after: new URL(url).searchParams.get('after') ?? '0',
      }),
    ),
    stop: route(async (thread) => Response.json(await thread.stop())),
  }
}
