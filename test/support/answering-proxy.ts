import { once } from 'node:events'
import { createServer, request as send } from 'node:http'
import type { IncomingMessage } from 'node:http'

export interface AnsweringProxy {
  readonly endpoint: string
  stop(): Promise<void>
}

/** What the proxy says instead of the server: a status and the error code of S3. */
export type OwnAnswer = readonly [status: number, code: string] | undefined

/** An HTTP proxy before an S3 server that answers some requests by itself. */
export async function startAnsweringProxy(
  target: string,
  answer: (request: IncomingMessage) => OwnAnswer,
): Promise<AnsweringProxy> {
  const { hostname, port } = new URL(target)
  const server = createServer((request, response) => {
    const own = answer(request)
    if (own !== undefined) {
      const [status, code] = own
      const body = request.method === 'HEAD' ? '' : `<Error><Code>${code}</Code><Message>m</Message></Error>`
      request.resume().once('end', () => {
        response.writeHead(status, { 'content-type': 'application/xml' }).end(body)
      })
      return
    }
    const { headers, method, url: path } = request
    const passed = send({ hostname, port, headers, method, path }, (answered) => {
      response.writeHead(answered.statusCode ?? 502, answered.headers)
      answered.pipe(response)
    })
    passed.on('error', () => response.destroy())
    request.pipe(passed)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('Expected a TCP address')
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
