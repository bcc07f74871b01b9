import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

const LOWEST = 15_000
const HIGHEST = 32_000

/**
 * A port that nothing listens on at the moment, below those that systems give to who asks for any: a server that is
 * killed finds it free when it comes again. PostgreSQL's tables of Temporal hold no port above these either.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(LOWEST, HIGHEST + 1)
  return (await isFree(port)) ? port : freePort()
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
