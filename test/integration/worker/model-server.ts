import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { createGate } from '../../support/gate.js'
import type { Gate } from '../../support/gate.js'
import { WIRE_FORMATS } from '../../support/provider-wire.js'
import type { WireAnswer } from '../../support/provider-wire.js'
import { answerTo, caseOf } from './model-script.js'
import type { ChatMessage } from './model-script.js'
import { treeAnswer } from './tree-script.js'

/** A request that is answered in part, or not at all. */
export interface HeldRequest {
  /** Resolves when it is there and, of one held in the middle, its content was sent. */
  readonly arrived: Promise<void>
  /** Resolves when its caller left. */
  readonly left: Promise<void>
  /** Sends what is missing. */
  release(): void
}

/** A model in the test's own process: what it was asked is counted outside of Everthread. */
export interface ModelServer {
  readonly url: string
  /** Of one test case: the messages of each request, in order. */
  requests(name: string): readonly (readonly ChatMessage[])[]
  /** A request of a case stays open, before or in the middle of its answer; by default its first. */
  hold(name: string, where: 'before' | 'middle', request?: number): HeldRequest
  close(): Promise<void>
}

/** What a model says to a request; a status alone is a failure. */
export type Answerer = (
  messages: readonly ChatMessage[],
) => WireAnswer | ModelFailure | Promise<WireAnswer | ModelFailure>

interface ModelFailure {
  readonly status: number
}

interface Hold {
  readonly where: 'before' | 'middle'
  readonly arrived: Gate
  readonly left: Gate
  readonly released: Gate
}

/** Of the crash tests and of the tree, who tell themselves apart by what they say. */
const anyScript: Answerer = (messages) => treeAnswer(messages) ?? answerTo(messages)

export async function startModelServer(answerer: Answerer = anyScript): Promise<ModelServer> {
  const asked = new Map<string, (readonly ChatMessage[])[]>()
  const holds = new Map<string, Hold>()
  const server = createServer((request, response) => {
    void messagesOf(request).then((messages) => {
      const name = caseOf(messages)
      asked.set(name, [...(asked.get(name) ?? []), messages])
      const hold = holds.get(`${name} ${asked.get(name)?.length}`)
      if (hold !== undefined) response.once('close', hold.left.open)
      void answerOf(answerer, messages).then((answer) => send(response, answer, hold))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests: (name) => asked.get(name) ?? [],
    hold(name, where, request = 1) {
      const held = { where, arrived: createGate(), left: createGate(), released: createGate() }
      holds.set(`${name} ${request}`, held)
      return { arrived: held.arrived.passed, left: held.left.passed, release: held.released.open }
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function answerOf(
  answerer: Answerer,
  messages: readonly ChatMessage[],
): Promise<WireAnswer | ModelFailure> {
  return answerer(messages)
}

async function send(
  response: ServerResponse,
  answer: WireAnswer | ModelFailure,
  hold: Hold | undefined,
): Promise<void> {
  if ('status' in answer) {
    response.writeHead(answer.status, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { message: 'The model takes no such request.' } }))
    return
  }
  const { preamble, content, finish } = WIRE_FORMATS['/chat/completions'](answer)
  if (hold?.where === 'before') await heldUp(hold)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of [...preamble, ...content]) response.write(event)
  if (hold?.where === 'middle') await heldUp(hold, () => response.write(thought()))
  for (const event of finish) response.write(event)
  response.end()
}

/** Waits for its release. On a busy machine that is longer than a stream may be silent, so `keepAlive` writes to it. */
async function heldUp({ arrived, released, left }: Hold, keepAlive?: () => unknown): Promise<void> {
  arrived.open()
  const timer = setInterval(() => keepAlive?.(), KEEP_ALIVE_INTERVAL)
  try {
    await Promise.race([released.passed, left.passed])
  } finally {
    clearInterval(timer)
  }
}

/** A stream that is silent for 45 s has failed. */
const KEEP_ALIVE_INTERVAL = 10_000

function thought(): string {
  return WIRE_FORMATS['/chat/completions']({ reasoning: { text: 'Hm.', signature: '' } }).content.join('')
}

async function messagesOf(request: IncomingMessage): Promise<readonly ChatMessage[]> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return (JSON.parse(Buffer.concat(chunks).toString('utf8')) as { messages: ChatMessage[] }).messages
}
