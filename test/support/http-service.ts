/** A service of a test, over plain HTTP on this machine. */
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterEach } from 'vitest'

interface Asked {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface HttpService {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string
  readonly port: number
  /** What it was asked, in order. */
  readonly asked: readonly Asked[]
  close(): Promise<void>
}

type Answer = (asked: Asked, response: ServerResponse) => void

/** Starts a service that answers as `answer` does, once the whole request has come. */
export async function httpService(answer: Answer): Promise<HttpService> {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    void read(request).then((body) => {
      const one = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body }
      asked.push(one)
      answer(one, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    ...{ url: `http://127.0.0.1:${port}`, port, asked },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function read(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

/** Starts services that end with their test. Call it once in a file. */
export function servicesOfTests(): (answer?: Answer) => Promise<HttpService> {
  const services: HttpService[] = []
  afterEach(async () => {
    for (const service of services.splice(0)) await service.close()
  })
  return async (answer = (_asked, response) => void response.end()) => {
    const service = await httpService(answer)
    services.push(service)
    return service
  }
}
