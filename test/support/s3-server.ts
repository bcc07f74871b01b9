import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.js'
import { until } from './until.js'

/** What the server of tests takes; the AWS SDK finds them in the environment. */
export const S3_CREDENTIALS = {
  AWS_ACCESS_KEY_ID: 'everthread-tests',
  AWS_SECRET_ACCESS_KEY: 'everthread-tests-secret',
} as const

export interface S3Server {
  readonly endpoint: string
  /** Where its objects are, `<folder>/<bucket>/<key>`: a test may damage one. */
  readonly folder: string
  /** Ends the server and waits until it is gone, its objects too. */
  stop(): Promise<void>
}

/** The path from the environment, else from where temporal-dev.sh keeps it; installs nothing. */
export function locateS3Server(): string {
  const { VERSITYGW_PATH: given } = process.env
  if (given) return given
  try {
    const cwd = new URL('../..', import.meta.url)
    return execFileSync('./temporal-dev.sh', ['locate', 's3'], { cwd, encoding: 'utf8' }).trim()
  } catch {
    throw new Error('The S3 server for tests is not installed yet: run ./temporal-dev.sh install')
  }
}

/** Starts versitygw on a folder of its own; resolves when it takes requests. */
export async function startS3Server(program: string): Promise<S3Server> {
  const home = await mkdtemp(join(tmpdir(), 'everthread-s3-'))
  const folders = { objects: join(home, 'objects'), metadata: join(home, 'metadata') }
  for (const folder of Object.values(folders)) await mkdir(folder)
  // Another process may take the free port first.
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort()
    const child = spawnServer(program, port, folders)
    const killWithUs = (): void => void child.kill('SIGKILL')
    process.once('exit', killWithUs)
    const stop = async (): Promise<void> => {
      process.off('exit', killWithUs)
      const runs = child.pid !== undefined && child.exitCode === null && child.signalCode === null
      const gone = runs ? once(child, 'exit') : undefined
      // Nothing of it is kept: there is nothing to close in good order.
      child.kill('SIGKILL')
      await gone
    }
    const endpoint = `http://127.0.0.1:${port}`
    if (await answers(child, endpoint)) {
      const stopAll = () => stop().then(() => rm(home, { recursive: true, force: true }))
      return { endpoint, folder: folders.objects, stop: stopAll }
    }
    await stop()
    if (attempt === 5) throw new Error(`Expected the S3 server ${program} to start, got its end`)
  }
}

function spawnServer(
  program: string,
  port: number,
  folders: { readonly objects: string; readonly metadata: string },
): ChildProcess {
  const place = ['posix', '--sidecar', folders.metadata, folders.objects]
  return spawn(program, ['--port', `127.0.0.1:${port}`, '--keep-alive', '--quiet', ...place], {
    stdio: 'ignore',
    env: {
      PATH: process.env['PATH'],
      ROOT_ACCESS_KEY: S3_CREDENTIALS.AWS_ACCESS_KEY_ID,
      ROOT_SECRET_KEY: S3_CREDENTIALS.AWS_SECRET_ACCESS_KEY,
    },
  })
}

async function answers(child: ChildProcess, endpoint: string): Promise<boolean> {
  let ended = false
  child.once('exit', () => (ended = true))
  child.once('error', () => (ended = true))
  const asked = await until('the S3 server to answer', async () => {
    if (ended) return 'ended'
    return fetch(endpoint).then(
      () => 'answered',
      () => undefined,
    )
  })
  return asked === 'answered'
}
