import type { CreateThread, ThreadEvent } from 'everthread/client'

/** How the client process reaches a thread: by the package's client, or over HTTP by the API process. */
export type Way = 'client' | 'http'

/** What the client process needs of threads, whichever way. */
export interface Threads {
  create(thread: NewThread): Promise<void>
  get(threadId: string): Thread
  /** All requests that are open, of any thread. */
  pending(): AsyncIterable<{ readonly threadId: string; readonly id: string }>
}

export interface NewThread extends Pick<CreateThread, 'agent' | 'limits'> {
  readonly id: string
}

export interface Thread {
  /** Goes into the journals, so that a run says what came which way. */
  readonly way: Way
  send(message: SentMessage): Promise<{ readonly messageId: string }>
  stop(): Promise<unknown>
  terminate(options: { readonly reason: string }): Promise<void>
  waitUntilIdle(options: { readonly timeout: number }): Promise<unknown>
  respond(requestId: string, answer: { readonly approved: boolean }): Promise<unknown>
  /** Behind that cursor, until the thread closes. */
  events(options: { readonly after: string }): AsyncIterable<ThreadEvent>
}

export interface SentMessage {
  /** The same message again, under the same id, is sent once. */
  readonly id: string
  readonly content: string
  readonly attachments: readonly SentFile[]
}

interface SentFile {
  readonly name: string
  readonly mimeType: string
  readonly data: Uint8Array
}
