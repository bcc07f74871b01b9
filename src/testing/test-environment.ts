import { execFile } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Client } from '@temporalio/client'
import type { Duration } from '@temporalio/common'
import type { TestWorkflowEnvironment } from '@temporalio/testing'
import type { WorkerOptions } from '@temporalio/worker'
import { ThreadClient } from '../client/index.js'
import type { OnNotice, ThreadHandle } from '../client/index.js'
import { contextOf } from '../client/thread-client.js'
import { warnOfNotice } from '../client/waiting/notices.js'
import { checkFailureText } from '../definitions/failure-text.js'
import type { FailureText } from '../definitions/failure-text.js'
import type { Registry } from '../definitions/known-definitions.js'
import { SIGNALS } from '../protocol/messages.js'
import type { RunAhead, RunCaps } from '../protocol/plan.js'
import { shareStore } from '../store/open-store.js'
import type { StoreOptions } from '../store/store-location.js'
import type { Store } from '../store/store.js'
import { runCaps } from '../definitions/plan/build-plan.js'
import { createPriceList } from '../definitions/prices/model-prices.js'
import { givenRegistry } from '../worker/given-registry.js'
import { installTestLogging } from '../worker/logging.js'
import { createAheadGate } from '../worker/ahead-gate.js'
import { checkPricesOfBudgets } from '../worker/budget-prices.js'
import { instanceEnv, policyOptions, runLimits, threadWorkerOptions } from '../worker/worker-options.js'
import type { InstanceEnv, ThreadOptions, ThreadWorker } from '../worker/worker-options.js'
import { warnOfRegistry, warnOfRules } from '../worker/worker-warnings.js'
import { endWithThisProcess } from './end-with-process.js'
import { scriptedRegistry } from './scripted-registry.js'
import type { Replacements } from './scripted-registry.js'
import { startTestServer } from './test-server.js'
import type { TestServerKind } from './test-server.js'
import { Worker } from '../worker/temporal-worker.js'
import { checkRateLimits } from '../policy/rate-limits.js'
import { withoutUndefined } from '../protocol/values.js'
import { listWorkerAgents } from '../worker/worker-agents.js'
import { threadBundler } from '../worker/workflow-bundle.js'
import { threadBundle } from './thread-bundle.js'

/** The registry that a test runs, and its replacements. */
export interface TestEnvironmentOptions<R extends Registry>
  extends
    Replacements<R>,
    Pick<
      ThreadOptions,
      | 'agents'
      | 'permissions'
      | 'permissionMode'
      | 'policy'
      | 'approval'
      | 'budgets'
      | 'prices'
      | 'rateLimits'
    > {
  /** The agents, prompts and tools under test, unchanged; `agents` can stand in its place. */
  readonly registry?: R
  /** The kind of server to start, or a running one that the caller ends. @default 'time-skipping' */
  readonly server?: TestServerKind | TestWorkflowEnvironment
  /** Options of Temporal's worker. @default `maxCachedWorkflows: 0` on the time-skipping server: every task replays */
  readonly worker?: Partial<WorkerOptions>
  /** Threads continue as new wherever they can. @default false */
  readonly continueAsNewEveryStep?: boolean
  readonly limits?: Partial<Omit<RunCaps, 'stepsPerActivity'>>
  /** As that of a worker: one activity does several steps. @default false */
  readonly runAhead?: RunAhead
  /** The text for end users when a run ends without an answer, as a worker's `failureText`. */
  readonly failureText?: FailureText
  /** Values of variables for every thread, as a worker's `env`. */
  readonly env?: InstanceEnv
  /** Where threads are stored; a given place is kept at the end. @default a temporary folder */
  readonly store?: Pick<StoreOptions, 'database' | 'blobs'>
  /** The key of secrets. @default a new key */
  readonly secretKey?: string
}

/** The server, the worker and the store of a test, with a client. */
export interface TestEnvironment<R extends Registry = Registry> {
  readonly threads: ThreadClient<R>
  readonly taskQueue: string
  /** The store of the threads. */
  readonly store: Store
  /** Lets time pass for timers: skipped on the time-skipping server, slept on a real one. */
  sleep(duration: Duration): Promise<void>
  /** Interrupts the worker as a crash would, and starts another. */
  restartWorker(): Promise<void>
  /** Ends worker and server, and removes the temporary store. */
  close(): Promise<void>
}

/**
 * Starts a server, a worker and a store for tests of agents. Tests that share an environment have to run one after another.
 * It logs warnings and errors only, unless EVERTHREAD_LOG_LEVEL is set or the process has installed a Runtime of its own.
 * @throws ConfigError with each model that is not scripted
 */
export async function createTestEnvironment<R extends Registry>(
  options: TestEnvironmentOptions<R>,
): Promise<TestEnvironment<R>> {
  const tested = givenRegistry(options)
  const { failureText, rateLimits } = options
  checkFailureText(failureText)
  checkRateLimits(rateLimits)
  const registry = scriptedRegistry(tested, options)
  const [caps, prices] = [runCaps(options.limits, options.runAhead), createPriceList(options.prices)]
  const settings = { caps, prices, env: instanceEnv(options.env), ...policyOptions(options) }
  checkPricesOfBudgets({ registry, budgets: options.budgets, prices })
  // The first server or worker of the process creates Temporal's Runtime.
  installTestLogging()
  const opened: (() => Promise<unknown>)[] = []
  const close = async (): Promise<void> => {
    for (let end = opened.pop(); end !== undefined; end = opened.pop()) await end()
  }
  try {
    const folder = await mkdtemp(join(tmpdir(), 'everthread-test-'))
    opened.push(() => rm(folder, { recursive: true, force: true }))
    const place = placeIn(folder, options)
    const store = await shareStore(place)
    opened.push(() => store.close())
    const { server: given = 'time-skipping' } = options
    const server = typeof given === 'string' ? await startTestServer(given) : given
    if (server !== given) opened.push(await endWithProcess(server), () => server.teardown())
    const taskQueue = options.worker?.taskQueue ?? `test-${randomUUID()}`
    const temporal = { ...serverOptions(server), ...options.worker, taskQueue }
    // Not before the server starts: a test may install a Runtime of its own.
    warnOfRegistry(tested)
    warnOfRules(tested, options.permissions)
    const { supportsTimeSkipping: skipsTime } = server
    const limits = runLimits(rateLimits, () => store, { skipsTime })
    const thread = { registry, store, failureText, ...settings, ...limits }
    let worker = await startTestWorker({ ...thread, temporal })
    opened.push(() => worker.stop())
    const { client } = server
    const continueAsNewEveryStep = options.continueAsNewEveryStep === true
    const threads = testThreads<R>({
      client,
      taskQueue,
      store: place,
      continueAsNewEveryStep,
      timeSkipping: skipsTime,
    })
    opened.push(() => threads.close())
    return {
      threads,
      taskQueue,
      store,
      sleep: (duration) => server.sleep(duration),
      async restartWorker() {
        await worker.stop()
        worker = await startTestWorker({ ...thread, temporal })
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

function placeIn(
  folder: string,
  {
    store,
    secretKey = randomBytes(32).toString('base64'),
  }: Pick<TestEnvironmentOptions<Registry>, 'store' | 'secretKey'>,
): StoreOptions {
  return { database: join(folder, 'threads.db'), blobs: join(folder, 'blobs'), ...store, secretKey }
}

function serverOptions(server: TestWorkflowEnvironment): Partial<WorkerOptions> {
  return {
    connection: server.nativeConnection,
    namespace: server.namespace ?? 'default',
    // The time-skipping server waits for ever for the cache of a worker that has ended.
    ...(server.supportsTimeSkipping && { maxCachedWorkflows: 0 }),
  }
}

/**
 * Ends the server of an environment with this process, even if the environment is never closed or the process is killed; the
 * SDK would leave the server running. Without `ps` and `sh` the server stays. Returns a function that stops the watch.
 */
export async function endWithProcess(server: TestWorkflowEnvironment): Promise<() => Promise<void>> {
  const pid = await childOfPort(portOf(server))
  const unwatch = pid === undefined ? () => undefined : endWithThisProcess(pid)
  return async () => unwatch()
}

function portOf(server: TestWorkflowEnvironment): string {
  return server.address.split(':').at(-1) ?? ''
}

/** The SDK does not expose its server's process: it is the child of this process that has the port as an argument. */
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

/** Creates the client of a test; its threads continue as new after every step, if the test wants that. */
function testThreads<R extends Registry>(options: TestThreads): ThreadClient<R> {
  const { continueAsNewEveryStep, timeSkipping, ...connection } = options
  return new TestThreadClient<R>(connection, { continueAsNewEveryStep, timeSkipping })
}

/** Leaves out the notice of a slow answer: the kit runs the worker itself, and a passing test needs no notice of it. */
const warnInTests: OnNotice = (notice) => {
  if (notice.code !== 'no_answer') warnOfNotice(notice)
}

class TestThreadClient<R extends Registry> extends ThreadClient<R> {
  readonly #mode: Pick<TestThreads, 'continueAsNewEveryStep' | 'timeSkipping'>

  constructor(
    connection: ConstructorParameters<typeof ThreadClient>[0],
    mode: Pick<TestThreads, 'continueAsNewEveryStep' | 'timeSkipping'>,
  ) {
    super({ ...connection, onNotice: warnInTests })
    this.#mode = mode
    // On that server a stop that meets the end of an activity blocks its thread (temporalio/sdk-java#2391). So the activity hears of
    // it from the workflow, which has cancelled it by then.
    if (mode.timeSkipping) Object.assign(contextOf(this), { storesStops: false })
  }

  override create(options: Parameters<ThreadClient<R>['create']>[0]): ReturnType<ThreadClient<R>['create']> {
    if (!this.#mode.continueAsNewEveryStep) return super.create(options)
    return super.create({ ...options, limits: { ...options.limits, historyEvents: 0 } })
  }

  override get(threadId: string): ThreadHandle<R> {
    const thread = super.get(threadId)
    if (!this.#mode.timeSkipping) return thread
    const respond = thread.respond.bind(thread)
    // Changes the handle in place, because a copy would lose its getters.
    return Object.assign(thread, {
      respond: (...given: Parameters<typeof respond>) => nudgeUntilDone(thread, () => respond(...given)),
    })
  }
}

/** Short, but longer than an Update that is delivered at once takes. */
const NUDGE_AFTER = 300

/**
 * The time-skipping server delivers an Update to a worker without a cache again and again, and Temporal's core passes it on
 * only with a new event. The signal is such an event: it stops a run that does not exist, so it changes nothing.
 */
async function nudgeUntilDone<T>(thread: ThreadHandle, work: () => Promise<T>): Promise<T> {
  const nudge = (): void => {
    // Fails for a thread that has closed, which needs no nudge.
    thread.workflow.signal(SIGNALS.stop, { runId: 'none' }).catch(() => undefined)
  }
  const timer = setInterval(nudge, NUDGE_AFTER)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

interface TestWorkerOptions extends Pick<
  ThreadWorker,
  'permissions' | 'permissionMode' | 'policy' | 'approval' | 'budgets' | 'prices' | 'rateLimits'
> {
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
  const { temporal: ownOptions, ...thread } = options
  const given = withoutUndefined(ownOptions)
  const ownCode = given.workflowsPath !== undefined || given.workflowBundle !== undefined
  const temporal: WorkerOptions = {
    // No grace time, because a restart stands for a crash. A tool that ignores its abort signal must not block the test.
    shutdownGraceTime: 0,
    shutdownForceTime: '5s',
    ...(!ownCode && { workflowBundle: await threadBundle() }),
    ...given,
    plugins: [threadBundler, ...(given.plugins ?? [])],
  }
  await listWorkerAgents(thread)
  const gate = createAheadGate()
  const { mayRunAhead } = gate
  const worker = await Worker.create(threadWorkerOptions({ ...thread, mayRunAhead }, temporal))
  gate.watch(worker)
  const ended = worker.run().catch((error: unknown) => {
    if (!isForcedShutdown(error)) throw error
  })
  // `stop` reports a failed worker; until then the rejection must not count as unhandled.
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
