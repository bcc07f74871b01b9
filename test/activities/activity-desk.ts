import { MockActivityEnvironment } from '@temporalio/testing'
import { DefaultLogger } from '@temporalio/worker'
import type { ActivityInterceptorsFactory } from '@temporalio/worker'
import { expect } from 'vitest'
import type { ActivityDependencies } from '../../src/activities/activity.js'
import { completeCall } from '../../src/activities/tool/complete-call.js'
import { executeTool } from '../../src/activities/tool/execute-tool.js'
import { callModel } from '../../src/activities/turn/call-model.js'
import type {
  CallModelAnswer,
  CallModelInput,
  CompleteCallAnswer,
  CompleteCallInput,
  Completion,
  ExecuteToolAnswer,
  ExecuteToolInput,
} from '../../src/protocol/activities.js'
import { ACTIVITIES, answerProblem, LEVEL } from '../../src/protocol/answer-problem.js'
import type { Message } from '../../src/protocol/message.js'
import { answerRequest, findRequest } from '../../src/store/calls/requests.js'
import type { Decision, PendingRecord } from '../../src/store/calls/requests.js'
import { readEvents } from '../../src/store/events.js'
import { stageMessage } from '../../src/store/messages/message-writes.js'
import { listMessages } from '../../src/store/messages/transcript.js'
import { StoreError } from '../../src/store/store-error.js'
import type { Store } from '../../src/store/store.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { scriptedModel } from '../../src/testing/index.js'
import { runCaps } from '../../src/definitions/plan/build-plan.js'
import { allEventProblems } from '../support/event-shapes.js'
import { withStore } from '../support/temporary-store.js'
import { deskRegistry } from './desk-registry.js'
import type { DeskParts } from './desk-registry.js'

/** Milliseconds of the workflow in these tests; the store has microseconds. */
export const NOW = 1_763_767_000_000

export interface ActivityDesk {
  readonly store: Store
  /** Where its bytes are. */
  readonly blobFolder: string
  readonly dependencies: ActivityDependencies
  /** The same thread on a worker with other definitions; hooks stay unless others are given. */
  with(parts: DeskParts): ActivityDependencies
  /** Accepts messages of the thread `t`; their ids. */
  send(...texts: readonly string[]): Promise<readonly string[]>
  transcript(threadId?: string): Promise<readonly Message[]>
  events(threadId?: string): Promise<readonly { readonly type: string; readonly payload: Payload }[]>
  /** The events of these types, each by its payload. */
  told(...types: readonly string[]): Promise<readonly Payload[]>
  /** Calls that the model has made in step 1, as the workflow gives them to the next activities. */
  calls(made: readonly MadeCall[], text?: string): Promise<readonly ExecuteToolInput[]>
  /** The one call that the model has made in step 1. */
  call(name: string, args?: unknown): Promise<ExecuteToolInput>
  /** One attempt at a call. */
  run(input: ExecuteToolInput, dependencies?: ActivityDependencies): Promise<ExecuteToolAnswer>
  complete(input: ExecuteToolInput, by: Completion): Promise<CompleteCallAnswer>
  /** What a client writes before it tells the workflow; what came of it. */
  decide(id: string, decision: Partial<Decision>): Promise<string>
  request(id: string): Promise<PendingRecord | null>
}

type Payload = Readonly<Record<string, unknown>>

interface MadeCall {
  readonly name: string
  /** @default none */
  readonly args?: unknown
}

/** Runs `work` with an open thread `t` of the agent `clerk` in a store of its own. */
export async function withDesk(parts: DeskParts, work: (desk: ActivityDesk) => Promise<void>): Promise<void> {
  const { secretKey } = parts
  await withStore(
    async (store, blobFolder) => {
      await store.write((tx) => insertThread(tx, { id: 't', agent: 'clerk', created_at: NOW * 1000 }))
      await work(deskOf({ store, blobFolder }, parts))
      expect(await allEventProblems(store)).toEqual([])
    },
    secretKey === undefined ? {} : { secretKey },
  )
}

function deskOf(
  { store, blobFolder }: Pick<ActivityDesk, 'store' | 'blobFolder'>,
  parts: DeskParts,
): ActivityDesk {
  const caps = runCaps()
  const { hooks = [] } = parts
  const worker = (other: DeskParts): ActivityDependencies => {
    return { store, caps, registry: deskRegistry({ hooks, ...other }) }
  }
  const dependencies = worker(parts)
  const send = sender(store)
  const events: ActivityDesk['events'] = (threadId = 't') =>
    store.read((db) => readEvents(db, { threadId, after: 0, limit: 1000 }))
  const calls: ActivityDesk['calls'] = async (toolCalls, text) => {
    const chat = scriptedModel([{ toolCalls, ...(text !== undefined && { text }) }])
    const drain = drainOf(await send('Please.'))
    return callsOf(await runModel(worker({ ...parts, chat }), modelInput({ drain })))
  }
  return {
    store,
    blobFolder,
    dependencies,
    with: worker,
    send,
    events,
    transcript: async (threadId = 't') =>
      (await store.read((db) => listMessages(db, { threadId, limit: 1000, includeSilent: true }))).messages,
    told: async (...types) =>
      (await events()).filter(({ type }) => types.includes(type)).map(({ payload }) => payload),
    calls,
    async call(name, args = {}) {
      const [input] = await calls([{ name, args }])
      if (input === undefined) throw new Error('Expected a call.')
      return input
    },
    run: (input, on = dependencies) => runTool(on, input),
    complete: (input, by) =>
      attempt().run((given: CompleteCallInput) => completeCall(dependencies, given), { ...input, by }),
    decide: (id, decision) =>
      store.write((tx) => answerRequest(tx, { threadId: 't', id, now: NOW * 1000, ...decision })),
    request: (id) => store.read((db) => findRequest(db, 't', id)),
  }
}

function sender(store: Store): ActivityDesk['send'] {
  let sent = 0
  return async (...texts) => {
    const ids = texts.map(() => `m${(sent += 1)}`)
    const base = { threadId: 't', role: 'user', createdAt: NOW * 1000, sentBy: 'client' } as const
    await store.write(async (tx) => {
      for (const [index, content] of texts.entries())
        await stageMessage(tx, { ...base, id: ids[index] ?? '', content, digest: content })
    })
    return ids
  }
}

/** The input of a model call: the first step of run 1, unless something else is given. */
export function modelInput(patch: Partial<CallModelInput> = {}): CallModelInput {
  return {
    level: LEVEL,
    threadId: 't',
    now: NOW,
    run: 1,
    facts: [],
    step: 1,
    side: 'a',
    agent: 'clerk',
    plan: null,
    toolFirst: false,
    frame: null,
    knownPlan: null,
    trigger: 'message',
    asked: false,
    activated: true,
    sideStarts: true,
    wordless: false,
    drain: [],
    start: null,
    createdAt: NOW,
    ...patch,
  }
}

export function drainOf(ids: readonly string[]): CallModelInput['drain'] {
  return ids.map((id) => ({ kind: 'message', id }))
}

/** One attempt of an activity, as a worker would run it. */
export function attempt(
  info: ConstructorParameters<typeof MockActivityEnvironment>[0] = {},
  interceptors: ActivityInterceptorsFactory[] = [],
): MockActivityEnvironment {
  const environment = new MockActivityEnvironment(
    { workflowExecution: { workflowId: 't', runId: 'r' }, heartbeatTimeoutMs: 30_000, ...info },
    // Attempts fail on purpose here.
    { interceptors, logger: new DefaultLogger('ERROR', () => undefined) },
  )
  const run = environment.run.bind(environment)
  environment.run = (async (work: never, ...args: never[]) => {
    const answer = await run(work, ...args)
    assertAnswer(answer)
    return answer
  }) as typeof environment.run
  return environment
}

const ASKED = { level: 1, threadId: 't', now: 1, run: 1, facts: [], knownPlan: 'known' }

/** W1: what an activity answers, the guard of answers lets pass. */
function assertAnswer(answer: unknown): void {
  if (typeof answer !== 'object' || answer === null || !('type' in answer)) return
  const names = Object.keys(ACTIVITIES) as (keyof typeof ACTIVITIES)[]
  const sent: unknown = JSON.parse(JSON.stringify(answer))
  const problems = names.map((name) => answerProblem(name, sent, ASKED))
  expect(problems, JSON.stringify(sent)).toContain(undefined)
}

/** One attempt that keeps what it logs for operators. */
export function loggingAttempt(
  info: ConstructorParameters<typeof MockActivityEnvironment>[0] = {},
  interceptors: ActivityInterceptorsFactory[] = [],
): {
  readonly environment: MockActivityEnvironment
  readonly logged: readonly string[]
  /** With their fields. */
  readonly lines: readonly Readonly<Record<string, unknown>>[]
} {
  const logged: string[] = []
  const lines: Readonly<Record<string, unknown>>[] = []
  const logger = new DefaultLogger('WARN', ({ message, meta }) => {
    logged.push(message)
    lines.push({ message, ...meta })
  })
  return { environment: new MockActivityEnvironment(info, { interceptors, logger }), logged, lines }
}

/** A definition that is missing is waited for a minute: this attempt comes after it. */
export const AFTER_A_MINUTE = { scheduledTimestampMs: 1, currentAttemptScheduledTimestampMs: 60_001 }

export function runModel(
  dependencies: ActivityDependencies,
  input: CallModelInput,
  environment = attempt(),
): Promise<CallModelAnswer> {
  return environment.run((given: CallModelInput) => callModel(dependencies, given), input)
}

/** One attempt at a tool call. */
export function runTool(
  dependencies: ActivityDependencies,
  input: ExecuteToolInput,
  environment = attempt(),
): Promise<ExecuteToolAnswer> {
  return environment.run((given: ExecuteToolInput) => executeTool(dependencies, given), input)
}

/** A call that a model chose in a step of its side. */
export const PLAIN_CALL = {
  promptPath: ['clerk'],
  depth: 0,
  queued: false,
  handedOff: false,
  response: null,
} as const

function callsOf(answer: CallModelAnswer): readonly ExecuteToolInput[] {
  if (answer.type !== 'answered') throw new Error(`Expected an answer, got ${answer.type}.`)
  return answer.calls.map(({ id, name }, index) => ({
    ...modelInput(),
    plan: answer.plan?.digest ?? '',
    callId: id,
    name,
    ...PLAIN_CALL,
    sideSteps: { a: 1, b: 0 },
    first: index === 0,
    last: index === answer.calls.length - 1,
  }))
}

/** A store that fails some of its writes: those for which `fails` says so, counted from 1. */
export function failingStore(
  store: Store,
  fails: (write: number) => boolean,
): Store & { readonly writes: number } {
  let writes = 0
  const counted = <T>(write: () => Promise<T>): Promise<T> => {
    writes += 1
    if (fails(writes)) return Promise.reject(new StoreError('unavailable', 'The disk is full.'))
    return write()
  }
  return {
    ...store,
    read: (work) => store.read(work),
    write: (work) => counted(() => store.write(work)),
    writeLocked: (work) => counted(() => store.writeLocked(work)),
    close: () => store.close(),
    get writes() {
      return writes
    },
  }
}

/** The failure of an attempt that must fail. */
export async function failureOf(
  running: Promise<unknown>,
): Promise<Error & { readonly type?: string; readonly nonRetryable?: boolean }> {
  const error: unknown = await running.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof Error) return error
  throw new Error('Expected the attempt to fail, got an answer.')
}
