import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { MockActivityEnvironment } from '@temporalio/testing'
import { DefaultLogger } from '@temporalio/worker'
import type { ActivityInterceptorsFactory } from '@temporalio/worker'
import { z } from 'zod'

import { callModel } from '../../src/activities/call-model/call-model.js'
import type { ActivityDependencies } from '../../src/activities/dependencies.js'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import type { ThreadState, ToolCall, ToolResult } from '../../src/index.js'
import type { LanguageModel } from '../../src/model/language-model.js'
import { LEVEL } from '../../src/protocol/activities.js'
import type { CallModelAnswer, CallModelInput, ExecuteToolInput } from '../../src/protocol/activities.js'
import type { AnyHook } from '../../src/definitions/hook.js'
import type { Registry } from '../../src/definitions/registry.js'
import type { Message } from '../../src/protocol/message.js'
import { readEvents } from '../../src/store/events.js'
import { listMessages } from '../../src/store/read-messages.js'
import { stageMessage } from '../../src/store/stage-message.js'
import { StoreError } from '../../src/store/store-error.js'
import { openStore } from '../../src/store/store.js'
import type { Store } from '../../src/store/store.js'
import { insertThread } from '../../src/store/threads.js'
import { scriptedModel } from '../../src/testing/index.js'
import { runCaps } from '../../src/worker/run-caps.js'

/** Milliseconds of the workflow in these tests; the store has microseconds. */
export const NOW = 1_763_767_000_000

type Work = (
  state: ThreadState,
  args: Record<string, unknown>,
  call: ToolCall,
) => ToolResult | Promise<ToolResult>

export interface DeskParts {
  readonly chat?: LanguageModel
  readonly work?: Work
  /** Of the prompt. */
  readonly memory?: { readonly includeChat: boolean; readonly includePastTools: boolean }
  /** Listed by the prompt, in this order. */
  readonly hooks?: readonly AnyHook[]
}

/** The same definitions with hooks that each prompt lists. */
function withHooks(made: Registry, hooks: readonly AnyHook[]): Registry {
  return {
    ...made,
    hook: (id) => hooks.find((hook) => hook.id === id),
    prompt(name) {
      const prompt = made.prompt(name)
      return prompt && { ...prompt, hooks: hooks.map(({ id }) => id) }
    },
  }
}

const SUBAGENT = { initUserMessageProperty: 'task', initAttachmentsProperty: 'files' } as const
const paths = z.union([z.string(), z.array(z.string())]).optional()

/** One agent with a tool of each kind, and a subagent. */
function deskRegistry({ chat = scriptedModel([]), work = () => ({ status: 'success' }), memory }: DeskParts) {
  const execute = work as never
  const see = memory ?? { includeChat: true, includePastTools: true }
  const session = { messageProperty: 'summary', attachmentsProperty: 'files' } as const
  return registry({
    models: [
      defineModel({
        name: 'chat',
        provider: { languageModel: () => chat },
        model: 'm',
        inputPrice: 1,
        outputPrice: 2,
      }),
    ],
    prompts: [
      definePrompt({
        name: 'clerk',
        toolDescription: 'Answers',
        prompt: 'You are the clerk.',
        model: 'chat',
        ...see,
        requiredSchema: z.object({ task: z.string(), files: paths }),
        tools: ['work', 'again', 'slow', 'close_case', 'give_up', { name: 'pair', ...SUBAGENT }],
      }),
    ],
    agents: [
      defineAgent({
        name: 'clerk',
        sideA: {
          prompt: 'clerk',
          sessionStop: { name: 'close_case', ...session },
          sessionFail: { name: 'give_up', ...session },
        },
      }),
      defineAgent({
        name: 'pair',
        type: 'dual_ai',
        exposeAsTool: true,
        toolDescription: 'Two who talk',
        maxSessionTurns: 4,
        sideA: { prompt: 'clerk', sessionStop: 'close_case' },
        sideB: { prompt: 'clerk' },
      }),
    ],
    tools: {
      work: defineTool({
        description: 'Works',
        args: z.object({ task: z.string().default('none') }),
        execute,
      }),
      again: defineTool({ description: 'Works again', idempotent: true, execute }),
      slow: defineTool({ description: 'Takes too long', timeout: 50, execute }),
      close_case: defineTool({
        description: 'Closes',
        args: z.object({ summary: z.string().optional(), files: paths }),
        execute,
      }),
      give_up: defineTool({
        description: 'Gives up',
        args: z.object({ summary: z.string().optional(), files: paths }),
        execute,
      }),
    },
  })
}

export interface ActivityDesk {
  readonly store: Store
  readonly dependencies: ActivityDependencies
  /** The same thread on a worker with other definitions; hooks stay unless others are given. */
  with(parts: DeskParts): ActivityDependencies
  /** Accepts messages of the thread `t`; their ids. */
  send(...texts: readonly string[]): Promise<readonly string[]>
  transcript(threadId?: string): Promise<readonly Message[]>
  events(
    threadId?: string,
  ): Promise<readonly { readonly type: string; readonly payload: Readonly<Record<string, unknown>> }[]>
}

/** Runs `work` with an open thread `t` in a store of its own. */
export async function withDesk(parts: DeskParts, work: (desk: ActivityDesk) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-activities-'))
  const store = await openStore({ database: join(folder, 'threads.db'), blobs: join(folder, 'blobs') })
  const caps = runCaps()
  let sent = 0
  try {
    await store.write((tx) => insertThread(tx, { id: 't', agent: 'clerk', created_at: NOW * 1000 }))
    await work({
      store,
      dependencies: { store, caps, registry: withHooks(deskRegistry(parts), parts.hooks ?? []) },
      with: (other) => ({
        store,
        caps,
        registry: withHooks(deskRegistry(other), other.hooks ?? parts.hooks ?? []),
      }),
      async send(...texts) {
        const ids = texts.map(() => `m${(sent += 1)}`)
        await store.write(async (tx) => {
          for (const [index, content] of texts.entries())
            await stageMessage(tx, {
              id: ids[index] ?? '',
              threadId: 't',
              role: 'user',
              content,
              createdAt: NOW * 1000,
              sentBy: 'client',
              digest: content,
            })
        })
        return ids
      },
      transcript: async (threadId = 't') =>
        (await store.read((db) => listMessages(db, { threadId, limit: 1000, includeSilent: true }))).messages,
      events: (threadId = 't') => store.read((db) => readEvents(db, { threadId, after: 0, limit: 1000 })),
    })
  } finally {
    await store.close()
    await rm(folder, { recursive: true, force: true })
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
  return new MockActivityEnvironment(
    { workflowExecution: { workflowId: 't', runId: 'r' }, heartbeatTimeoutMs: 30_000, ...info },
    // Attempts fail on purpose here.
    { interceptors, logger: new DefaultLogger('ERROR', () => undefined) },
  )
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

/** A call that a model chose in a step of its side. */
export const PLAIN_CALL = {
  promptPath: ['clerk'],
  depth: 0,
  queued: false,
  handedOff: false,
  response: null,
} as const

/** Calls that a model has made in step 1, as the workflow gives them to the next activities. */
export async function madeCalls(
  desk: ActivityDesk,
  calls: readonly { readonly name: string; readonly args?: unknown }[],
  text?: string,
): Promise<readonly ExecuteToolInput[]> {
  const chat = scriptedModel([{ toolCalls: calls, ...(text === undefined ? {} : { text }) }])
  const drain = drainOf(await desk.send('Please.'))
  const answer = await runModel(desk.with({ chat }), modelInput({ drain }))
  if (answer.type !== 'answered') throw new Error(`Expected an answer, got ${answer.type}.`)
  const plan = answer.plan?.digest ?? ''
  return answer.calls.map(({ id, name }, index) => ({
    ...modelInput(),
    plan,
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
  return {
    ...store,
    read: (work) => store.read(work),
    write: (work) => {
      writes += 1
      if (fails(writes)) return Promise.reject(new StoreError('unavailable', 'The disk is full.'))
      return store.write(work)
    },
    changed: () => store.changed(),
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
