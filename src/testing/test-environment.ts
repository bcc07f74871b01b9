import { execFile, spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Client } from '@temporalio/client'
import type { Duration } from '@temporalio/common'
import type { TestWorkflowEnvironment } from '@temporalio/testing'
import type { WorkerOptions } from '@temporalio/worker'
import { ThreadClient } from '../client/index.js'
import type { OnNotice, ThreadHandle } from '../client/index.js'
import { warnOfNotice } from '../client/waiting/notices.js'
import { checkFailureText } from '../definitions/failure-text.js'
import type { FailureText } from '../definitions/failure-text.js'
import type { Registry } from '../definitions/known-definitions.js'
import { SIGNALS } from '../protocol/messages.js'
import type { RunCaps } from '../protocol/plan.js'
import { shareStore } from '../store/open-store.js'
import type { StoreOptions } from '../store/store-location.js'
import type { Store } from '../store/store.js'
import { runCaps } from '../definitions/plan/build-plan.js'
import { checkRegistry } from '../worker/create-worker.js'
import { installTestLogging } from '../worker/logging.js'
import { instanceEnv, threadWorkerOptions } from '../worker/worker-options.js'
import type { InstanceEnv } from '../worker/worker-options.js'
import { warnOfRegistry } from '../worker/worker-warnings.js'
import { scriptedRegistry } from './scripted-registry.js'
import type { Replacements } from './scripted-registry.js'
import { startTestServer } from './test-server.js'
import type { TestServerKind } from './test-server.js'
import { Worker } from '../worker/temporal-worker.js'
import { withoutUndefined } from '../protocol/values.js'
import { listWorkerAgents } from '../worker/worker-agents.js'
import { threadBundler } from '../worker/workflow-bundle.js'
import { threadBundle } from './thread-bundle.js'

/** What a test runs, and what of it is replaced. */
export interface TestEnvironmentOptions<R extends Registry> extends Replacements<R> {
  /** The user's own agents, prompts and tools as they are. */
  readonly registry: R
  /** Which server to start, or one that the caller started and will end. @default 'time-skipping' */
  readonly server?: TestServerKind | TestWorkflowEnvironment
  /** Options of Temporal's worker. @default `maxCachedWorkflows: 0` on the time-skipping server: every task replays */
  readonly worker?: Partial<WorkerOptions>
  /** Threads continue as new wherever they can. @default false */
  readonly continueAsNewEveryStep?: boolean
  readonly limits?: Partial<RunCaps>
  /** What end users read where a run ends without an answer, as a worker's `failureText`. */
  readonly failureText?: FailureText
  /** Values of variables for every thread, as a worker's `env`. */
  readonly env?: InstanceEnv
  /** Where threads are stored; what is there stays at the end. @default a temporary folder */
  readonly store?: Pick<StoreOptions, 'database' | 'blobs'>
  /** For secrets. @default a new key */
  readonly secretKey?: string
}

/** A server, a worker and a store of a test, with the client that talks to them. */
export interface TestEnvironment<R extends Registry = Registry> {
  readonly threads: ThreadClient<R>
  readonly taskQueue: string
  /** Where the threads are stored. */
  readonly store: Store
  /** Lets time pass for timers: skipped on the time-skipping server, slept on a real one. */
  sleep(duration: Duration): Promise<void>
  /** Ends the worker in the middle of whatever it does, and starts another. */
  restartWorker(): Promise<void>
  /** Ends worker and server, and removes the store that it made. */
  close(): Promise<void>
}

/**
 * Starts a server, a worker and a store for tests of agents. Tests that share one run one after another. It logs warnings
 * and errors only, unless EVERTHREAD_LOG_LEVEL says otherwise or the process has installed a Runtime of its own.
 * @throws ConfigError naming each model that is not scripted
 */
export async function createTestEnvironment<R extends Registry>(
  options: TestEnvironmentOptions<R>,
): Promise<TestEnvironment<R>> {
  checkRegistry(options.registry)
  const { failureText } = options
  checkFailureText(failureText)
  const registry = scriptedRegistry(options.registry, options)
  const caps = runCaps(options.limits)
  const env = instanceEnv(options.env)
  // Temporal's runtime is made by the first server or worker of the process.
  installTestLogging()
  const opened: (() => Promise<unknown>)[] = []
  const close = async (): Promise<void> => {
    for (let end = opened.pop(); end !== undefined; end = opened.pop()) await end()
  }
  try {
    const folder = await mkdtemp(join(tmpdir(), 'everthread-test-'))
    opened.push(() => rm(folder, { recursive: true, force: true }))
    const { secretKey = randomBytes(32).toString('base64') } = options
    const place = {
      ...{ database: join(folder, 'threads.db'), blobs: join(folder, 'blobs') },
      ...options.store,
      secretKey,
    }
    const store = await shareStore(place)
    opened.push(() => store.close())
    const { server: given = 'time-skipping' } = options
    const server = typeof given === 'string' ? await startTestServer(given) : given
    if (server !== given) opened.push(await endWithProcess(server), () => server.teardown())
    const taskQueue = options.worker?.taskQueue ?? `test-${randomUUID()}`
    const temporal = { ...serverOptions(server), ...options.worker, taskQueue }
    // As a worker does; only now, for a test may install a runtime of its own.
    warnOfRegistry(options.registry)
    let worker = await startTestWorker({ registry, store, caps, env, failureText, temporal })
    opened.push(() => worker.stop())
    const { client } = server
    const continueAsNewEveryStep = options.continueAsNewEveryStep === true
    const threads = testThreads<R>({
      client,
      taskQueue,
      store: place,
      continueAsNewEveryStep,
      timeSkipping: server.supportsTimeSkipping,
    })
    opened.push(() => threads.close())
    return {
      threads,
      taskQueue,
      store,
      sleep: (duration) => server.sleep(duration),
      async restartWorker() {
        await worker.stop()
        worker = await startTestWorker({ registry, store, caps, env, failureText, temporal })
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

function serverOptions(server: TestWorkflowEnvironment): Partial<WorkerOptions> {
  return {
    connection: server.nativeConnection,
    namespace: server.namespace ?? 'default',
    // The time-skipping server waits for ever for the cache of a worker that is gone; without one it waits for none.
    ...(server.supportsTimeSkipping && { maxCachedWorkflows: 0 }),
  }
}

/** Waits until its parent has died in any way, since its input then ends, and kills the server. */
const WATCH = 'read _; kill -9 "$1" 2>/dev/null'

/**
 * Ends the server of an environment with this process, even if the environment is never closed or the process is killed: the
 * SDK would leave the server running. Without `ps` and `sh` the server stays. Returns a function that stops the watch.
 */
export async function endWithProcess(server: TestWorkflowEnvironment): Promise<() => Promise<void>> {
  const pid = await childOfPort(portOf(server))
  if (pid === undefined) return async () => undefined
  // In a group of its own, for Ctrl-C reaches all of ours.
  const watch = spawn('sh', ['-c', WATCH, 'sh', String(pid)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watch.on('error', () => undefined)
  watch.unref()
  // The pipe too would keep this process alive.
  if (watch.stdin instanceof Socket) watch.stdin.unref()
  return async () => void watch.kill('SIGKILL')
}

function portOf(server: TestWorkflowEnvironment): string {
  return server.address.split(':').at(-1) ?? ''
}

/** The SDK does not tell which process its server is: the child of ours that was given that port. */
async function childOfPort(port: string): Promise<number | undefined> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,args=']).catch(() => ({
    stdout: '',
  }))
  const processes = stdout.split('\n').map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line))
  const found = processes.find(
    (line) => Number(line?.[2]) === process.pid && line?.[3]?.split(/[\s=]/).includes(port) === true,
  )
  return found?.[1] === undefined ? undefined : Number(found[1])
}

interface TestThreads {
  readonly client: Client
  readonly taskQueue: string
  readonly store: StoreOptions
  readonly continueAsNewEveryStep: boolean
  readonly timeSkipping: boolean
}

/** A client of the test server; its threads continue as new after every step, if that was asked for. */
function testThreads<R extends Registry>(options: TestThreads): ThreadClient<R> {
  const { continueAsNewEveryStep, timeSkipping, ...connection } = options
  return new TestThreadClient<R>(connection, { continueAsNewEveryStep, timeSkipping })
}

/** The kit has its own worker, so a late answer of it is not worth a notice in a test that passes. */
const tellInTests: OnNotice = (notice) => {
  if (notice.code !== 'no_answer') warnOfNotice(notice)
}

class TestThreadClient<R extends Registry> extends ThreadClient<R> {
  readonly #mode: Pick<TestThreads, 'continueAsNewEveryStep' | 'timeSkipping'>

  constructor(
    connection: ConstructorParameters<typeof ThreadClient>[0],
    mode: Pick<TestThreads, 'continueAsNewEveryStep' | 'timeSkipping'>,
  ) {
    super({ ...connection, onNotice: tellInTests })
    this.#mode = mode
  }

  override create(options: Parameters<ThreadClient<R>['create']>[0]): ReturnType<ThreadClient<R>['create']> {
    if (!this.#mode.continueAsNewEveryStep) return super.create(options)
    return super.create({ ...options, limits: { ...options.limits, historyEvents: 0 } })
  }

  override get(threadId: string): ThreadHandle<R> {
    const thread = super.get(threadId)
    if (!this.#mode.timeSkipping) return thread
    const respond = thread.respond.bind(thread)
    // The same handle, for its getters must stay getters.
    return Object.assign(thread, {
      respond: (...given: Parameters<typeof respond>) => nudged(thread, () => respond(...given)),
    })
  }
}

/** Short, but longer than an Update that is delivered at once takes. */
const NUDGE_AFTER = 300

/**
 * The time-skipping server hands an Update to a worker without a cache again and again, and core passes it on only with
 * a new event: a stop of no run is one, and changes nothing.
 */
async function nudged<T>(thread: ThreadHandle, work: () => Promise<T>): Promise<T> {
  const nudge = (): void => {
    // A thread that has closed meanwhile needs none.
    thread.workflow.signal(SIGNALS.stop, { runId: 'none' }).catch(() => undefined)
  }
  const timer = setInterval(nudge, NUDGE_AFTER)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

interface TestWorkerOptions {
  readonly registry: Registry
  readonly store: Store
  readonly caps: RunCaps
  readonly env: Readonly<Record<string, string>>
  readonly failureText?: FailureText | undefined
  readonly temporal: WorkerOptions
}

interface TestWorker {
  /** Interrupts running work, as the death of its process would, and waits until the worker has ended. */
  stop(): Promise<void>
}

/** Starts a worker that ends quickly. */
async function startTestWorker(options: TestWorkerOptions): Promise<TestWorker> {
  const { registry, store, caps, env, failureText } = options
  const given = withoutUndefined(options.temporal)
  const ownCode = given.workflowsPath !== undefined || given.workflowBundle !== undefined
  const temporal: WorkerOptions = {
    // No grace: a restart stands for a crash. A tool that ignores its abort signal must not hold the test.
    shutdownGraceTime: 0,
    shutdownForceTime: '5s',
    ...(!ownCode && { workflowBundle: await threadBundle() }),
    ...given,
    plugins: [threadBundler, ...(given.plugins ?? [])],
  }
  await listWorkerAgents(store, registry)
  const worker = await Worker.create(
    threadWorkerOptions({ registry, store, caps, env, failureText }, temporal),
  )
  const ended = worker.run().catch((error: unknown) => {
    if (!isForcedShutdown(error)) throw error
  })
  // `stop` reports a failed worker; until then nobody listens.
  ended.catch(() => undefined)
  return {
    async stop() {
      if (worker.getState() === 'RUNNING') worker.shutdown()
      await ended
    },
  }
}

function isForcedShutdown(error: unknown): boolean {
  return error instanceof Error && error.name === 'GracefulShutdownPeriodExpiredError'
}
