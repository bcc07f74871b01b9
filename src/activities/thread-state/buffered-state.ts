/**
 * The state that user code of one call gets (a tool, hook or effect), and the commit of its writes.
 *
 * Owns: opening the thread's overlays, the run's context and its execution state; the gate of the call; the order of the
 * commit: own thread, context, then other threads.
 * Does not own: the members (members.ts), the writes themselves (journal.ts and the overlays), when the call's outcome is
 * committed (operation.ts of the activities).
 *
 * Invariants:
 * B1: until `commit` only the call sees its writes; a call without an outcome leaves none (T9).
 * B2: after `close` every member throws, and the context no longer changes.
 * B3: `commit` can run again after a rollback and writes the same rows.
 */

import type { PlanContent } from '../../definitions/plan/plan-content.js'
import type { ExecutionState, QueuedMessage, ThreadState } from '../../definitions/thread-state.js'
import type { CallInput } from '../../protocol/activities.js'
import { runIdOf, stepIdOf } from '../../protocol/ids.js'
import type { AttachmentRef } from '../../protocol/message.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import type { Plan } from '../../protocol/plan.js'
import { toMicros } from '../../protocol/time.js'
import type { Millis } from '../../protocol/time.js'
import type { JsonObject, JsonValue } from '../../protocol/values.js'
import { appendEvents } from '../../store/events.js'
import type { Reader, Store, Writer } from '../../store/store.js'
import { listResumableChildren } from '../../store/threads/thread-tree.js'
import { readRunContext } from '../../store/threads/run-context.js'
import { readSharedContext, writeSharedContext } from '../../store/threads/runs.js'
import type { RunKey } from '../../store/threads/runs.js'
import type { ActivityDependencies } from '../activity.js'
import { activePrompt } from '../../definitions/plan/plan-content.js'
import { createRedactor } from '../variables/redactor.js'
import type { Redactor } from '../variables/redactor.js'
import type { StoredContent } from './files.js'
import { createCallGate } from './journal.js'
import type { BufferedWrite, CallGate, Journal, StateOrigin } from './journal.js'
import { createThreadState } from './members.js'
import { resolveAttachments } from './file-members.js'
import type { MessageHooks } from './messages.js'
import { createRelatives } from './relatives.js'
import { jsonProblem } from './strict-json.js'
import { commitParts, openParts } from './thread-overlays.js'
import type { Relative, StatePlace } from './thread-overlays.js'

export interface BufferedStateOptions {
  readonly dependencies: ActivityDependencies
  readonly threadId: string
  /** Present if the thread's row is written only with this state's commit; otherwise the row is read. */
  readonly thread?: StatePlace['thread']
  /** Name of the active agent. */
  readonly agent: string
  /** The workflow's time in milliseconds. */
  readonly now: Millis
  readonly origin: StateOrigin
  /** Null outside of a run. */
  readonly execution: ExecutionFacts | null
  /** The run's plan of the agent; null if this worker does not have the agent. */
  readonly content: PlanContent | null
  /** Runs a tool in place: its writes join those of `state`. If absent, `invokeTool` is refused. */
  readonly invokeTool?: InvokeTool
  /** If absent, messages are written as they were passed. */
  readonly messageHooks?: MessageHooks
  /** The redactor of another state that the same code uses; otherwise a new one is created. */
  readonly redactor?: Redactor
}

/** The state that a tool in place shares with its caller. */
export interface InvokedIn {
  readonly state: ThreadState
  readonly redactor: Redactor
}

export type InvokeTool = (
  name: string,
  args: Record<string, unknown>,
  invokedIn: InvokedIn,
) => ReturnType<ThreadState['invokeTool']>

/** The effects of a call on its workflow, besides its outcome. */
export interface StateEffects {
  /** In the order in which the call requested them. */
  readonly operations: readonly ThreadOperation[]
  /** New paths of attachments whose path was taken before the commit, by the path that `attach` returned. */
  readonly moved: ReadonlyMap<string, string>
}

/**
 * The state of one call and its writes. Bytes of files are stored at once; no row refers to them before the commit.
 */
export interface BufferedState {
  readonly state: ThreadState
  /** Redacts the code's results and errors: it knows the secrets that `state` gave to the code (T5). */
  readonly redactor: Redactor
  /**
   * Resolves the attachments of the call's result: new files are written, references must exist. Call it before `close`.
   * @throws an error that explains an invalid attachment
   */
  readonly attach: (files: NonNullable<QueuedMessage['attachments']>) => Promise<readonly AttachmentRef[]>
  /** Writes a file whose bytes are already in the blob store. Call it before `close`. @throws FileError */
  readonly place: (path: string, content: StoredContent) => Promise<void>
  /** Adds a write behind those made through `state` so far. Call it before `close`. */
  readonly write: (write: BufferedWrite) => void
  /** Closes the state: every member throws from now on (B2), so code that the tool left running changes nothing. */
  readonly close: () => void
  /** Waits until events of `emit` are stored or their write has failed. Await it before the outcome's transaction. */
  readonly waitForWork: () => Promise<void>
  /** Metadata for the row of the call's result: the texts that `notifyParent` sent. */
  readonly resultMetadata: () => Record<string, unknown> | null
  /** Explains what is not JSON in the context now. */
  readonly lookAtContext: () => string | undefined
  /** Closes the state and explains what is not JSON in the context. The call then fails, and `commit` skips the context. */
  readonly contextProblem: () => string | undefined
  /**
   * Closes the state and commits all writes and events in the outcome's transaction (B3).
   * @throws FileError if a file was since written where the call made a folder, or the reverse
   */
  readonly commit: (tx: Writer) => Promise<StateEffects>
}

/** Reads the thread's row, its resumable children and the run's context. Nothing is held open. */
export async function openBufferedState(options: BufferedStateOptions): Promise<BufferedState> {
  const { threadId, origin } = options
  const { store } = options.dependencies
  const key = origin.run === null ? null : { threadId, number: origin.run }
  const redactor = options.redactor ?? createRedactor()
  const [known, context] = await Promise.all([
    readThread(options),
    openSharedContext(store, { key, redactor }),
  ])
  const gate = createCallGate(`${origin.kind} ${origin.id}`)
  const notified: string[] = []
  const own = openOwn(options, { ...known, context, gate, redactor, notified })
  const now = toMicros(options.now)

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
    async waitForWork() {
      await own.waitForWork()
      await own.relatives.waitForWork()
    },
    resultMetadata: () => (notified.length === 0 ? null : { parent_notifications: [...notified] }),
    lookAtContext: () => context.look(),
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

interface OpeningState {
  readonly input: CallInput
  readonly content: PlanContent
  /** Absent where no tool can be invoked, as in a check before the call. */
  readonly invokeTool?: InvokeTool
  readonly messageHooks?: MessageHooks
  /** The ids of the code's writes derive from it. @default the call's id */
  readonly originId?: string
}

/** Opens the thread's state for the code of a call. */
export function openCallState(
  dependencies: ActivityDependencies,
  { input, content, invokeTool, messageHooks, originId = input.callId }: OpeningState,
  abortSignal: AbortSignal,
): Promise<BufferedState> {
  const { threadId, agent, now, run, step, side, sideSteps, promptPath } = input
  const path = promptPath.length === 0 ? [activePrompt(content, input).name] : promptPath
  return openBufferedState({
    ...{ dependencies, threadId, agent, now, content },
    origin: { kind: 'call', id: originId, run, step, side },
    ...(invokeTool === undefined ? {} : { invokeTool }),
    ...(messageHooks === undefined ? {} : { messageHooks }),
    execution: {
      flowId: runIdOf(run),
      stepId: stepIdOf(run, step),
      currentSide: side,
      promptPath: path,
      stepCount: step,
      sideAStepCount: sideSteps.a,
      sideBStepCount: sideSteps.b,
      abortSignal,
    },
  })
}

async function readThread({
  dependencies,
  threadId,
  thread: given,
}: BufferedStateOptions): Promise<Pick<StatePlace, 'thread' | 'children'>> {
  if (given !== undefined) return { thread: given, children: [] }
  const [thread, children] = await dependencies.store.read((db) =>
    Promise.all([stateThread(db, threadId), listResumableChildren(db, threadId)]),
  )
  if (thread === undefined) throw new Error(`Expected a row of thread ${threadId}, got none`)
  return { thread, children }
}

/** Reads the columns that a state shows. Leaves out the snapshot, which is large. */
function stateThread(db: Reader, threadId: string): Promise<StatePlace['thread'] | undefined> {
  return db
    .selectFrom('threads')
    .select(['user_id', 'created_at', 'terminated_at', 'terminate_requested_at', 'parent_thread_id'])
    .where('id', '=', threadId)
    .executeTakeFirst()
}

interface Opened extends Pick<StatePlace, 'thread' | 'children' | 'gate' | 'redactor'> {
  readonly context: SharedContext
  readonly gate: CallGate
  /** The texts that `notifyParent` sent. */
  readonly notified: string[]
}

type OwnThread = ReturnType<typeof openParts> & {
  readonly state: ThreadState
  readonly relatives: ReturnType<typeof createRelatives>
}

function openOwn(options: BufferedStateOptions, opened: Opened): OwnThread {
  const { dependencies, threadId, agent, origin, content, messageHooks } = options
  const { thread, children, context, gate, redactor, notified } = opened
  const now = toMicros(options.now)
  const shared = { dependencies, gate, redactor, now, from: { threadId, run: origin.run, id: origin.id } }
  const relatives = createRelatives({ ...shared, own: () => own })
  const facts = options.execution
  const plan = content?.plan ?? null
  const parts = openParts({
    ...{ dependencies, thread, children, origin, gate, redactor, relatives, now, context: context.value },
    scope: { threadId, agent, content, prompt: facts?.promptPath.at(-1) ?? null },
    execution:
      facts === null
        ? null
        : (journal) => createExecutionState({ facts, plan, gate, journal, read: readContext(options) }),
    hooks: messageHooks === undefined ? null : { hooks: messageHooks, state: () => state },
    invokeTool: async (name, args) => requireInvokeTool(options.invokeTool)(name, args, { state, redactor }),
    terminate: async () => ({ operations: [{ kind: 'terminate' }] }),
    onNotified: (text) => void notified.push(text),
  })
  const state = createThreadState({ gate, redactor, known: parts.known, methods: parts.methods })
  const own: Relative = { state, notify: parts.notify }
  return { ...parts, state, relatives }
}

function requireInvokeTool(invokeTool: InvokeTool | undefined): InvokeTool {
  if (invokeTool !== undefined) return invokeTool
  throw new Error('Expected a call in which tools can be invoked, got another one: use queueTool.')
}

/** The facts of a run before one of its calls begins. */
type ExecutionFacts = Omit<ExecutionState, 'stopped' | 'stoppedBy' | 'runContext' | 'forceTurn' | 'stop'>

interface ExecutionParts {
  readonly facts: ExecutionFacts
  readonly plan: Plan | null
  readonly gate: CallGate
  readonly journal: Journal
  readonly read: ExecutionState['runContext']
}

/** The context of the run, for code that asks for it: no statement without that. */
function readContext({ dependencies, threadId, origin }: BufferedStateOptions): ExecutionState['runContext'] {
  return async () => {
    const { run } = origin
    const context =
      run === null
        ? null
        : await dependencies.store.read((db) => readRunContext(db, { threadId, number: run }))
    if (context === null) throw new Error(`Expected a row of the run of thread ${threadId}, got none`)
    return context
  }
}

/** Creates the run's state as one call sees and steers it. Requests take effect with the call's outcome (T9). */
function createExecutionState({ facts, plan, gate, journal, read }: ExecutionParts): ExecutionState {
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
    runContext() {
      gate.assertOpen()
      return read()
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

/** The context that the calls of a run share, as one call changes it. */
interface SharedContext {
  /** The object that the tool gets and may change. */
  readonly value: Record<string, JsonValue | undefined>
  /** Takes a snapshot; later changes of the tool are not saved. */
  freeze(): void
  /** Explains why the current context cannot be saved. */
  look(): string | undefined
  /** Explains why the frozen context cannot be saved. */
  problem(): string | undefined
  /** Saves the context if it has changed and is JSON. */
  commit(tx: Writer): Promise<void>
}

interface OpenedContext {
  /** Null outside of a run; the context is then empty and not saved. */
  readonly key: RunKey | null
  /** Removes the secrets that the call read before the context is saved. */
  readonly redactor: Redactor
}

async function openSharedContext(store: Store, { key, redactor }: OpenedContext): Promise<SharedContext> {
  const saved = JSON.stringify(key === null ? {} : await store.read((db) => readSharedContext(db, key)))
  const value = JSON.parse(saved) as Record<string, JsonValue | undefined>
  let frozen: { readonly text: string } | { readonly problem: string } | undefined
  return {
    value,
    freeze() {
      if (frozen !== undefined) return
      const problem = jsonProblem(value, 'context')
      frozen = problem === undefined ? { text: JSON.stringify(redactor.redactJson(value)) } : { problem }
    },
    look: () => jsonProblem(value, 'context'),
    problem: () => (frozen !== undefined && 'problem' in frozen ? frozen.problem : undefined),
    async commit(tx) {
      if (key === null || frozen === undefined || 'problem' in frozen || frozen.text === saved) return
      await writeSharedContext(tx, key, JSON.parse(frozen.text) as JsonObject)
    },
  }
}
