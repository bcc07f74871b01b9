// A PostgreSQL of a test run: a new database folder each time, on a free port, gone at the end.
import { execFile, execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'

import { freePort } from './free-port.js'

const PROJECT = new URL('../..', import.meta.url)

export const POSTGRES_USER = 'everthread'
export const POSTGRES_PASSWORD = 'a-password-of-tests'

export interface PostgresServer {
  readonly port: number
  /** The URL of a database of the server. */
  url(database: string): string
  /** Ends it as a power cut would. */
  kill(): Promise<void>
  /** On the same port and folder, after `kill` or `pause`. */
  start(): Promise<void>
  /** Ends it in good order, cutting connections; the data stays. */
  pause(): Promise<void>
  /** Ends it and removes its data. */
  stop(): Promise<void>
}

/** Starts a server; resolves when it takes connections. */
export async function startPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  const programs = postgresFolder()
  const owner = serverOwner()
  const home = await mkdtemp(join(tmpdir(), 'everthread-postgres-'))
  await writeFile(join(home, 'password'), POSTGRES_PASSWORD)
  if (owner !== undefined)
    for (const path of [home, join(home, 'password')]) await chown(path, owner.uid, owner.gid)
  const data = join(home, 'data')
  await promisify(execFile)(
    join(programs, 'initdb'),
    [
      '-D',
      data,
      '-U',
      POSTGRES_USER,
      '-A',
      'scram-sha-256',
      `--pwfile=${join(home, 'password')}`,
      '-E',
      'UTF8',
      '--locale=C',
      ...languageOf(programs),
      '-N',
    ],
    { ...owner, cwd: home },
  )
  const port = await freePort()
  let child: ChildProcess | undefined
  const killWithUs = (): void => void child?.kill('SIGQUIT')
  process.once('exit', killWithUs)

  async function start(): Promise<void> {
    for (const until = Date.now() + 30_000; ; await delay(100)) {
      child = spawn(join(programs, 'postgres'), serverArguments({ data, home, port, settings }), {
        ...owner,
        cwd: home,
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      try {
        return await takesConnections(child)
      } catch (error) {
        // What a killed one leaves behind ends by itself, and takes its time on a busy machine.
        if (Date.now() > until || !/shared memory|lock file/.test(String(error))) throw error
      }
    }
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
  }

  /** Its sessions live on for a moment, and longer on a busy machine: one of them may still commit. */
  async function cut(): Promise<void> {
    const sessions = child?.pid === undefined ? [] : await childrenOf(child.pid)
    const ended = end('SIGKILL')
    for (const pid of sessions) killLiving(pid)
    await ended
  }

  await start()
  return {
    port,
    url: (database) => `postgres://${POSTGRES_USER}:${POSTGRES_PASSWORD}@127.0.0.1:${port}/${database}`,
    kill: cut,
    start,
    // Fast shutdown: transactions are rolled back, connections cut.
    pause: () => end('SIGINT'),
    async stop() {
      process.off('exit', killWithUs)
      await end('SIGQUIT')
      await rm(home, { recursive: true, force: true })
    },
  }
}

async function childrenOf(parent: number): Promise<readonly number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid='])
  const processes = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
  return processes.flatMap(([pid, ppid]) => (ppid === parent && pid !== undefined ? [pid] : []))
}

function killLiving(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    // It has ended by itself.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

/** A language whose order is not that of bytes, as most databases have one. */
function languageOf(programs: string): readonly string[] {
  const version = execFileSync(join(programs, 'postgres'), ['--version'], { encoding: 'utf8' })
  const major = Number(/\(PostgreSQL\) (\d+)/.exec(version)?.[1])
  return major >= 15 ? ['--locale-provider=icu', '--icu-locale=en-US'] : []
}

interface Place {
  readonly data: string
  readonly home: string
  readonly port: number
  readonly settings: readonly string[]
}

/** Durable against the end of its processes, which is all that tests do to it. */
function serverArguments({ data, home, port, settings }: Place): string[] {
  const given = [
    'fsync=off',
    'full_page_writes=off',
    'max_connections=300',
    `unix_socket_directories=${home}`,
  ]
  return [
    '-D',
    data,
    '-h',
    '127.0.0.1',
    '-p',
    String(port),
    ...[...given, ...settings].flatMap((one) => ['-c', one]),
  ]
}

/** From the environment, else from where temporal-dev.sh finds it; installs nothing. */
function postgresFolder(): string {
  const given = process.env['POSTGRES_BIN_PATH']
  if (given) return given
  try {
    return execFileSync('./temporal-dev.sh', ['locate', 'postgres'], {
      cwd: PROJECT,
      encoding: 'utf8',
    }).trim()
  } catch {
    throw new Error('PostgreSQL is not installed yet: run ./temporal-dev.sh install, which says what to do')
  }
}

/** PostgreSQL refuses to run as root. */
function serverOwner(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (const user of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = ['-u', '-g'].map((what) =>
        Number(execFileSync('id', [what, user], { encoding: 'utf8' })),
      )
      if (uid !== undefined && gid !== undefined) return { uid, gid }
    } catch {
      // There is no such user here.
    }
  }
  throw new Error('Expected a user "postgres" or "nobody", for PostgreSQL does not run as root')
}

async function takesConnections(child: ChildProcess): Promise<void> {
  let output = ''
  await new Promise<void>((resolve, reject) => {
    const deadline = setTimeout(
      () => reject(new Error(`Expected a start within 60 s, got: ${output}`)),
      60_000,
    )
    // Read on after the start, or a full pipe would stop the server.
    child.stderr?.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-4_000)
      if (!output.includes('ready to accept connections')) return
      clearTimeout(deadline)
      resolve()
    })
    child.once('exit', (code) => {
      clearTimeout(deadline)
      reject(new Error(`Expected a PostgreSQL that runs, got exit code ${code}: ${output}`))
    })
  })
}
