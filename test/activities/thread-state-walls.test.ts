/**
 * Facts of the four states that user code gets: its own thread's (in a call, and guarded for one hook or tool), that of a
 * relative, that of an endpoint, and that of a subagent that has not started. For each member: what is allowed, and what
 * is refused with which error.
 */
import { expect, test } from 'vitest'

import { guardState } from '../../src/activities/hooks/guarded-state.js'
import { prepareChild } from '../../src/activities/subagents/prepare-child.js'
import { openEndpointState } from '../../src/activities/thread-state/endpoint-state.js'
import type { EndpointState } from '../../src/activities/thread-state/endpoint-state.js'
import type { ThreadState } from '../../src/definitions/thread-state.js'
import { defineHook } from '../../src/index.js'
import type { ThreadOperation } from '../../src/protocol/operations.js'
import { LIMITS } from '../../src/protocol/limits.js'
import { ThreadTerminatedError } from '../../src/protocol/errors.js'
import { updateChild } from '../../src/store/threads/children.js'
import { updateThread } from '../../src/store/threads/threads.js'
import { attempt, withDesk } from './activity-desk.js'
import type { TestThread } from './buffered-call.js'
import { childOf, withFamily } from './family-call.js'
import { say } from './family.js'

type Members = { readonly [Name in keyof ThreadState]: (state: ThreadState) => unknown }

/** One use of each member. The order matters for files: a folder is made before it is removed. */
const USES: Members = {
  threadId: (state) => state.threadId,
  agentId: (state) => state.agentId,
  userId: (state) => state.userId,
  createdAt: (state) => state.createdAt,
  terminated: (state) => state.terminated,
  execution: (state) => state.execution,
  context: (state) => state.context,
  children: (state) => state.children,
  getMessages: (state) => state.getMessages(),
  getMessage: (state) => state.getMessage('said hello'),
  injectMessage: (state) => state.injectMessage({ role: 'system', content: 'A hint.' }),
  queueMessage: (state) => state.queueMessage({ role: 'user', content: 'Go on.' }),
  updateMessage: (state) => state.updateMessage('said hello', { content: 'changed' }),
  deleteMessage: (state) => state.deleteMessage('said hello'),
  loadAgent: (state) => state.loadAgent('scout'),
  loadPrompt: (state) => state.loadPrompt('look'),
  loadModel: (state) => state.loadModel('chat'),
  getAgentNames: (state) => state.getAgentNames(),
  getPromptNames: (state) => state.getPromptNames(),
  getModelNames: (state) => state.getModelNames(),
  getChildThread: (state) => state.getChildThread('c'),
  getParentThread: (state) => state.getParentThread(),
  notifyParent: (state) => state.notifyParent('Found it.'),
  setStatus: (state) => state.setStatus('digging'),
  env: (state) => state.env('REGION').catch(passOver('to have a value')),
  envType: (state) => state.envType('REGION'),
  setEnv: (state) => state.setEnv('PLACE', 'here', { type: 'text' }),
  queueTool: (state) => state.queueTool('dig', {}),
  invokeTool: (state) => state.invokeTool('dig', {}).catch(passOver('in which tools can be invoked')),
  scheduleEffect: (state) => state.scheduleEffect('remind', {}, 1000),
  getScheduledEffects: (state) => state.getScheduledEffects(),
  removeScheduledEffect: (state) => state.removeScheduledEffect('none'),
  emit: (state) => state.emit('dug', 1),
  getValue: (state) => state.getValue('depth'),
  setValue: (state) => state.setValue('depth', 3),
  writeFile: (state) => state.writeFile('/a.txt', 'words', 'text/plain'),
  readFile: (state) => state.readFile('/a.txt'),
  readFileStream: (state) => state.readFileStream('/a.txt'),
  statFile: (state) => state.statFile('/a.txt'),
  getFileThumbnail: (state) => state.getFileThumbnail('/a.txt'),
  readdirFile: (state) => state.readdirFile('/'),
  unlinkFile: (state) => state.unlinkFile('/a.txt'),
  mkdirFile: (state) => state.mkdirFile('/folder'),
  rmdirFile: (state) => state.rmdirFile('/folder'),
  grepFiles: (state) => state.grepFiles('words'),
  findFiles: (state) => state.findFiles('*'),
  getFileStats: (state) => state.getFileStats(),
  usage: (state) => state.usage(),
  terminate: (state) => state.terminate(),
}

/** An error of the implementation itself, which was reached: no wall stands before it. */
function passOver(words: string): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof Error) || !error.message.includes(words)) throw error
  }
}

/** What a member did, by the words of its error. */
const REFUSALS = {
  ended: /^The .* has ended/,
  closed: /which was closed\.$/,
  terminated: ThreadTerminatedError,
  much: /^Expected at most \d+ operations on other threads/,
  waits: /which waits for variables/,
  elsewhere: /^A tool cannot be invoked in another thread/,
  unstarted: /^The subagent has not started yet: use/,
  parent: /^The subagent has not started yet: its parent/,
} as const

/** `!`: thrown at once, and not by the promise. */
type Outcome = '-' | `${'' | '!'}${keyof typeof REFUSALS}`

function outcomeOf(error: unknown): keyof typeof REFUSALS {
  const names = Object.keys(REFUSALS) as (keyof typeof REFUSALS)[]
  const found = names.find((name) => {
    const refusal = REFUSALS[name]
    if (refusal === ThreadTerminatedError) return error instanceof ThreadTerminatedError
    return error instanceof Error && refusal instanceof RegExp && refusal.test(error.message)
  })
  if (found === undefined) throw error
  return found
}

async function outcome(use: () => unknown): Promise<Outcome> {
  let result: unknown
  try {
    result = use()
  } catch (error) {
    return `!${outcomeOf(error)}`
  }
  try {
    await result
    return '-'
  } catch (error) {
    return outcomeOf(error)
  }
}

type Outcomes = Partial<Record<keyof ThreadState, Outcome>>

/** All members that are refused, each by its outcome. */
async function refusals(state: ThreadState, uses: Members = USES): Promise<Outcomes> {
  const found: Outcomes = {}
  for (const [name, use] of entriesOf(uses)) {
    const came = await outcome(() => use(state))
    if (came !== '-') found[name] = came
  }
  return found
}

function entriesOf<Value>(
  record: Readonly<Record<keyof ThreadState, Value>>,
): readonly [keyof ThreadState, Value][] {
  return Object.entries(record) as [keyof ThreadState, Value][]
}

/** The members that are not in `names` are allowed. */
function only(names: Partial<Record<Outcome, string>>): Outcomes {
  return Object.fromEntries(
    Object.entries(names).flatMap(([came, list]) => list.split(' ').map((name) => [name, came])),
  )
}

const KNOWN = 'threadId agentId userId createdAt terminated execution context children'
const DEFINITIONS = 'getAgentNames getPromptNames getModelNames'
const LOADS = 'loadAgent loadPrompt loadModel'
const READS =
  'getMessages getMessage env envType getScheduledEffects getValue readFile readFileStream statFile ' +
  'getFileThumbnail readdirFile grepFiles findFiles getFileStats usage'
const LOOKUPS = 'getChildThread getParentThread'
const WRITES =
  'injectMessage updateMessage notifyParent setStatus setValue writeFile unlinkFile mkdirFile rmdirFile'
/** What the thread's workflow is told, and what only a workflow that runs can be told. */
const TELLS = 'setEnv'
const ASKS = 'queueMessage deleteMessage scheduleEffect removeScheduledEffect terminate'

const PATH = { run: null, step: null, side: null } as const

async function withMessages(
  work: (thread: TestThread) => Promise<void>,
  before: (thread: TestThread) => Promise<unknown> = async () => undefined,
): Promise<void> {
  await withFamily(async (thread) => {
    for (const threadId of ['t', 'c']) await say(thread.store, 'hello', { threadId, ...PATH })
    await before(thread)
    await work(thread)
  })
}

function kindsOf(operations: readonly ThreadOperation[]): readonly string[] {
  return operations.map((operation) =>
    operation.kind === 'signal_thread' ? `signal ${operation.operation.kind}` : operation.kind,
  )
}

/** The operations of all members, in the order of `USES`. */
const OPERATIONS = ['queue_message', 'set_env', 'queue_tool', 'schedule_effect', 'terminate']

test('in a call every member of the own thread is allowed', () =>
  withMessages(async ({ open, commit }) => {
    const call = await open()
    expect(await refusals(call.state)).toEqual({})
    expect(kindsOf((await commit(call)).operations)).toEqual(OPERATIONS)
  }))

const ENDED = only({
  ended: `${LOADS} ${READS} ${LOOKUPS} ${WRITES} ${TELLS} ${ASKS} invokeTool`,
  '!ended': `${KNOWN} ${DEFINITIONS} queueTool emit`,
})

test('after the end of the call every member is refused', () =>
  withMessages(async ({ open }) => {
    const call = await open()
    const relative = await childOf(call.state)
    call.close()
    expect(await refusals(call.state)).toEqual(ENDED)
    expect(await refusals(relative)).toEqual(ENDED)
  }))

test('another thread takes all but a tool in place, and its workflow is told', () =>
  withMessages(async ({ open, commit }) => {
    const call = await open()
    expect(await refusals(await childOf(call.state))).toEqual(only({ elsewhere: 'invokeTool' }))
    expect(kindsOf((await commit(call)).operations)).toEqual([
      // `notifyParent` of the child is a message of the parent, which is the call's own thread.
      'queue_message',
      ...OPERATIONS.map((kind) => `signal ${kind}`),
    ])
  }))

test('another thread that is closed can be read, and takes nothing', () =>
  withMessages(
    async ({ open, commit }) => {
      const call = await open()
      expect(await refusals(await childOf(call.state))).toEqual(
        only({
          closed: `${WRITES} ${TELLS} queueMessage deleteMessage scheduleEffect removeScheduledEffect`,
          '!closed': 'queueTool emit',
          elsewhere: 'invokeTool',
        }),
      )
      // `terminate` is what was wanted, and asks for nothing.
      expect((await commit(call)).operations).toEqual([])
    },
    ({ store }) => store.write((tx) => updateThread(tx, 'c', { closed_at: 1, status: 'terminated' })),
  ))

test('another thread that waits for variables takes what it will find', () =>
  withMessages(
    async ({ open }) => {
      const call = await open()
      expect(await refusals(await childOf(call.state))).toEqual(
        only({ waits: ASKS, '!waits': 'queueTool', elsewhere: 'invokeTool' }),
      )
    },
    ({ store }) =>
      store.write((tx) => updateChild(tx, { parentThreadId: 't', reference: 'c' }, { status: 'deferred' })),
  ))

test('what other workflows are told is counted for all of them', () =>
  withMessages(async ({ open }) => {
    const child = await childOf((await open()).state)
    for (let tell = 0; tell < LIMITS.queuedByCall; tell += 1) await child.deleteMessage('none')
    expect(await refusals(child)).toEqual(
      only({ much: `${TELLS} ${ASKS}`, '!much': 'queueTool', elsewhere: 'invokeTool' }),
    )
  }))

test('a guarded state ends with its hook, and allows all until then', () =>
  withMessages(async ({ open, commit }) => {
    const call = await open()
    const guard = { label: 'hook h', abortSignal: new AbortController().signal }
    const { state, close } = guardState(call.state, guard)
    expect(await refusals(state)).toEqual({})
    const relative = await childOf(state)
    close()
    expect(await refusals(state)).toEqual(ENDED)
    expect(await refusals(relative)).toEqual(ENDED)
    expect(kindsOf((await commit(call)).operations)).toEqual(OPERATIONS)
  }))

test('a subagent that has not started takes from a hook what it will find', () => {
  let found: Outcomes = {}
  const created = defineHook({
    hook: 'after_subagent_created',
    id: 'created',
    execute: async (_state, child) => {
      // The desk's registry has other names, and the child has no message.
      const passed = () => undefined
      const others = { loadAgent: passed, loadPrompt: passed, loadModel: passed, updateMessage: passed }
      found = await refusals(child, { ...USES, ...others })
    },
  })
  return withDesk({ hooks: [created] }, async (desk) => {
    const input = await desk.call('pair', { task: 'Look.' })
    await attempt().run(
      (given: typeof input) => prepareChild(desk.dependencies, { ...given, children: 0, open: 0 }),
      input,
    )
    expect(found).toEqual(
      only({
        '!unstarted': 'queueMessage queueTool invokeTool scheduleEffect removeScheduledEffect terminate',
        '!parent': 'getChildThread getParentThread notifyParent setStatus',
      }),
    )
  })
})

async function withEndpoint(
  work: (acting: EndpointState, told: readonly ThreadOperation[], abort: AbortController) => Promise<void>,
  before?: (thread: TestThread) => Promise<unknown>,
): Promise<void> {
  await withMessages(async ({ dependencies }) => {
    const told: ThreadOperation[] = []
    const abort = new AbortController()
    const acting = await openEndpointState({
      ...{ dependencies, threadId: 't', agent: 'support', content: null, signal: abort.signal },
      sendSignal: async (operation) => void told.push(operation),
      invokeTool: async () => ({ status: 'success', result: '' }),
    })
    await work(acting, told, abort)
  }, before)
}

test('an endpoint acts at once, and is allowed every member', () =>
  withEndpoint(async (acting, told) => {
    expect(await refusals(acting.state)).toEqual({})
    await acting.waitForWork()
    expect(kindsOf(told).toSorted()).toEqual(OPERATIONS.toSorted())
  }))

test('an endpoint of a thread that is closed can read it', () =>
  withEndpoint(
    async (acting, told) => {
      expect(await refusals(acting.state)).toEqual(
        only({ terminated: `${WRITES} ${TELLS} ${ASKS} invokeTool` }),
      )
      // Members that answer at once are refused at the end.
      await expect(acting.waitForWork()).rejects.toBeInstanceOf(ThreadTerminatedError)
      expect(told).toEqual([])
    },
    ({ store }) => store.write((tx) => updateThread(tx, 't', { closed_at: 1, status: 'terminated' })),
  ))

test('an endpoint that is over is refused all that reaches the store', () =>
  withEndpoint(async (acting, told, abort) => {
    abort.abort()
    expect(await refusals(acting.state)).toEqual(
      only({
        ended: `${READS} ${LOOKUPS} ${WRITES} ${TELLS} ${ASKS} invokeTool`,
        '!ended': 'queueTool emit',
      }),
    )
    expect(told).toEqual([])
  }))
