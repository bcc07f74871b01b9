/**
 * Temporal for `everthread dev`: the server that TEMPORAL_ADDRESS names, else a dev server of its own, whose data stays in the project.
 *
 * It owns: where the program of that server comes from, and which settings of the environment reach it.
 * Invariants: nothing that a person has set for production (a key, TLS, a profile) reaches a server of our own; it ends with this
 * process, however that one ends.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { accessSync, constants, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { homedir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { ConfigError } from '../protocol/errors.js'
import { DEV_SERVER_ARGUMENTS } from '../testing/dev-server-arguments.js'
import { endWithThisProcess } from '../testing/end-with-process.js'

/** Where Temporal is, for this process and its workers. */
export interface TemporalPlace {
  readonly address: string
  /** The configuration file of a server of our own, in the place of a person's. Null: their server, and their settings. */
  readonly configFile: string | null
}

interface TemporalServer {
  readonly place: TemporalPlace
  /** The URL of Temporal's UI; null for a server that is not ours. */
  readonly ui: string | null
  /** Resolves when a server of our own ends, whoever ends it. */
  readonly ended: Promise<void>
  /** Ends a server of our own. */
  close(): Promise<void>
  /** kill -9, without waiting. */
  abandon(): void
}

/** Settings that belong to another server. */
const FOREIGN = /^TEMPORAL_(NAMESPACE|API_KEY|PROFILE|CODEC_|TLS|GRPC_META_)/

/** Makes this process use that server. */
export function useTemporal({ address, configFile }: TemporalPlace): void {
  process.env['TEMPORAL_ADDRESS'] = address
  if (configFile === null) return
  for (const name of Object.keys(process.env)) if (FOREIGN.test(name)) delete process.env[name]
  process.env['TEMPORAL_CONFIG_FILE'] = configFile
}

interface StartTemporal {
  /** The folder of its database and its configuration. */
  readonly folder: string
  /** What takes longer, for a person to know. */
  readonly onWait: (text: string) => void
}

/** @throws an error of one sentence if no server can be had */
export async function startTemporal(options: StartTemporal): Promise<TemporalServer> {
  const { TEMPORAL_ADDRESS: given = '' } = process.env
  if (given !== '') {
    const place = { address: given, configFile: null }
    const ended = new Promise<void>(() => undefined)
    return { place, ui: null, ended, close: async () => undefined, abandon: () => undefined }
  }
  const cli = findCli() ?? (await downloadCli(options))
  const configFile = join(resolve(options.folder), 'temporal.toml')
  // Not empty: Temporal's library cannot read a file without a profile.
  writeFileSync(configFile, '[profile.default]\n')
  // Others may take a free port first.
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort(7233)
    const uiPort = await freePort(port + 1000)
    const server = spawnServer(cli, { port, uiPort, database: join(options.folder, 'temporal.db') })
    const problem = await server.startProblem()
    const place = { address: `127.0.0.1:${port}`, configFile }
    if (problem === null) return { place, ui: `http://127.0.0.1:${uiPort}`, ...server }
    server.abandon()
    if (attempt < 3 && /address already in use|bind/i.test(problem)) continue
    throw new Error(`Expected a Temporal server from ${cli}, got: ${problem}`)
  }
}

/** The first port from `from` on that nobody listens on. */
export async function freePort(from: number): Promise<number> {
  for (let port = from; port < 65_536; port += 1) if (await isFree(port)) return port
  throw new ConfigError([`Expected a free port from ${from} on, got none.`])
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const probe = createServer()
    probe.once('error', () => done(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => done(true)))
  })
}

function cacheFolder(): string {
  const { EVERTHREAD_CACHE: given = '', XDG_CACHE_HOME: shared = '' } = process.env
  return given || join(shared || join(homedir(), '.cache'), 'everthread')
}

const DOWNLOADS = 'temporal-sdk'

/** TEMPORAL_CLI_PATH, the PATH, what `temporal-dev.sh` has installed, or an earlier download. @throws ConfigError */
function findCli(): string | undefined {
  const { TEMPORAL_CLI_PATH: given = '', PATH: path = '' } = process.env
  if (given !== '') {
    if (isProgram(given)) return given
    throw new ConfigError([
      `Expected TEMPORAL_CLI_PATH to name a program, got "${given}": correct it or unset it.`,
    ])
  }
  const name = process.platform === 'win32' ? 'temporal.exe' : 'temporal'
  const onPath = path.split(delimiter).map((folder) => join(folder, name))
  const cache = cacheFolder()
  const installed = namesIn(cache).filter((folder) => folder.startsWith('temporal-cli-'))
  const downloaded = namesIn(join(cache, DOWNLOADS)).filter((file) => file.startsWith('temporal-'))
  return [
    ...onPath,
    ...installed.map((folder) => join(cache, folder, name)),
    ...downloaded.map((file) => join(cache, DOWNLOADS, file)),
  ].find(isProgram)
}

/** The newest version first; none for a folder that is not there. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).toSorted().toReversed()
  } catch {
    return []
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Temporal's SDK has a downloader, which only starts a server at the same time. */
async function downloadCli({ onWait }: StartTemporal): Promise<string> {
  onWait('Downloading the Temporal CLI, once for this machine …')
  const downloadDir = join(cacheFolder(), DOWNLOADS)
  try {
    mkdirSync(downloadDir, { recursive: true })
    const { TestWorkflowEnvironment } = await import('@temporalio/testing')
    const executable = { type: 'cached-download' as const, downloadDir, ttl: '10 years' as const }
    const server = await TestWorkflowEnvironment.createLocal({ server: { executable } })
    await server.teardown()
  } catch (error) {
    throw noCli(error instanceof Error ? error.message : String(error))
  }
  return findCli() ?? fail(noCli('no program in the download'))
}

function noCli(reason: string): Error {
  // The outer errors of the SDK only repeat the address.
  const got = reason.split(': ').at(-1) ?? ''
  return new Error(
    `Expected the Temporal CLI on the PATH, got none, and its download failed (${got}): install it ` +
      '(https://docs.temporal.io/cli), or set TEMPORAL_CLI_PATH, or TEMPORAL_ADDRESS for a server that runs.',
  )
}

function fail(error: Error): never {
  throw error
}

interface ServerOptions {
  readonly port: number
  readonly uiPort: number
  readonly database: string
}

/** Milliseconds: it takes one or two seconds on an idle machine. */
const START_DEADLINE = 60_000

function spawnServer(cli: string, { port, uiPort, database }: ServerOptions) {
  const places = [`--port=${port}`, `--ui-port=${uiPort}`, `--db-filename=${database}`]
  const line = ['server', 'start-dev', '--ip=127.0.0.1', '--log-level=error', ...places]
  // A process group of its own: Ctrl-C must not end it before the workers.
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe']
  const server = spawn(cli, [...line, ...DEV_SERVER_ARGUMENTS], { detached: true, stdio })
  const unwatch = server.pid === undefined ? undefined : endWithThisProcess(server.pid)
  const abandon = (): void => void server.kill('SIGKILL')
  return {
    startProblem: () => startProblem(server, port),
    ended: new Promise<void>((done) => server.once('exit', () => done())),
    abandon,
    async close() {
      await endOf(server, () => server.kill('SIGTERM'))
      unwatch?.()
    },
  }
}

const CLOSE_GRACE = 5000

async function endOf(server: ChildProcess, end: () => void): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const late = setTimeout(() => server.kill('SIGKILL'), CLOSE_GRACE)
  const ended = new Promise<void>((done) => server.once('exit', () => done()))
  end()
  await ended
  clearTimeout(late)
}

/** Null when the server takes requests: it prints its address then. Its output is read on, or a full pipe would stop it. */
function startProblem(server: ChildProcess, port: number): Promise<string | null> {
  let output = ''
  return new Promise((done) => {
    const ready = new RegExp(`server:.*:${port}\\b`, 'i')
    const late = setTimeout(() => done(`no answer within ${START_DEADLINE / 1000} s`), START_DEADLINE)
    const end = (problem: string | null): void => {
      clearTimeout(late)
      done(problem)
    }
    for (const stream of [server.stdout, server.stderr])
      stream?.on('data', (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-2000)
        if (ready.test(output)) end(null)
      })
    server.once('error', (error) => end(error.message))
    server.once('exit', () => end(output.trim().split('\n').at(-1) || 'its end'))
  })
}
