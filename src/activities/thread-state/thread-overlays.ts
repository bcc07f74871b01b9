/**
 * One thread as one call sees it: the store with the call's writes so far.
 *
 * Owns: opening the overlays of one thread and composing their members; their common commit; the members that look up other
 * threads and the definitions of this process.
 * Does not own: each overlay (messages.ts, files.ts, values.ts, work.ts), the gate and redaction (members.ts), the lookup of
 * other threads (relatives.ts).
 */
import type { Registry } from '../../definitions/known-definitions.js'
import type { ExecutionState, ThreadState } from '../../definitions/thread-state.js'
import { LIMITS } from '../../protocol/limits.js'
import type { SubagentRegistryEntry } from '../../protocol/status.js'
import { appendEvents } from '../../store/events.js'
import type { Writer } from '../../store/store.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import type { ActivityDependencies } from '../activity.js'
import { publishStatus } from '../publish-status.js'
import type { Redactor } from '../variables/redactor.js'
import type { VariableScope } from '../variables/variables.js'
import { createFileMembers } from './file-members.js'
import { createFilesOverlay } from './files.js'
import type { FilesOverlay } from './files.js'
import { createJournal } from './journal.js'
import type { BufferedWrite, CallGate, Journal, StateOrigin, Written } from './journal.js'
import type { MemberParts } from './members.js'
import { createMessagesOverlay } from './messages.js'
import { kindOf } from './strict-json.js'
import { createValuesOverlay } from './values.js'
import { createWorkOverlay } from './work.js'
import type { Micros } from '../../protocol/time.js'

/** The thread to open, and the call that opens it. */
export interface StatePlace {
  readonly dependencies: ActivityDependencies
  readonly scope: VariableScope
  /** What the state shows of its thread. */
  readonly thread: Pick<
    ThreadRecord,
    'user_id' | 'created_at' | 'terminated_at' | 'terminate_requested_at' | 'parent_thread_id'
  >
  readonly children: readonly SubagentRegistryEntry[]
  readonly origin: StateOrigin
  readonly gate: CallGate
  readonly redactor: Redactor
  readonly relatives: Family
  readonly context: ThreadState['context']
  /** Null outside of a run, and for another thread. */
  readonly execution: ((journal: Journal) => ExecutionState) | null
  readonly hooks: Parameters<typeof createMessagesOverlay>[0]['hooks']
  readonly invokeTool: ThreadState['invokeTool']
  readonly terminate: BufferedWrite
  readonly onNotified: (content: string) => void
  readonly now: Micros
}

/** The open overlays of one thread. */
interface OpenParts extends MemberParts {
  /** A silent message from a child of this thread. */
  readonly notify: Notify
  readonly files: FilesOverlay
  readonly journal: Journal
  readonly values: ReturnType<typeof createValuesOverlay>
  /** Waits until all events of `emit` are stored, or their write has failed. */
  readonly settled: () => Promise<void>
}

type Notify = ReturnType<typeof createMessagesOverlay>['notify']

export function openParts(place: StatePlace): OpenParts {
  const { dependencies, scope, thread, origin, gate, redactor, now, relatives, onNotified } = place
  const { store } = dependencies
  const { threadId } = scope
  const journal = createJournal(gate)
  const files = createFilesOverlay({ store, threadId, now, gate })
  const common = { dependencies, store, threadId, journal, origin, redactor, now }
  const values = createValuesOverlay({ ...common, scope })
  const work = createWorkOverlay(common)
  const { notify, ...messages } = createMessagesOverlay({
    ...common,
    files,
    prompt: scope.prompt,
    hooks: place.hooks,
  })
  const methods: MemberParts['methods'] = {
    ...messages,
    ...createDefinitionMembers(dependencies.registry),
    ...createFamilyMembers({ ...common, parentId: thread.parent_thread_id, relatives, onNotified }),
    ...values.members,
    ...work.members,
    invokeTool: place.invokeTool,
    ...createFileMembers({ files, blobs: store.blobs, gate }),
    terminate: async () => journal.add(place.terminate),
  }
  const { settled } = work
  return { known: propertiesOf(place, journal), methods, notify, files, journal, values, settled }
}

function propertiesOf(place: StatePlace, journal: Journal): MemberParts['known'] {
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
  readonly now: Micros
}

/** Commits the call's writes to the thread, with their events. `moved`: attachments that were put at another path. */
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

/** The members of `ThreadState` that reach other threads. */
type FamilyMembers = Pick<ThreadState, 'getChildThread' | 'getParentThread' | 'notifyParent' | 'setStatus'>

/** Another thread that a call has opened. */
export interface Relative {
  readonly state: ThreadState
  readonly notify: Notify
}

/** The lookups of other threads. */
interface Family {
  /** Null for a root thread, and for a parent that is not in the store. */
  readonly parentOf: (parentId: string | null) => Promise<Relative | null>
  /** Null if the reference does not name a child of that thread. */
  readonly childOf: (parentId: string, reference: string) => Promise<Relative | null>
}

interface FamilyMembersOptions {
  readonly threadId: string
  /** Null for a root thread. */
  readonly parentId: string | null
  readonly relatives: Family
  readonly journal: Journal
  /** Called with each text that is sent to the parent. */
  readonly onNotified: (content: string) => void
  readonly now: Micros
}

function createFamilyMembers(options: FamilyMembersOptions): FamilyMembers {
  const { threadId, parentId, relatives, journal, onNotified, now } = options
  return {
    getChildThread: async (reference) => (await relatives.childOf(threadId, reference))?.state ?? null,
    getParentThread: async () => (await relatives.parentOf(parentId))?.state ?? null,
    async notifyParent(given) {
      const content = requireText(given, 'the content of notifyParent')
      const parent = await relatives.parentOf(parentId)
      if (parent === null) return
      await parent.notify({ content, reference: threadId })
      onNotified(content)
    },
    async setStatus(given) {
      const text = requireText(given, 'the text of setStatus')
      if (text.length > LIMITS.statusText)
        throw new Error(
          `Expected the text of setStatus to have at most ${LIMITS.statusText} characters, got ${text.length}: ` +
            'use notifyParent for more.',
        )
      journal.add(async (tx) => {
        await publishStatus(tx, { reference: threadId, text, now })
        return {}
      })
    },
  }
}

function requireText(given: unknown, named: string): string {
  const text = typeof given === 'string' ? given.trim() : ''
  if (text !== '') return text
  const came = typeof given === 'string' ? 'an empty one' : kindOf(given)
  throw new Error(`Expected ${named} to be a text, got ${came}.`)
}

type DefinitionMembers = Pick<
  ThreadState,
  'loadAgent' | 'loadPrompt' | 'loadModel' | 'getAgentNames' | 'getPromptNames' | 'getModelNames'
>

/** Members that return this worker's current definitions; a run keeps those that it started with. */
function createDefinitionMembers(registry: Registry): DefinitionMembers {
  return {
    loadAgent: async (name) => requireDefinition(registry.agent(name), 'agent', name),
    loadPrompt: async (name) => requireDefinition(registry.prompt(name), 'prompt', name),
    loadModel: async (name) => requireDefinition(registry.model(name), 'model', name),
    getAgentNames: () => [...registry.names().agents],
    getPromptNames: () => [...registry.names().prompts],
    getModelNames: () => [...registry.names().models],
  }
}

function requireDefinition<Definition>(
  definition: Definition | undefined,
  kind: string,
  name: unknown,
): Definition {
  if (definition !== undefined) return definition
  throw new Error(`Expected the name of a registered ${kind}, got "${String(name)}", which is none.`)
}
