import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

import { expect, onTestFinished, test } from 'vitest'

import { until } from '../support/until.js'

const HOOKS = new URL('../store/processes/resolve-typescript.ts', import.meta.url).href
const PROCESS = fileURLToPath(new URL('./leaving-process.ts', import.meta.url))

test('a server ends with its process, even a killed one', async () => {
  const child = spawn(process.execPath, ['--import', HOOKS, PROCESS], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const exit = once(child, 'exit')
  onTestFinished(() => void child.kill('SIGKILL'))
  const port = Number(await lineMatching(child.stdout, /^server .*:(\d+)$/))
  expect(await listens(port)).toBe(true)
  child.kill('SIGKILL')
  await exit
  await until(`port ${port} to be free`, async () => !(await listens(port)))
})

const GREEN = fileURLToPath(new URL('./green-process.ts', import.meta.url))

test.concurrent.each([
  ['says nothing of its own', {}, /^Done\n$/],
  ['logs what the environment asks for', { EVERTHREAD_LOG_LEVEL: 'info' }, /A run ended\.[^]*Done\n$/],
])(
  'E5 a green test of the kit %s',
  async (_name, environment, said) => {
    const child = spawn(process.execPath, ['--import', HOOKS, GREEN], {
      env: { ...process.env, EVERTHREAD_LOG_LEVEL: '', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const output: string[] = []
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => output.push(String(text)))
    await once(child, 'close')
    expect(output.join('')).toMatch(said)
  },
  60_000,
)

/** The SDK writes lines of its own between. */
async function lineMatching(output: Readable, pattern: RegExp): Promise<string | undefined> {
  for await (const line of createInterface({ input: output })) {
    const found = pattern.exec(line)?.[1]
    if (found !== undefined) return found
  }
  return undefined
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}
