/**
 * T10 end to end: whatever comes from outside ends in a named error or in a recorded skip, no thread is wedged, and a
 * message that is well formed is answered afterwards. `EVERTHREAD_HOSTILE_INPUTS` says how many inputs there are in all.
 */
import { randomUUID } from 'node:crypto'
import { WorkflowFailedError } from '@temporalio/client'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import type { ThreadHandle } from '../../src/client/index.js'
import { ConfigError, ThreadError } from '../../src/protocol/errors.js'
import { failureTypes } from '../../src/protocol/failures.js'
import { createThreadApp } from '../../src/server/index.js'
import { FileError } from '../../src/store/files/file-checks.js'
import { StoreError } from '../../src/store/store-error.js'
import { assertReplays } from '../../src/testing/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { fetchHistories } from '../../src/testing/record-histories.js'
import type { FetchedRun } from '../../src/testing/record-histories.js'
import { eachOf } from '../support/each-of.js'
import { searchForContent } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { signalRaw, startRaw, updateRaw } from '../support/raw-messages.js'
import { testEnvironment } from '../support/test-store.js'
import { factsOf } from '../support/thread-facts.js'
import { until } from '../support/until.js'
import { createHostileScripts, expectHealthy, hostileDesk } from './hostile-desk.js'
import { hostileFile } from './hostile-files.js'
import { hostileStream } from './hostile-models.js'
import type { HostileStream } from './hostile-models.js'
import { hostileRequest } from './hostile-requests.js'
import { hostileTool } from './hostile-results.js'
import { countOf, countOutcomes, inputGroups } from './hostile-run.js'
import type { Numbered } from './hostile-run.js'
import { hostileSignal } from './hostile-signals.js'
import { hostileCreation, hostileStart } from './hostile-starts.js'
import { hostileUpdate } from './hostile-updates.js'
import { TRAP } from './hostile-values.js'

/** Of `WorkflowTaskFailedCause`. */
const UNHANDLED_COMMAND = 1
const HOURS = 60 * 60_000
const scripts = createHostileScripts()
let env: TestEnvironment<typeof hostileDesk>

beforeAll(async () => {
  const { models, tools } = scripts
  const worker = { workflowBundle: { codePath: inject('workflowBundlePath') } }
  env = await testEnvironment({ registry: hostileDesk, models, tools, worker, server: 'dev' })
})
afterAll(() => env.close())

/** States in which a thread may be when something comes. */
const STATES = ['idle', 'stopped', 'waiting', 'holding'] as const
type State = (typeof STATES)[number]

async function threadIn(state: State): Promise<ThreadHandle> {
  const id = `${state}-${randomUUID()}`
  if (state === 'idle') return env.threads.create({ agent: 'desk', id })
  const message = marked(state === 'waiting' ? 'guarded' : 'hold')
  const thread = await env.threads.create({ agent: 'desk', id, message })
  const doing = async (): Promise<boolean> =>
    (await thread.snapshot()).run?.doing?.startsWith('tool') === true
  const asks = async (): Promise<boolean> => (await thread.snapshot()).pending.length === 1
  await until(state, state === 'waiting' ? asks : doing, 60_000, 50)
  if (state !== 'stopped') return thread
  await thread.send(marked('behind the stop'))
  await thread.stop()
  await thread.waitUntilIdle()
  return thread
}

/** What the thread was at is done once, and then it answers. */
async function goOn(thread: ThreadHandle, state: State): Promise<void> {
  if (state === 'holding') scripts.release(thread.threadId)
  if (state === 'waiting') await thread.respond('approval_call_1_1_0', { approved: true })
  await expectHealthy(thread)
}

test('T10 hostile signals are recorded and skipped', { timeout: HOURS }, async () => {
  const outcomes = countOutcomes('signals')
  await eachOf(inputGroups('signals', 30, hostileSignal), async (inputs, index) => {
    const state = STATES[index % STATES.length] ?? 'idle'
    const thread = await threadIn(state)
    let sent = 0
    for (const { input } of inputs) {
      const sending = signalRaw(env.threads.temporal, { threadId: thread.threadId, ...input })
      const refused = await sending.then(() => null, refusedBy)
      if (refused === null) sent += 1
      else outcomes.count(refused)
    }
    await goOn(thread, state)
    const warned = await warnings(thread)
    if (warned !== sent)
      throw new Error(
        `Expected ${sent} recorded skips of the inputs from ${inputs[0]?.number} on (${state}), got ${warned}.`,
      )
    for (let skip = 0; skip < warned; skip += 1) outcomes.count('recorded skip')
  })
  expect(outcomes.tell()).toBe(countOf('signals'))
})

test('T10 hostile updates are refused by name', { timeout: HOURS }, async () => {
  const outcomes = countOutcomes('updates')
  await eachOf(inputGroups('updates', 20, hostileUpdate), async (inputs, index) => {
    const state = STATES[index % STATES.length] ?? 'idle'
    const thread = await threadIn(state)
    for (const { number, input } of inputs) {
      const sending = updateRaw(env.threads.temporal, { threadId: thread.threadId, ...input })
      const refused = await sending.catch(refusedBy)
      if (refused === null) throw new Error(`Expected update ${number} to be refused, got an answer.`)
      outcomes.count(refused)
    }
    await goOn(thread, state)
  })
  expect(outcomes.tell()).toBe(countOf('updates'))
})

test('T10 hostile starts fail by name, and others start', { timeout: HOURS }, async () => {
  const outcomes = countOutcomes('starts')
  const { temporal } = env.threads
  const make = (random: Parameters<typeof hostileStart>[0]) =>
    random.chance(0.5) ? { raw: hostileStart(random) } : { options: hostileCreation(random) }
  await eachOf(inputGroups('starts', 10, make), async (inputs) => {
    for (const { number, input } of inputs) {
      const threadId = `start-${number}-${randomUUID()}`
      if ('raw' in input) {
        await startRaw(temporal, { threadId, taskQueue: env.taskQueue, input: input.raw })
        outcomes.count(await resultOf(threadId))
      } else outcomes.count(await named(number, () => env.threads.create(input.options as never)))
    }
    await expectHealthy(await env.threads.create({ agent: 'desk' }))
  })
  expect(outcomes.tell()).toBe(countOf('starts'))
})

test('T10 hostile answers of models end in an answer or a failure', { timeout: HOURS }, async () => {
  const outcomes = countOutcomes('answers')
  const taken = async (inputs: readonly Numbered<HostileStream>[]): Promise<void> => {
    const threadId = `answers-${randomUUID()}`
    const left = inputs.map(({ input }) => input)
    scripts.streams.set(threadId, left)
    const thread = await env.threads.create({ agent: 'desk', id: threadId })
    while (left.length > 0) await turn(thread, 'go', inputs[0]?.number)
    await expectHealthy(thread)
    await expectPaired(thread)
    const types = (await factsOf(thread)).map(({ type }) => type)
    const failed = types.filter((type) => type === 'model.failed').length
    for (const index of inputs.keys()) outcomes.count(index < failed ? 'named failure' : 'answer')
  }
  // Megabytes and hundreds of calls: side by side they wait for the processor, and no turn ends in its time.
  await eachOf(inputGroups('answers', 15, hostileStream), taken, 3)
  expect(outcomes.tell()).toBe(countOf('answers'))
})

test('T10 hostile tools have one result each', { timeout: HOURS }, async () => {
  const outcomes = countOutcomes('results')
  await eachOf(inputGroups('results', 20, hostileTool), async (inputs) => {
    const threadId = `results-${randomUUID()}`
    const left = inputs.map(({ input }) => input)
    scripts.odd.set(threadId, left)
    const thread = await env.threads.create({ agent: 'desk', id: threadId })
    while (left.length > 0) await turn(thread, 'odd', inputs[0]?.number)
    await expectHealthy(thread)
    const results = await expectPaired(thread)
    expect(results.length).toBeGreaterThanOrEqual(inputs.length)
    for (const status of results.slice(0, inputs.length)) outcomes.count(status)
  })
  expect(outcomes.tell()).toBe(countOf('results'))
})

test('T10 hostile files and messages are refused by name', { timeout: HOURS }, async () => {
  const outcomes = countOutcomes('files')
  await eachOf(inputGroups('files', 20, hostileFile), async (inputs) => {
    const thread = await env.threads.create({ agent: 'desk' })
    for (const { number, input } of inputs) outcomes.count(await named(number, () => input(thread)))
    await expectHealthy(thread)
    for (const { path, isDirectory } of (await thread.readdirFile('/')).entries)
      if (!isDirectory) expect(await thread.readFile(path)).not.toBeNull()
  })
  expect(outcomes.tell()).toBe(countOf('files'))
})

test('T10 hostile HTTP requests are answered with a status', { timeout: HOURS }, async () => {
  const outcomes = countOutcomes('bodies')
  const token = 'token-of-a-hostile-caller'
  const app = createThreadApp({
    ...{ client: env.threads as never, tokens: [{ token }], rateLimit: false, log: () => undefined },
  })
  const targets = new Map<number, ThreadHandle>()
  await eachOf(
    inputGroups('bodies', 30, (random) => random),
    async (inputs, index) => {
      const thread = await env.threads.create({ agent: 'desk', id: `bodies-${index}-${randomUUID()}` })
      targets.set(index, thread)
      for (const { number, input } of inputs) {
        const { path, method, headers, body } = hostileRequest(input, thread.threadId)
        const request = {
          method,
          headers: { ...headers, authorization: `Bearer ${token}` },
          ...(body !== undefined && { body }),
        }
        const response = await app.request(path, request as RequestInit)
        const text = await response.text()
        const told = `request ${number}, ${method} ${path.slice(0, 80)}: ${response.status} ${text.slice(0, 300)}`
        if (response.status >= 500) throw new Error(`Expected an answer below 500 to ${told}`)
        if (response.status >= 400 && !isNamed(text)) throw new Error(`Expected a named error for ${told}`)
        outcomes.count(String(response.status))
      }
      await expectHealthy(thread)
    },
  )
  expect(outcomes.tell()).toBe(countOf('bodies'))
})

test('T10 no workflow task has failed, and all of it replays', { timeout: HOURS }, async () => {
  const { workflow } = env.threads.temporal
  const ids = new Set<string>()
  for await (const { workflowId } of workflow.list({ query: `TaskQueue = '${env.taskQueue}'` }))
    ids.add(workflowId)
  expect(ids.size).toBeGreaterThan(20)
  const failing: string[] = []
  const leaking: string[] = []
  const recorded = async function* (): AsyncGenerator<FetchedRun> {
    for (const id of ids) {
      const histories = await fetchHistories(workflow, id)
      for (const { history } of histories)
        for (const { workflowTaskFailedEventAttributes: failed } of history.events ?? [])
          // Something came while it continued as new: Temporal's server has it done again.
          if (failed != null && failed.cause !== UNHANDLED_COMMAND)
            failing.push(`${id}: ${String(failed.cause)} ${failed.failure?.message}`)
      // T5: what tools, models and callers bring is in no history; a raw signal may carry its content, by choice.
      if (/^(answers|results|bodies)-/.test(id)) leaking.push(...searchForContent(histories).leaks)
      yield* histories
    }
  }
  const runs = await assertReplays(recorded(), { workflowBundle: { codePath: inject('workflowBundlePath') } })
  expect(failing).toEqual([])
  expect(leaking).toEqual([])
  // What no code foresaw would be tried again, and may come to another outcome.
  expect(await unforeseen()).toEqual([])
  process.stdout.write(`hostile: ${ids.size} threads, ${runs} runs replayed, no failed workflow task\n`)
})

/** Errors of activities that have no name of ours: only those have a UUID as their id. */
async function unforeseen(): Promise<readonly string[]> {
  const rows = await env.store.read((db) => db.selectFrom('errors').selectAll().execute())
  return rows
    .filter(({ id }) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(id))
    .map(({ type, message, stack }) => `${type}: ${message} ${stack?.split('\n').slice(0, 4).join(' ')}`)
}

/** Sends and waits; a run that fails is one that ends. */
async function turn(thread: ThreadHandle, text: string, number = 0): Promise<void> {
  await thread.send(marked(text))
  await thread.waitUntilIdle({ timeout: '60 seconds' }).catch((error: unknown) => {
    throw new Error(`Expected the inputs from ${number} on to be done with.`, { cause: error })
  })
}

/** What Temporal's own server says of what its protocol does not take. */
function refusedBy(error: unknown): string {
  const { code } = error as { readonly code?: unknown }
  if (typeof code === 'number') return `refused by Temporal (${code})`
  throw error
}

async function resultOf(threadId: string): Promise<string> {
  try {
    await env.threads.temporal.workflow.getHandle(threadId).result()
  } catch (error) {
    const [type] = failureTypes(error)
    if (error instanceof WorkflowFailedError && type !== undefined) return type
    throw error
  }
  throw new Error(`Expected the start of ${threadId} to fail, got an end.`)
}

/** The name of the error, or "done". */
async function named(number: number, work: () => Promise<unknown>): Promise<string> {
  try {
    await work()
    return 'done'
  } catch (error) {
    if (ThreadError.isInstance(error) || FileError.isInstance(error) || StoreError.isInstance(error))
      return error.code
    if (ConfigError.isInstance(error)) return 'ConfigError'
    if (error instanceof Error && error.message === TRAP) return "the caller's own error"
    throw new Error(`Expected input ${number} to end in a named error, got ${String(error)}.`, {
      cause: error,
    })
  }
}

function isNamed(text: string): boolean {
  try {
    const { error } = JSON.parse(text) as {
      error?: { code?: unknown; message?: unknown; requestId?: unknown }
    }
    return [error?.code, error?.message, error?.requestId].every((value) => typeof value === 'string')
  } catch {
    return false
  }
}

async function warnings(thread: ThreadHandle): Promise<number> {
  const facts = (await factsOf(thread)).filter(({ type }) => type === 'runtime.warning')
  return facts.reduce((sum, { payload }) => sum + Number((payload as { count?: number }).count ?? 1), 0)
}

/** Every call has one result, and every result its call. @returns what became of the calls of "odd" */
async function expectPaired(thread: ThreadHandle): Promise<readonly string[]> {
  const { messages } = await thread.messages({ includeSilent: true, limit: 500 })
  const calls = messages.flatMap(({ tool_calls: given }) =>
    given === null ? [] : (JSON.parse(given) as { id: string }[]).map(({ id }) => id),
  )
  const results = messages.filter(({ tool_call_id: id }) => id !== null)
  expect(results.map(({ tool_call_id: id }) => String(id)).toSorted()).toEqual(calls.toSorted())
  return results.filter(({ name }) => name === 'odd').map(({ tool_status: status }) => String(status))
}
