import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'

import { chatEvents, readChatRequest } from './chat-completions.ts'
import { answerTo, speakerOf } from './demo-script.ts'

/** A request to this process; a second one with the same messages repeats the same step. */
export interface SeenRequest {
  readonly speaker: string
  readonly messages: number
  outcome: 'streaming' | 'finished' | 'cut off'
}

/** Milliseconds: as fast as a person reads, so that the streaming is visible. */
const WORD_DELAY = Number(process.env['DEMO_WORD_DELAY'] ?? 25)
const seen: SeenRequest[] = []

/** A language model that follows a script: deterministic, and it counts its requests. */
const server = createServer((request, response) => {
  if (request.method === 'GET') response.end(JSON.stringify(seen))
  else answer(request, response).catch((error: unknown) => response.destroy(error as Error))
})

async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const request = await readChatRequest(incoming)
  const speaker = speakerOf(request)
  const entry: SeenRequest = { speaker, messages: request.messages.length, outcome: 'streaming' }
  seen.push(entry)
  response.on('close', () => {
    entry.outcome = response.writableFinished ? 'finished' : 'cut off'
  })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of chatEvents(request, answerTo(request))) {
    if (response.destroyed) return
    response.write(event)
    await wait(WORD_DELAY)
  }
  response.end()
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object' && address !== null)
    console.log(`demo-model: http://127.0.0.1:${address.port}`)
})
