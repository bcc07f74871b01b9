import type { PlanContent } from '../../definitions/plan-content.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import type { AttachmentRef } from '../../protocol/message.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import { appendEvents } from '../../store/events.js'
import type { Writer } from '../../store/store.js'
import { findThread } from '../../store/threads.js'
import type { ThreadRecord } from '../../store/threads.js'
import type { ActivityDependencies } from '../dependencies.js'
import { createRedactor } from '../variables/redactor.js'
import type { Redactor } from '../variables/redactor.js'
import { createCallGate } from './call-gate.js'
import type { CallGate } from './call-gate.js'
import { createDefinitionMembers } from './definition-members.js'
import { createEffectsOverlay } from './effects-overlay.js'
import { createEmitter } from './emitter.js'
import { createExecutionState } from './execution-state.js'
import type { ExecutionFacts } from './execution-state.js'
import { createFileMembers } from './file-members.js'
import { createFilesOverlay } from './files-overlay.js'
import { createJournal } from './journal.js'
import type { BufferedWrite } from './journal.js'
import type { MessageHooks } from './message-hooks.js'
import { createMessagesOverlay } from './messages-overlay.js'
import { createQueuedTools } from './queued-tools-overlay.js'
import { resolveAttachments } from './resolve-attachments.js'
import type { GivenAttachment } from './resolve-attachments.js'
import { openRunContext } from './run-context.js'
import type { RunContext } from './run-context.js'
import type { StateOrigin } from './state-origin.js'
import { createThreadState } from './thread-state-members.js'
import { createValuesOverlay } from './values-overlay.js'
import { createVariablesOverlay } from './variables-overlay.js'

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

/** What a state says of its thread. */
export type StateThread = Pick<
  ThreadRecord,
  'user_id' | 'created_at' | 'terminated_at' | 'terminate_requested_at'
>

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
  /** Has its place among what else is written through `state`, in the order of the calls. Before `close`. */
  readonly write: (write: BufferedWrite) => void
  /** From now on every member throws, and what the tool left running changes nothing. */
  readonly close: () => void
  /** What the call emitted is stored, or given up. To be awaited before the transaction of the outcome. */
  readonly settled: () => Promise<void>
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

/** Reads the thread's row and the run's context; nothing is held open. */
export async function openBufferedState(options: BufferedStateOptions): Promise<BufferedState> {
  const { threadId, origin } = options
  const { store } = options.dependencies
  const thread = options.thread ?? (await store.read((db) => findThread(db, threadId)))
  if (thread === null) throw new Error(`Expected a row of thread ${threadId}, got none`)
  const key = origin.run === null ? null : { threadId, number: origin.run }
  const redactor = options.redactor ?? createRedactor()
  const context = await openRunContext(store, { key, redactor })
  const gate = createCallGate(`${origin.kind} ${origin.id}`)
  const parts = openParts(options, { thread, context, gate, redactor })
  const { files, journal, values, emitter } = parts
  const now = options.now * 1000

  function close(): void {
    gate.close()
    context.freeze()
  }

  return {
    state: parts.state,
    redactor,
    attach: (given) => resolveAttachments({ files, blobs: store.blobs }, given),
    write: (write) => journal.add(write),
    close,
    settled: emitter.settled,
    contextLooks: () => context.looks(),
    contextProblem() {
      close()
      return context.problem()
    },
    async commit(tx) {
      close()
      const moved = await files.commit(tx)
      const { operations, events } = await journal.commit(tx, moved)
      await values.commit(tx)
      await context.commit(tx)
      if (events.length > 0) await appendEvents(tx, { threadId, events, now })
      return { operations, moved }
    },
  }
}

interface Opened {
  readonly thread: StateThread
  readonly context: RunContext
  readonly gate: CallGate
  readonly redactor: Redactor
}

function openParts(options: BufferedStateOptions, { thread, context, gate, redactor }: Opened) {
  const { dependencies, threadId, agent, origin, content, messageHooks } = options
  const { store, registry } = dependencies
  const now = options.now * 1000
  const prompt = options.execution?.promptPath.at(-1) ?? null
  const journal = createJournal(gate)
  const files = createFilesOverlay({ store, threadId, now, gate })
  const values = createValuesOverlay(store, threadId)
  const common = { dependencies, store, threadId, journal, origin, redactor, now }
  const emitter = createEmitter(common)
  const hooks = messageHooks === undefined ? null : { hooks: messageHooks, state: () => state }
  const facts = options.execution
  const state: ThreadState = createThreadState({
    gate,
    redactor,
    known: {
      threadId,
      agentId: agent,
      userId: thread.user_id,
      createdAt: thread.created_at,
      terminated: thread.terminated_at ?? thread.terminate_requested_at,
      execution:
        facts === null ? null : createExecutionState({ facts, plan: content?.plan ?? null, gate, journal }),
      context: context.value,
    },
    values,
    messages: createMessagesOverlay({ ...common, files, prompt, hooks }),
    files: createFileMembers({ files, blobs: store.blobs, gate }),
    variables: createVariablesOverlay({ ...common, scope: { threadId, agent, content, prompt } }),
    effects: createEffectsOverlay({ ...common, registry }),
    definitions: createDefinitionMembers(registry),
    queueTool: createQueuedTools(common).queueTool,
    emit: emitter.emit,
    invokeTool: async (name, args) => invoke(options.invokeTool)(name, args, { state, redactor }),
    terminate: () => journal.add(async () => ({ operations: [{ kind: 'terminate' }] })),
  })
  return { state, files, journal, values, emitter }
}

function invoke(invokeTool: InvokeTool | undefined): InvokeTool {
  if (invokeTool !== undefined) return invokeTool
  throw new Error('Expected a call in which tools can be invoked, got another one: use queueTool.')
}
