/**
 * `everthread dev`: one process that starts Temporal, a worker process and the HTTP server, and ends all of them.
 *
 * It owns: what is started in which order, what a person at the terminal is told, and the end. It does not own how each part works.
 * Invariants: one `dev` in a project, since two servers on one database would break each other's work; its data stays in
 * `.everthread`; nothing that it started outlives it.
 */
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import type { Terminal } from '../cli/terminal.js'
import { ThreadClient } from '../client/index.js'
import { contextOf } from '../client/thread-client.js'
import { ConfigError } from '../protocol/errors.js'
import { createThreadApp } from '../server/index.js'
import { namespaceUrl } from '../server/page.js'
import { listen } from '../server/serve-threads.js'
import type { ThreadServer } from '../server/serve-threads.js'
import { loadSqlite } from '../store/sqlite/sqlite-database.js'
import { declareDead } from '../store/workers.js'
import { addDevRoutes, refuseForeign } from './dev-routes.js'
import { freePort, startTemporal, useTemporal } from './temporal-server.js'
import { watchProject } from './watch-project.js'
import { superviseWorker } from './worker-supervisor.js'

interface RunDev {
  readonly terminal: Terminal
  readonly file: string | undefined
  /** The port of the HTTP server, if it is given. */
  readonly port: string | undefined
}

const FOLDER = '.everthread'

/** Runs until a person ends it. @throws an error of one sentence for what cannot start */
export async function runDev({ terminal, file: given, port }: RunDev): Promise<number> {
  const began = Date.now()
  assertNode()
  const file = findAgentsFile(given)
  mkdirSync(FOLDER, { recursive: true })
  const unlock = lockProject()
  // Workers read the file themselves, each time anew.
  const environment: NodeJS.ProcessEnv = { EVERTHREAD_LOG_LEVEL: 'warn', ...process.env }
  if (existsSync('.env')) process.loadEnvFile('.env')
  const ends: Ends = { steps: [], abandons: [] }
  const ended = untilEnded(terminal, ends)
  try {
    const temporal = startTemporal({ folder: FOLDER, onWait: (text) => terminal.line(text) })
    const threads = new ThreadClient()
    ends.steps.push(() => threads.close())
    const session: Session = { terminal, began, threads, temporal }
    const worker = startWorker(session, { file, environment })
    ends.abandons.push(() => worker.abandon())
    const started = await Promise.race([temporal, ended.then(() => null)])
    if (started !== null) {
      // It is the last to end: the client has calls in flight.
      ends.steps.unshift(() => started.close())
      ends.abandons.push(() => started.abandon())
    }
    ends.steps.push(() => worker.close())
    if (started !== null) {
      useTemporal(started.place)
      const server = await serve(session, { worker, port: await portOf(port), temporalUi: started.ui })
      ends.steps.push(() => server.close())
      for (const folder of foldersOf(file)) {
        const watch = watchProject(
          folder,
          (files) => {
            terminal.line(`${files.join(', ')} changed`)
            worker.deploy()
          },
          (problem) => terminal.problem(problem),
        )
        ends.steps.push(async () => watch.close())
      }
    }
    const death = started?.ended.then(() => TEMPORAL_ENDED)
    const problem = await Promise.race([ended.then(() => null), ...(death === undefined ? [] : [death])])
    if (problem === null) return 0
    terminal.problem(problem)
    return 1
  } finally {
    // The last that was started is the first to end.
    for (const step of ends.steps.toReversed()) await step().catch(() => undefined)
    unlock()
  }
}

const TEMPORAL_ENDED =
  'The Temporal server ended by itself, and everthread dev with it: start it again, all threads are kept.'

const DEFAULT_FILES = ['agents.ts', 'agents.js', 'src/agents.ts', 'src/agents.js']

/** The file with the agents, as a path in the working directory. @throws ConfigError for none */
function findAgentsFile(given: string | undefined): string {
  if (given !== undefined && existsSync(given)) return given
  const found = given === undefined ? DEFAULT_FILES.find((file) => existsSync(file)) : undefined
  if (found !== undefined) return found
  const what = given === undefined ? 'none' : `"${given}", which does not exist`
  throw new ConfigError([
    `Expected a file with agents (${DEFAULT_FILES.join(', ')}, or one that is named: everthread dev FILE), got ${what}: ` +
      'everthread init makes a project that has one.',
  ])
}

/** The project, and the folder of a file that is outside of it. */
function foldersOf(file: string): readonly string[] {
  const project = process.cwd()
  const folder = dirname(resolve(file))
  const isInside = !relative(project, folder).startsWith('..') && !isAbsolute(relative(project, folder))
  return isInside ? [project] : [project, folder]
}

/** Type stripping without a flag, and the hooks of modules. */
function assertNode(): void {
  if (process.features.typescript === 'strip' || process.features.typescript === 'transform') return
  throw new ConfigError([
    `Expected Node 22.18 or later for everthread dev, got ${process.version}: install it.`,
  ])
}

/** The lock is one of SQLite: the system releases it with any death of this process. @throws ConfigError */
function lockProject(): () => void {
  const database = new (loadSqlite().DatabaseSync)(join(FOLDER, 'dev.lock'))
  try {
    database.exec('BEGIN EXCLUSIVE')
  } catch {
    database.close()
    throw new ConfigError(['Expected no other everthread dev in this folder, got one: end that one first.'])
  }
  return () => database.close()
}

interface Ends {
  /** In the order of the beginnings. */
  readonly steps: (() => Promise<unknown>)[]
  /** What is to be killed if a person does not wait. */
  readonly abandons: (() => void)[]
}

/** Milliseconds: longer than each part takes that ends as it should. */
const LONGEST_END = 15_000

/** Resolves at `q`, Ctrl-C, or a signal. A second one ends the process at once, and kills what it has started. */
function untilEnded(terminal: Terminal, { steps, abandons }: Ends): Promise<void> {
  return new Promise((resolve) => {
    let isEnding = false
    const end = (): void => {
      if (isEnding) process.exit(130)
      isEnding = true
      // What does not end by itself is killed by `exit`.
      setTimeout(() => process.exit(0), LONGEST_END).unref()
      // Ctrl-C is a signal again, and the input keeps this process no longer.
      forgetKeys()
      resolve()
    }
    const forgetKeys = terminal.onKey((key) => {
      if (key === 'q' || key === '\u0003') end()
    })
    // Also where something cannot start: the input would keep this process.
    steps.push(async () => forgetKeys())
    terminal.onInterrupt(end)
    process.on('SIGTERM', end)
    process.on('SIGHUP', end)
    process.on('exit', () => {
      if (!isEnding) forgetKeys()
      for (const abandon of abandons) abandon()
    })
  })
}

interface Session {
  readonly terminal: Terminal
  /** Milliseconds since 1970. */
  readonly began: number
  readonly threads: ThreadClient
  readonly temporal: ReturnType<typeof startTemporal>
}

interface WorkerOptions {
  readonly file: string
  readonly environment: NodeJS.ProcessEnv
}

function startWorker(
  { terminal, threads, temporal }: Session,
  { file, environment }: WorkerOptions,
): ReturnType<typeof superviseWorker> & { readonly ready: Promise<void> } {
  const bundle = join(FOLDER, 'workflow-bundle.js')
  // That of another version of this package may be there.
  rmSync(bundle, { force: true })
  let setReady: () => void = () => undefined
  const ready = new Promise<void>((resolve) => (setReady = resolve))
  const worker = superviseWorker({
    ...{ file, bundle, environment },
    temporal: temporal.then(({ place }) => place),
    onDeath: async (identity) => {
      const store = await contextOf(threads).store()
      await store.write((tx) => declareDead(tx, identity))
    },
    onReady(_message, { pid, drained }) {
      setReady()
      if (drained !== null)
        terminal.line(`deployed: worker ${pid} runs, worker ${drained} ends when its work is done`)
    },
    onProblem: (problem) => terminal.problem(problem),
    onOutput: (text) => terminal.write(text),
  })
  return { ...worker, ready }
}

interface ServeOptions {
  readonly worker: ReturnType<typeof startWorker>
  readonly port: number
  readonly temporalUi: string | null
}

async function serve(
  { terminal, began }: Session,
  { worker, port, temporalUi }: ServeOptions,
): Promise<ThreadServer> {
  const closing = new AbortController()
  // Only now the address of the page is known.
  const threads = new ThreadClient({
    pageUrl: `http://127.0.0.1:${port}`,
    onNotice: ({ message }) => terminal.problem(message),
  })
  const token = readToken()
  const page = temporalUi === null ? {} : { temporalUi: namespaceUrl(temporalUi, threads) }
  const app = createThreadApp({ client: threads, tokens: [{ token }], closing: closing.signal, page })
  addDevRoutes(app, worker)
  const server = await listen({
    fetch: (request, env) => refuseForeign(request, port) ?? app.fetch(request, env),
    ...{ port, hostname: '127.0.0.1', closeGrace: 1000 },
    onClose: () => closing.abort(),
  })
  const delivering = threads.webhooks.deliver({ signal: closing.signal })
  const url = `${server.url}/#token=${token}`
  void worker.ready.then(() => {
    const seconds = ((Date.now() - began) / 1000).toFixed(1)
    const practice = worker.status().model === 'scripted' ? ', a practice model because no key is set' : ''
    const ui = temporalUi === null ? '' : `, Temporal UI ${temporalUi}`
    terminal.line(`ready in ${seconds} s at ${url}${ui}${practice}; q ends it`)
  })
  return {
    url: server.url,
    close: async () => {
      await Promise.all([server.close(), delivering])
      await threads.close()
    },
  }
}

/** A page that is left open over a restart goes on, so the token stays. */
function readToken(): string {
  const place = join(FOLDER, 'token')
  if (existsSync(place)) {
    const kept = readFileSync(place, 'utf8').trim()
    if (/^[0-9a-f]{64}$/.test(kept)) return kept
  }
  const token = randomBytes(32).toString('hex')
  writeFileSync(place, token, { mode: 0o600 })
  chmodSync(place, 0o600)
  return token
}

/** A port that is given is taken or refused; else the next free one from 8080 on. @throws ConfigError */
async function portOf(given: string | undefined): Promise<number> {
  if (given === undefined) return freePort(8080)
  const port = Number(given)
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port
  throw new ConfigError([`Expected --port to be a number from 1 to 65535, got "${given}"`])
}
