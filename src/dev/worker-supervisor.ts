/**
 * The worker of `everthread dev`, whichever process it is at the moment.
 *
 * It owns: which process runs threads, when another one takes over, and what is wrong if none can. It does not own what a worker does
 * (`createWorker`), nor when to deploy (`watch-project.ts`, the routes).
 * Invariants: a process is drained only when its successor is ready, so a definition that cannot be loaded costs nothing that runs;
 * at most one process starts at a time, and the last change counts; a process that ends without being asked is replaced; what a
 * killed process had is given to the next one at once, because its death is written into the store.
 */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endWithThisProcess } from '../testing/end-with-process.js'
import type { TemporalPlace } from './temporal-server.js'

interface WorkerStatus {
  readonly worker: {
    readonly state: 'starting' | 'running' | 'replacing' | 'dead'
    readonly pid: number | null
    /** When that process began, in microseconds since 1970. */
    readonly since: number | null
    /** How often a ready process has taken over from another. */
    readonly deploys: number
    /** The processes from before that end what they had begun. */
    readonly draining: readonly number[]
  }
  /** What is wrong with the agents as they are now, or with the last process. */
  readonly problem: string | null
  readonly model: 'scripted' | null
}

type Ready = Extract<WorkerMessage, { readonly type: 'ready' }>

interface SupervisorOptions extends WorkerFiles {
  readonly temporal: Promise<TemporalPlace>
  /** Writes into the store that a worker has died, so that its activities are given to others at once. */
  readonly onDeath: (identity: string) => Promise<void>
  /** A process has taken over; `drained` is the one before. */
  readonly onReady: (ready: Ready, pids: { readonly pid: number; readonly drained: number | null }) => void
  readonly onProblem: (problem: string) => void
  readonly onOutput: (text: string) => void
}

interface WorkerSupervisor {
  status(): WorkerStatus
  /** Starts a process that takes over when it is ready; one that is still starting is dropped for it. */
  deploy(): void
  /** kill -9 of the processes that run threads, also of those that end what they had begun; another one starts at once. */
  kill(): void
  /** Kills what is there, without waiting. */
  abandon(): void
  /** Ends all processes: those that do not end by themselves within seconds are killed. */
  close(): Promise<void>
}

/** Milliseconds that a process may take to be ready once Temporal runs: on a busy machine it takes 20 s. */
const LONGEST_LOAD = 90_000
/** A process that dies by itself is started again after this time, doubled for each death in a row. */
const FIRST_PAUSE = 500
const LONGEST_PAUSE = 10_000
/** A process that has lived so long was not broken from the start. */
const LONG_LIFE = 10_000_000
/** What a person waits who wants to end: a tool in the middle of its work may finish. */
const CLOSE_GRACE = 3000

/** What is there at the moment. */
interface Supervision {
  readonly options: SupervisorOptions
  readonly alive: Set<WorkerProcess>
  readonly endings: Set<Promise<void>>
  /** It runs threads. */
  current: WorkerProcess | null
  /** It starts, and takes over when it is ready. */
  next: WorkerProcess | null
  ready: Ready | null
  deploys: number
  /** In a row, of processes that lived briefly. */
  deaths: number
  problem: string | null
  restart: NodeJS.Timeout | undefined
  isClosing: boolean
}

export function superviseWorker(options: SupervisorOptions): WorkerSupervisor {
  const self: Supervision = {
    ...{ options, alive: new Set(), endings: new Set() },
    ...{ current: null, next: null, ready: null, deploys: 0, deaths: 0 },
    ...{ problem: null, restart: undefined, isClosing: false },
  }
  // Nothing runs without Temporal, whose absence somebody else reports.
  options.temporal.catch(() => (self.isClosing = true))
  start(self)
  return {
    status: () => statusOf(self),
    deploy: () => start(self),
    kill() {
      // The next one starts while the other dies, and is slower than the store that hears of it.
      for (const one of workingProcesses(self)) one.kill()
      if (self.next === null) start(self)
    },
    abandon: () => self.alive.forEach((one) => one.kill()),
    close: () => close(self),
  }
}

/** What a person means by the worker: a thread may still run on a process that another one has replaced. */
function workingProcesses({ alive, next }: Supervision): readonly WorkerProcess[] {
  return [...alive].filter((one) => one !== next)
}

function start(self: Supervision): void {
  const { options } = self
  clearTimeout(self.restart)
  self.restart = undefined
  if (self.isClosing) return
  self.next?.kill()
  const started: WorkerProcess = startWorkerProcess(options, options.temporal, {
    onMessage(message) {
      if (started !== self.next) return
      if (message.type === 'ready') takeOver(self, started, message)
      else {
        self.next = null
        fail(self, message.text)
      }
    },
    onEnd(lastWords) {
      const ending = end(self, started, lastWords).finally(() => self.endings.delete(ending))
      self.endings.add(ending)
    },
    onOutput: (text) => {
      if (!self.isClosing) options.onOutput(text)
    },
  })
  self.next = started
  self.alive.add(started)
  // Temporal may have to be downloaded first, for which a process waits as long as that takes.
  options.temporal.then(
    () => setTimeout(() => dropIfLoading(self, started), LONGEST_LOAD).unref(),
    () => undefined,
  )
}

function dropIfLoading(self: Supervision, started: WorkerProcess): void {
  if (started !== self.next) return
  started.kill()
  self.next = null
  fail(self, `Expected the agents to be loaded within ${LONGEST_LOAD / 1000} s, got a file that still loads.`)
}

function takeOver(self: Supervision, started: WorkerProcess, message: Ready): void {
  const before = self.current
  if (before !== null) self.deploys += 1
  Object.assign(self, { current: started, next: null, problem: null, ready: message })
  before?.drain()
  self.options.onReady(message, { pid: started.pid, drained: before?.pid ?? null })
}

function fail(self: Supervision, problem: string): void {
  self.problem = problem
  if (!self.isClosing) self.options.onProblem(problem)
}

async function end(self: Supervision, ended: WorkerProcess, lastWords: string): Promise<void> {
  self.alive.delete(ended)
  const identity = ended.identity()
  // Before another one runs, so that its first look finds it. One that has ended as it should is not listed any more.
  if (identity !== undefined) await self.options.onDeath(identity).catch(() => undefined)
  const said = lastWords === '' ? '' : `: ${lastWords}`
  if (ended === self.next) {
    self.next = null
    fail(self, `The worker process ended before it was ready${said}`)
  } else if (ended === self.current) {
    self.current = null
    if (self.next === null) scheduleRestart(self, ended, said)
  }
}

function scheduleRestart(self: Supervision, { since }: WorkerProcess, said: string): void {
  if (self.isClosing || self.restart !== undefined) return
  self.deaths = Date.now() * 1000 - since > LONG_LIFE ? 0 : self.deaths + 1
  fail(self, `The worker process ended by itself${said}`)
  const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** self.deaths)
  self.restart = setTimeout(() => start(self), pause)
}

async function close(self: Supervision): Promise<void> {
  self.isClosing = true
  clearTimeout(self.restart)
  const ends = [...self.alive].map(({ ended }) => ended)
  for (const one of self.alive) one.drain()
  const late = setTimeout(() => self.alive.forEach((one) => one.kill()), CLOSE_GRACE)
  await Promise.all(ends)
  await Promise.all(self.endings)
  clearTimeout(late)
}

function statusOf(self: Supervision): WorkerStatus {
  const { current, next, deploys, problem, ready } = self
  const shown = current ?? next
  return {
    worker: {
      state: stateOf({ current, next }),
      pid: shown?.pid ?? null,
      since: shown?.since ?? null,
      deploys,
      draining: workingProcesses(self).flatMap((one) => (one === current ? [] : [one.pid])),
    },
    problem,
    model: ready?.isPractising === true ? 'scripted' : null,
  }
}

function stateOf({
  current,
  next,
}: Readonly<Record<'current' | 'next', WorkerProcess | null>>): WorkerStatus['worker']['state'] {
  if (next !== null) return current === null ? 'starting' : 'replacing'
  return current === null ? 'dead' : 'running'
}

/** From a worker process to `dev`. */
export type WorkerMessage =
  | {
      readonly type: 'ready'
      /** Its name in Temporal and in the store. */
      readonly identity: string
      readonly agents: readonly string[]
      /** A model without a key is replaced. */
      readonly isPractising: boolean
    }
  | { readonly type: 'problem'; readonly text: string }

interface WorkerFiles {
  /** The file with the agents. */
  readonly file: string
  /** Where the workflow bundle is, or will be. */
  readonly bundle: string
  readonly environment: NodeJS.ProcessEnv
}

interface WorkerProcess {
  readonly pid: number
  /** Microseconds since 1970. */
  readonly since: number
  /** Undefined until it is ready. */
  identity(): string | undefined
  /** Accepts no more work, and ends when what it does is done. */
  drain(): void
  /** kill -9. */
  kill(): void
  readonly ended: Promise<void>
}

interface WorkerListener {
  onMessage(message: WorkerMessage): void
  /** `lastWords`: what it wrote last. */
  onEnd(lastWords: string): void
  /** What the user's code and the logger write. */
  onOutput(text: string): void
}

/** Compiled, it is next to `.js`; where tests run the sources, next to `.ts`. */
const PROGRAM = fileURLToPath(
  new URL(`../dev/worker/worker-program${extname(import.meta.url)}`, import.meta.url),
)

/** Starts a worker process. Temporal may come later: it loads the agents meanwhile. */
function startWorkerProcess(
  { file, bundle, environment }: WorkerFiles,
  temporal: Promise<TemporalPlace>,
  listener: WorkerListener,
): WorkerProcess {
  const child = fork(PROGRAM, [file, bundle], {
    // A process group of its own: Ctrl-C reaches `dev` alone, which decides what ends when.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: environment,
    // Node writes a line about a file that is missing.
    execArgv: [...process.execArgv, ...(existsSync('.env') ? ['--env-file=.env'] : [])],
  })
  let identity: string | undefined
  const lastWords = readOutput(child, (text) => listener.onOutput(text))
  child.on('message', (given) => {
    // Our own program sends it.
    const message = given as WorkerMessage
    if (message.type === 'ready') identity = message.identity
    listener.onMessage(message)
  })
  child.on('error', () => undefined)
  temporal.then(
    (place) => {
      if (child.connected) child.send(place, () => undefined)
    },
    () => child.kill('SIGKILL'),
  )
  // Its event loop may be in a loop of the user's code, and would not see that the channel closes.
  const unwatch = child.pid === undefined ? () => undefined : endWithThisProcess(child.pid)
  const ended = new Promise<void>((resolve) => {
    child.on('exit', () => {
      // Its last messages and words may still come, unless a process that it has started holds the pipe.
      const late = setTimeout(end, LAST_WORDS)
      child.on('close', end)
      function end(): void {
        clearTimeout(late)
        child.off('close', end)
        unwatch()
        listener.onEnd(lastWords())
        resolve()
      }
    })
  })
  return {
    pid: child.pid ?? 0,
    since: Date.now() * 1000,
    identity: () => identity,
    drain: () => void child.kill('SIGTERM'),
    kill: () => void child.kill('SIGKILL'),
    ended,
  }
}

/** Milliseconds. */
const LAST_WORDS = 500

const MOST_WORDS = 2000

function readOutput(child: ChildProcess, onOutput: (text: string) => void): () => string {
  let words = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      const text = chunk.toString()
      words = (words + text).slice(-MOST_WORDS)
      onOutput(text)
    })
  return () => words.trim().split('\n').at(-1) ?? ''
}
