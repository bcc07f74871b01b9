// What a user may see, and the handlers of the routes in app/api/chat: each asks who is logged in, and answers with what `useChat` reads.
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
  readonly userOf: (request: Request) => string | undefined
}

/** The user's own chat; another one's looks like one that is not there. */
export async function findChat(
  threads: ThreadClient,
  { id, user }: { readonly id: string; readonly user: string },
): Promise<ThreadHandle | undefined> {
  const chat = await threads.sessions.get(id).catch((error: unknown) => {
    if (ThreadNotFoundError.isInstance(error)) return undefined
    throw error
  })
  return chat?.userId === user ? threads.get(id) : undefined
}

export function chatRoutes({ threads, userOf }: Chat) {
  const route =
    (answer: (thread: ThreadHandle, request: Request) => Promise<Response>): Route =>
    async (request, { params }) => {
      const user = userOf(request)
      if (user === undefined) return new Response('Log in first.', { status: 401 })
      const chat = await findChat(threads, { user, ...(await params) })
      return chat === undefined
        ? new Response('There is no such chat.', { status: 404 })
        : answer(chat, request)
    }
  return {
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
