import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request that a receiver has got. */
export interface Posted {
  readonly id: string
  readonly type: string
  readonly threadId: string
  readonly sequence: number
  readonly body: string
  readonly at: number
  /** Whether the signature is one of this secret. */
  readonly isSignedBy: (secret: string) => boolean
}

export interface Receiver {
  readonly url: string
  readonly posted: Posted[]
  /** Answers the next requests. */
  answer: (posted: Posted, count: number) => Answer | Promise<Answer>
  close(): Promise<void>
}

type Answer = number | { readonly status: number; readonly headers: Readonly<Record<string, string>> }

/** A receiver of webhooks on this machine, which accepts everything unless a test says otherwise. */
export async function startReceiver(): Promise<Receiver> {
  const posted: Posted[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => void accept(Buffer.concat(parts).toString()))
    async function accept(body: string): Promise<void> {
      const header = (name: string): string => String(request.headers[name])
      const [id, at] = [header('webhook-id'), header('webhook-timestamp')]
      const { type, threadId, sequence } = JSON.parse(body) as Posted
      const isSignedBy = (secret: string): boolean => {
        const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
        const expected = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')
        return header('webhook-signature') === `v1,${expected}`
      }
      const one = { id, type, threadId, sequence, body, at: Number(at), isSignedBy }
      posted.push(one)
      const answer = await receiver.answer(one, posted.length)
      const { status, headers } = typeof answer === 'number' ? { status: answer, headers: {} } : answer
      response.writeHead(status, headers).end()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    posted,
    answer: () => 200,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return receiver
}
