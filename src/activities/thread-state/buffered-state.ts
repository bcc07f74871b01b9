import type { PlanContent } from '../../definitions/plan/plan-content.js'
import type { ExecutionState, ThreadState } from '../../definitions/thread-state.js'
import type { AttachmentRef } from '../../protocol/message.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import type { Plan } from '../../protocol/plan.js'
import type { JsonObject, JsonValue } from '../../protocol/values.js'
import { appendEvents } from '../../store/events.js'
import type { Reader, Store, Writer } from '../../store/store.js'
import { registeredChildren } from '../../store/threads/child-registry.js'
import { readRunContext, writeRunContext } from '../../store/threads/runs.js'
import type { RunKey } from '../../store/threads/runs.js'
import type { ActivityDependencies } from '../activity.js'
import { createRedactor } from '../variables/redactor.js'
import type { Redactor } from '../variables/redactor.js'
import { createCallGate } from './call-gate.js'
import type { CallGate } from './call-gate.js'
import type { StoredContent } from './files.js'
import type { BufferedWrite, Journal, StateOrigin } from './journal.js'
import { createThreadState } from './members.js'
import { resolveAttachments } from './message-input.js'
import type { GivenAttachment } from './message-input.js'
import type { MessageHooks } from './messages.js'
import { createRelatives, openRelative } from './relatives.js'
import type { Relatives } from './relatives.js'
import { jsonProblem } from './strict-json.js'
import { commitParts, openParts } from './thread-overlays.js'
import type { OpenParts, Relative, StatePlace, StateThread } from './thread-overlays.js'

export interface BufferedStateOptions {
  readonly dependencies: ActivityDependencies
  readonly threadId: string
  /** Of a thread whose row comes with this state's commit; otherwise it is read. */
  readonly thread?: StateThread
  /** Name of the active agent. */
  readonly agent: string
  /** The workflow's time in milliseconds. */
  readonly now: number
  readonly origin: StateOrigin
  /** Null outside of a run. */
  readonly execution: ExecutionFacts | null
  /** What the run knows of its agent; null where no worker has it. */
  readonly content: PlanContent | null
  /** Runs a tool in place, whose writes join those of `state`. Without it nothing can be invoked here. */
  readonly invokeTool?: InvokeTool
  /** Without them messages are written as they are given. */
  readonly messageHooks?: MessageHooks
  /** Of another state that the same code has. */
  readonly redactor?: Redactor
}

/** Who invokes a tool in place. */
export interface InvokedIn {
  readonly state: ThreadState
  readonly redactor: Redactor
}

export type InvokeTool = (
  name: string,
  args: Record<string, unknown>,
  invokedIn: InvokedIn,
) => ReturnType<ThreadState['invokeTool']>

/** What the workflow has to do about a call, besides its outcome. */
export interface StateEffects {
  /** In the order in which the call asked for them. */
  readonly operations: readonly ThreadOperation[]
  /** Attachments whose path somebody else has since taken: the path that `attach` gave, and the one they have. */
  readonly moved: ReadonlyMap<string, string>
}

/**
 * The state that a tool, hook or effect gets, and what it wrote (T9). Until `commit` only the call itself sees that;
 * bytes of files go to the blob store at once, where nothing names them before.
 */
export interface BufferedState {
  readonly state: ThreadState
  /** For what the code says besides, in results and errors: knows the secrets that `state` gave it (T5). */
  readonly redactor: Redactor
  /**
   * Files of the call's result: new ones are written as those of a queued message, others must be there. Before `close`.
   * @throws a sentence on what is wrong with one of them
   */
  readonly attach: (files: readonly GivenAttachment[]) => Promise<readonly AttachmentRef[]>
  /** Writes a file whose bytes are in the blob store already. Before `close`. @throws FileError */
  readonly place: (path: string, content: StoredContent) => Promise<void>
  /** Has its place among what else is written through `state`, in the order of the calls. Before `close`. */
  readonly write: (write: BufferedWrite) => void
  /** From now on every member throws, and what the tool left running changes nothing. */
  readonly close: () => void
  /** What the call emitted is stored, or given up. To be awaited before the transaction of the outcome. */
  readonly settled: () => Promise<void>
  /** What the row of the call's result says besides: that the parent was told something. */
  readonly resultMetadata: () => Record<string, unknown> | null
  /** What is not JSON in the context as it is now. */
  readonly contextLooks: () => string | undefined
  /** What is not JSON in the context: the call has failed with it, and `commit` leaves the context as it was. Closes. */
  readonly contextProblem: () => string | undefined
  /**
   * Writes all of it, in the transaction of the outcome, with its events; may be tried again after a rollback. Closes.
   * @throws FileError if somebody has since put a file where the call made a folder, or the other way round
   */
  readonly commit: (tx: Writer) => Promise<StateEffects>
}

/** Reads the thread's row, its children that stay and the run's context; nothing is held open. */
export async function openBufferedState(options: BufferedStateOptions): Promise<BufferedState> {
  const { threadId, origin } = options
  const { store } = options.dependencies
  const key = origin.run === null ? null : { threadId, number: origin.run }
  const redactor = options.redactor ?? createRedactor()
  const [known, context] = await Promise.all([readThread(options), openRunContext(store, { key, redactor })])
  const gate = createCallGate(`${origin.kind} ${origin.id}`)
  const notified: string[] = []
  const own = openOwn(options, { ...known, context, gate, redactor, notified })
  const now = options.now * 1000

  function close(): void {
    gate.close()
    context.freeze()
  }

  return {
    state: own.state,
    redactor,
    attach: (given) => resolveAttachments({ files: own.files, blobs: store.blobs }, given),
    async place(path, content) {
      await own.files.put(path, async () => content)
    },
    write: (write) => own.journal.add(write),
    close,
    async settled() {
      await own.emitter.settled()
      await own.relatives.settled()
    },
    resultMetadata: () => (notified.length === 0 ? null : { parent_notifications: [...notified] }),
    contextLooks: () => context.looks(),
    contextProblem() {
      close()
      return context.problem()
    },
    async commit(tx) {
      close()
      const { operations, moved } = await commitParts(tx, own, { threadId, now })
      await context.commit(tx)
      const others = await own.relatives.commit(tx)
      if (others.events.length > 0) await appendEvents(tx, { threadId, events: others.events, now })
      return { operations: [...operations, ...others.operations], moved }
    },
  }
}

async function readThread({
  dependencies,
  threadId,
  thread: given,
}: BufferedStateOptions): Promise<Pick<StatePlace, 'thread' | 'children'>> {
  if (given !== undefined) return { thread: given, children: [] }
  const [thread, children] = await dependencies.store.read((db) =>
    Promise.all([stateThread(db, threadId), registeredChildren(db, threadId)]),
  )
  if (thread === undefined) throw new Error(`Expected a row of thread ${threadId}, got none`)
  return { thread, children }
}

/** Not its snapshot, which is large. */
function stateThread(db: Reader, threadId: string): Promise<StateThread | undefined> {
  return db
    .selectFrom('threads')
    .select(['user_id', 'created_at', 'terminated_at', 'terminate_requested_at', 'parent_thread_id'])
    .where('id', '=', threadId)
    .executeTakeFirst()
}

interface Opened extends Pick<StatePlace, 'thread' | 'children' | 'gate' | 'redactor'> {
  readonly context: RunContext
  readonly gate: CallGate
  /** What the parent was told. */
  readonly notified: string[]
}

interface OwnThread extends OpenParts {
  readonly state: ThreadState
  readonly relatives: Relatives
}

function openOwn(options: BufferedStateOptions, opened: Opened): OwnThread {
  const { dependencies, threadId, agent, origin, content, messageHooks } = options
  const { thread, children, context, gate, redactor, notified } = opened
  const now = options.now * 1000
  const shared = { dependencies, gate, redactor, now, from: { threadId, id: origin.id } }
  const relatives: Relatives = createRelatives({
    ...{ store: dependencies.store, threadId, gate },
    own: () => own,
    open: (found) => openRelative({ ...shared, relatives }, found),
  })
  const facts = options.execution
  const plan = content?.plan ?? null
  const parts = openParts({
    ...{ dependencies, thread, children, origin, gate, redactor, relatives, now, context: context.value },
    scope: { threadId, agent, content, prompt: facts?.promptPath.at(-1) ?? null },
    execution: facts === null ? null : (journal) => createExecutionState({ facts, plan, gate, journal }),
    hooks: messageHooks === undefined ? null : { hooks: messageHooks, state: () => state },
    invokeTool: async (name, args) => invoke(options.invokeTool)(name, args, { state, redactor }),
    terminate: async () => ({ operations: [{ kind: 'terminate' }] }),
    onNotified: (text) => void notified.push(text),
  })
  const state = createThreadState({ gate, redactor, known: parts.known, methods: parts.methods })
  const own: Relative = { state, notify: parts.notify }
  return { ...parts, state, relatives }
}

function invoke(invokeTool: InvokeTool | undefined): InvokeTool {
  if (invokeTool !== undefined) return invokeTool
  throw new Error('Expected a call in which tools can be invoked, got another one: use queueTool.')
}

/** What is known of a run before a call of it begins. */
type ExecutionFacts = Omit<ExecutionState, 'stopped' | 'stoppedBy' | 'forceTurn' | 'stop'>

interface ExecutionParts {
  readonly facts: ExecutionFacts
  readonly plan: Plan | null
  readonly gate: CallGate
  readonly journal: Journal
}

/** The run as a call sees it and steers it: what it asks for happens with its outcome (T9). */
function createExecutionState({ facts, plan, gate, journal }: ExecutionParts): ExecutionState {
  let stopped = false
  return {
    ...facts,
    get stopped() {
      gate.assertOpen()
      return stopped
    },
    get stoppedBy() {
      gate.assertOpen()
      return stopped ? facts.currentSide : null
    },
    forceTurn(side) {
      if (side !== 'a' && side !== 'b') throw new Error('Expected forceTurn to get side "a" or "b".')
      if (side === 'b' && plan !== null && plan.sides.b === null)
        throw new Error(`Expected forceTurn to get a side of ${plan.agent}, got "b", which is a person.`)
      journal.add(async () => ({ operations: [{ kind: 'force_turn', side }] }))
    },
    stop() {
      journal.add(async () => ({ operations: [{ kind: 'stop_run' }] }))
      stopped = true
    },
  }
}

/** What the calls of a run share, as one call changes it. */
interface RunContext {
  /** Changed by the tool as it likes. */
  readonly value: Record<string, JsonValue | undefined>
  /** What it holds now is what is saved. */
  freeze(): void
  /** What would keep it from being saved as it is now. */
  looks(): string | undefined
  /** What keeps it from being saved, once it is frozen. */
  problem(): string | undefined
  /** Saves it if it changed and is JSON. */
  commit(tx: Writer): Promise<void>
}

interface OpenedContext {
  /** Outside of a run it is empty and nobody's. */
  readonly key: RunKey | null
  /** It is kept without the secrets that the call was given. */
  readonly redactor: Redactor
}

async function openRunContext(store: Store, { key, redactor }: OpenedContext): Promise<RunContext> {
  const saved = JSON.stringify(key === null ? {} : await store.read((db) => readRunContext(db, key)))
  const value = JSON.parse(saved) as Record<string, JsonValue | undefined>
  let frozen: { readonly text: string } | { readonly problem: string } | undefined
  return {
    value,
    freeze() {
      if (frozen !== undefined) return
      const problem = jsonProblem(value, 'context')
      frozen = problem === undefined ? { text: JSON.stringify(redactor.redactJson(value)) } : { problem }
    },
    looks: () => jsonProblem(value, 'context'),
    problem: () => (frozen !== undefined && 'problem' in frozen ? frozen.problem : undefined),
    async commit(tx) {
      if (key === null || frozen === undefined || 'problem' in frozen || frozen.text === saved) return
      await writeRunContext(tx, key, JSON.parse(frozen.text) as JsonObject)
    },
  }
}
