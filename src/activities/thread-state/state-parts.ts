import type { ExecutionState, ThreadState } from '../../definitions/thread-state.js'
import type { SubagentRegistryEntry } from '../../protocol/subagent.js'
import { appendEvents } from '../../store/events.js'
import type { Writer } from '../../store/store.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import type { ActivityDependencies } from '../activity.js'
import type { Redactor } from '../variables/redactor.js'
import type { VariableScope } from '../variables/resolve-variables.js'
import type { CallGate } from './call-gate.js'
import { createDefinitionMembers } from './definition-members.js'
import { createEffectsOverlay } from './effects-overlay.js'
import { createEmitter } from './emitter.js'
import type { Emitter } from './emitter.js'
import { createFamilyMembers } from './family-members.js'
import { createFileMembers } from './file-members.js'
import { createFilesOverlay } from './files-overlay.js'
import type { FilesOverlay } from './files-overlay.js'
import { createJournal } from './journal.js'
import type { BufferedWrite, Journal, Written } from './journal.js'
import type { BoundMessageHooks } from './message-hooks.js'
import { createMessagesOverlay } from './messages-overlay.js'
import { createQueuedTools } from './queued-tools-overlay.js'
import type { Relatives } from './relatives.js'
import type { StateOrigin } from './state-origin.js'
import type { ThreadStateParts } from './thread-state-members.js'
import { createValuesOverlay } from './values-overlay.js'
import type { ValuesOverlay } from './values-overlay.js'
import { createVariablesOverlay } from './variables-overlay.js'

/** What a state says of its thread. */
export type StateThread = Pick<
  ThreadRecord,
  'user_id' | 'created_at' | 'terminated_at' | 'terminate_requested_at' | 'parent_thread_id'
>

/** One thread as one call finds it. */
export interface StatePlace {
  readonly dependencies: ActivityDependencies
  readonly scope: VariableScope
  readonly thread: StateThread
  readonly children: readonly SubagentRegistryEntry[]
  readonly origin: StateOrigin
  readonly gate: CallGate
  readonly redactor: Redactor
  readonly relatives: Relatives
  readonly context: ThreadState['context']
  /** Null outside of a run, and of one's own thread. */
  readonly execution: ((journal: Journal) => ExecutionState) | null
  readonly hooks: BoundMessageHooks
  readonly invokeTool: ThreadState['invokeTool']
  readonly terminate: BufferedWrite
  readonly onNotified: (content: string) => void
  /** Microseconds. */
  readonly now: number
}

/** The overlays of one thread: what is read through them is the store and what the call wrote. */
export interface OpenParts {
  readonly parts: ThreadStateParts
  readonly files: FilesOverlay
  readonly journal: Journal
  readonly values: ValuesOverlay
  readonly emitter: Emitter
}

export function openParts(place: StatePlace): OpenParts {
  const { dependencies, scope, thread, origin, gate, redactor, now } = place
  const { store, registry } = dependencies
  const { threadId } = scope
  const journal = createJournal(gate)
  const files = createFilesOverlay({ store, threadId, now, gate })
  const values = createValuesOverlay(store, threadId)
  const common = { dependencies, store, threadId, journal, origin, redactor, now }
  const emitter = createEmitter(common)
  const { relatives, onNotified } = place
  const parts: ThreadStateParts = {
    ...{ gate, redactor, values },
    known: knownOf(place, journal),
    messages: createMessagesOverlay({ ...common, files, prompt: scope.prompt, hooks: place.hooks }),
    files: createFileMembers({ files, blobs: store.blobs, gate }),
    variables: createVariablesOverlay({ ...common, scope }),
    effects: createEffectsOverlay({ ...common, registry }),
    definitions: createDefinitionMembers(registry),
    family: createFamilyMembers({ ...common, parentId: thread.parent_thread_id, relatives, onNotified }),
    queueTool: createQueuedTools(common).queueTool,
    emit: emitter.emit,
    invokeTool: place.invokeTool,
    terminate: () => journal.add(place.terminate),
  }
  return { parts, files, journal, values, emitter }
}

function knownOf(place: StatePlace, journal: Journal): ThreadStateParts['known'] {
  const { scope, thread, execution, context, children } = place
  return {
    threadId: scope.threadId,
    agentId: scope.agent,
    userId: thread.user_id,
    createdAt: thread.created_at,
    terminated: thread.terminated_at ?? thread.terminate_requested_at,
    execution: execution === null ? null : execution(journal),
    context,
    children,
  }
}

interface CommittedParts {
  readonly threadId: string
  /** Microseconds. */
  readonly now: number
}

/** Writes what was done to the thread, with its events; `moved`: attachments that are at another path now. */
export async function commitParts(
  tx: Writer,
  { files, journal, values }: OpenParts,
  { threadId, now }: CommittedParts,
): Promise<Pick<Required<Written>, 'operations'> & { readonly moved: ReadonlyMap<string, string> }> {
  const moved = await files.commit(tx)
  const { operations, events } = await journal.commit(tx, moved)
  await values.commit(tx)
  if (events.length > 0) await appendEvents(tx, { threadId, events, now })
  return { operations, moved }
}
