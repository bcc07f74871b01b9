// A Temporal server as production has it: one process with all four services, on databases of its own in a PostgreSQL, or
// on a SQLite file.
import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import { createPostgresDatabases, sqliteDatabases } from './temporal-databases.js'
import { registerNamespace, temporalAnswers } from './temporal-namespace.js'
import { devServerTuning, freeTemporalPorts, writeTemporalFiles } from './temporal-server-files.js'

/** It takes two seconds on an idle machine; after a kill it also waits for what the killed one held. */
const START_DEADLINE = 60_000

export interface TemporalServerOptions {
  /**
   * URL of any database of the PostgreSQL, such as that of `startPostgres`; its user must be allowed to make databases.
   * @default a SQLite file
   */
  readonly postgres?: string
  /** Values of the dynamic configuration, beside and above those of `scripts/dev/dev-server-flags.txt`. */
  readonly dynamicConfig?: Readonly<Record<string, unknown>>
}

export interface TemporalServer {
  readonly address: string
  /** Of the process that runs now. */
  pid(): number
  /** Ends it at once, or with another signal, and waits until it is gone; its data stays. @default 'SIGKILL' */
  kill(signal?: NodeJS.Signals): Promise<void>
  /** Again on the same address and databases, after `kill`; resolves when it takes requests. */
  start(): Promise<void>
  /** Ends it and removes its databases. */
  stop(): Promise<void>
}

/** The folder of `temporal-server` and `temporal-sql-tool`, from the environment or temporal-dev.sh; installs nothing. */
function locateTemporalServer(): string {
  const { TEMPORAL_SERVER_BIN_PATH: given } = process.env
  if (given) return given
  try {
    const cwd = new URL('../..', import.meta.url)
    return execFileSync('./temporal-dev.sh', ['locate', 'temporal-server'], { cwd, encoding: 'utf8' }).trim()
  } catch {
    throw new Error('The Temporal server is not installed yet: run ./temporal-dev.sh install')
  }
}

/** Starts a server that has the namespace `default` with our search attributes; resolves when it takes requests. */
export async function startTemporalServer(options: TemporalServerOptions = {}): Promise<TemporalServer> {
  const { postgres } = options
  const programs = locateTemporalServer()
  const folder = await mkdtemp(join(tmpdir(), 'everthread-temporal-'))
  const { datastores, drop } =
    postgres === undefined ? sqliteDatabases(folder) : await createPostgresDatabases(programs, postgres)
  const ports = await freeTemporalPorts()
  const address = `127.0.0.1:${ports.frontend.grpcPort}`
  const { searchAttributes, dynamicConfig: tuning } = devServerTuning()
  const dynamicConfig = { ...tuning, ...options.dynamicConfig }
  await writeTemporalFiles({ folder, datastores, ports, dynamicConfig })
  const server = serverProcess(join(programs, 'temporal-server'), folder, address)
  const stop = async (): Promise<void> => {
    await server.kill()
    await drop()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await server.start()
    await registerNamespace(address, { searchAttributes })
    // Its services read the namespaces now and then, each for itself, and all of them when they start.
    await server.kill()
    await server.start()
  } catch (error) {
    await stop()
    throw error
  }
  return { address, ...server, stop }
}

function serverProcess(
  program: string,
  folder: string,
  address: string,
): Pick<TemporalServer, 'kill' | 'pid' | 'start'> {
  let child: ChildProcess | undefined
  const killWithUs = (): void => void child?.kill('SIGKILL')

  async function kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    process.off('exit', killWithUs)
    if (child === undefined || hasEnded(child)) return
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
  }

  async function start(): Promise<void> {
    for (const end = Date.now() + START_DEADLINE; ; await delay(200)) {
      child = spawn(
        program,
        ['--root', folder, '--config', '.', '--env', 'server', '--allow-no-auth', 'start'],
        {
          stdio: ['ignore', 'pipe', 'pipe'],
        },
      )
      process.once('exit', killWithUs)
      const problem = await startProblem(child, address, end)
      if (problem === undefined) return
      await kill()
      // A port of a killed server may be another connection's for a moment, and its PostgreSQL may still be starting.
      if (Date.now() > end) throw new Error(`Expected a Temporal server on ${address}, got: ${problem}`)
    }
  }

  return { kill, start, pid: () => child?.pid ?? 0 }
}

/** Undefined when it takes requests. */
async function startProblem(child: ChildProcess, address: string, end: number): Promise<string | undefined> {
  let output = ''
  const read = (chunk: Buffer): void => void (output = (output + chunk.toString()).slice(-4_000))
  // Read on after the start, or a full pipe would stop the server.
  child.stdout?.on('data', read)
  child.stderr?.on('data', read)
  child.once('error', (error) => (output += error.message))
  while (!hasEnded(child) && Date.now() < end) {
    if (await temporalAnswers(address)) return undefined
    await delay(50)
  }
  return hasEnded(child)
    ? `its end (${child.exitCode ?? child.signalCode}): ${output}`
    : `no answer: ${output}`
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null
}
