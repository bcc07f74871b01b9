// The servers that tests run on. Where they are comes from temporal-dev.sh, and how the dev server is
// started from the flags that temporal-dev.sh uses, so that tests and `up` meet the same server.
import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { freePort } from './free-port.js'

const projectFolder = new URL('../..', import.meta.url)

/** The executables of the Temporal CLI and of the time-skipping test server. */
export interface ServerPaths {
  readonly temporalCli: string
  readonly testServer: string
}

export interface DevServerOptions {
  /** @default a free port, new at each start */
  readonly port?: number
  /** Where its counters are read: `/metrics`, in Prometheus's text format. @default a port of the server's choice */
  readonly metricsPort?: number
  /** Keeps the server's data in this file. @default in memory */
  readonly dbFilename?: string
  /** Values of the dynamic configuration, beside those of `scripts/dev/dev-server-flags.txt`. */
  readonly dynamicConfig?: Readonly<Record<string, unknown>>
  /** Registered beside Everthread's own, as name and type: `{ Region: 'Keyword' }`. */
  readonly searchAttributes?: Readonly<Record<string, string>>
}

export interface DevServer {
  readonly address: string
  readonly pid: number
  /** Ends the server and waits until it is gone. */
  stop(): Promise<void>
}

/** The paths from the environment, else from where temporal-dev.sh keeps them; installs nothing. */
export function locateServers(): ServerPaths {
  const { TEMPORAL_CLI_PATH: temporalCli, TEMPORAL_TEST_SERVER_PATH: testServer } = process.env
  if (temporalCli && testServer) return { temporalCli, testServer }
  try {
    const lines = execFileSync('./temporal-dev.sh', ['locate'], { cwd: projectFolder, encoding: 'utf8' })
    const [cli, server] = lines.split('\n')
    if (cli && server) return { temporalCli: cli, testServer: server }
  } catch {
    // The sentence below is all that is needed: the script has already said what is wrong, if anything is.
  }
  throw new Error('The Temporal servers are not installed yet: run ./temporal-dev.sh test')
}

/** Starts a headless dev server with Everthread's flags; resolves when it takes requests. */
export async function startDevServer(options: DevServerOptions = {}): Promise<DevServer> {
  // Another process may take the free port first; an asked one is never changed.
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await freePort())
    const child = spawn(locateServers().temporalCli, devServerArguments(port, options), {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const killWithUs = (): void => void child.kill('SIGKILL')
    process.once('exit', killWithUs)
    const problem = await startProblem(child, port)
    if (problem === undefined) {
      return {
        address: `127.0.0.1:${port}`,
        pid: child.pid ?? 0,
        stop: () => stopProcess(child).finally(() => process.off('exit', killWithUs)),
      }
    }
    await stopProcess(child)
    process.off('exit', killWithUs)
    if (options.port !== undefined || attempt === 5) {
      throw new Error(`Expected a dev server on port ${port}, got: ${problem.trim()}`)
    }
  }
}

function devServerArguments(port: number, options: DevServerOptions): string[] {
  const flags = readFileSync(new URL('scripts/dev/dev-server-flags.txt', projectFolder), 'utf8')
  return [
    'server',
    'start-dev',
    '--headless',
    `--port=${port}`,
    ...flags.split('\n').filter((line) => line !== '' && !line.startsWith('#')),
    ...(options.metricsPort === undefined ? [] : [`--metrics-port=${options.metricsPort}`]),
    ...(options.dbFilename === undefined ? [] : [`--db-filename=${options.dbFilename}`]),
    ...Object.entries(options.dynamicConfig ?? {}).map(
      ([name, value]) => `--dynamic-config-value=${name}=${JSON.stringify(value)}`,
    ),
    ...Object.entries(options.searchAttributes ?? {}).map(
      ([name, type]) => `--search-attribute=${name}=${type}`,
    ),
  ]
}

// The server prints its address when it takes requests; a port that answers could be another program's.
// Thirty seconds: it takes one on an idle machine.
async function startProblem(child: ChildProcess, port: number): Promise<string | undefined> {
  let output = ''
  return new Promise((resolve) => {
    const deadline = setTimeout(() => resolve(`no start within 30 s. ${output}`), 30_000)
    const settle = (problem: string | undefined): void => {
      clearTimeout(deadline)
      resolve(problem)
    }
    const read = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-4_000)
      if (new RegExp(`server: .*:${port}$`, 'im').test(output)) settle(undefined)
    }
    // Read on after the start, or a full pipe would stop the server.
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('error', (error) => settle(error.message))
    child.once('exit', (code) => settle(`exit code ${code}. ${output}`))
  })
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  // The server needs one second to close; a test that waits longer only hides that it hangs.
  const impatience = setTimeout(() => child.kill('SIGKILL'), 5_000)
  await gone
  clearTimeout(impatience)
}
