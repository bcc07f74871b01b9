/**
 * One thread as one call sees it: the store with the call's writes so far.
 *
 * Owns: opening the overlays of one thread and composing their members; their common commit; the overlay of values and
 * variables; the members that look up other threads and the definitions of this process.
 * Does not own: the other overlays (messages.ts, files.ts, work.ts), the gate and redaction (members.ts), the lookup of
 * other threads (relatives.ts).
 *
 * Invariants:
 * V1: a value is kept as JSON, so later changes of the code's object have no effect.
 * V2: the redactor gets each secret before the code does (T5).
 * V3: a variable that is declared a secret is stored as one, whatever type the code passes.
 */
import type { Registry } from '../../definitions/known-definitions.js'
import type { ExecutionState, ThreadState } from '../../definitions/thread-state.js'
import { fact } from '../../protocol/facts.js'
import { LIMITS } from '../../protocol/limits.js'
import type { SubagentRegistryEntry } from '../../protocol/status.js'
import type { Micros } from '../../protocol/time.js'
import { variableNameProblem, variableValueProblem } from '../../protocol/values.js'
import type { JsonValue } from '../../protocol/values.js'
import { appendEvents } from '../../store/events.js'
import type { Store, Writer } from '../../store/store.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import { sumThreadUsage } from '../../store/threads/thread-usage.js'
import { findVariables, getValue, putVariable, setValue } from '../../store/threads/variables.js'
import type { ActivityDependencies } from '../activity.js'
import { publishStatus } from '../publish-status.js'
import type { Redactor } from '../variables/redactor.js'
import { findDeclaredType, resolveVariables } from '../variables/variables.js'
import type { ResolvedVariable, VariableScope } from '../variables/variables.js'
import { createFileMembers } from './file-members.js'
import { createFilesOverlay } from './files.js'
import type { FilesOverlay } from './files.js'
import { createJournal, scopeOf } from './journal.js'
import type { BufferedWrite, CallGate, Journal, StateOrigin, Written } from './journal.js'
import type { createThreadState } from './members.js'
import { createMessagesOverlay } from './messages.js'
import { jsonCopy, kindOf } from './strict-json.js'
import { createWorkOverlay } from './work.js'

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

/** All members of the state of one thread, before a call's rules wrap them. */
type MemberParts = Pick<Parameters<typeof createThreadState>[0], 'known' | 'methods'>

/** The open overlays of one thread. */
interface OpenParts extends MemberParts {
  /** A silent message from a child of this thread. */
  readonly notify: Notify
  readonly files: FilesOverlay
  readonly journal: Journal
  readonly values: ReturnType<typeof createValuesOverlay>
  /** Waits until all events of `emit` are stored, or their write has failed. */
  readonly waitForWork: () => Promise<void>
}

type Notify = ReturnType<typeof createMessagesOverlay>['notify']

export function openParts(place: StatePlace): OpenParts {
  const { dependencies, scope, thread, origin, gate, redactor, now, relatives, onNotified } = place
  const { store } = dependencies
  const { threadId } = scope
  const journal = createJournal(gate)
  const files = createFilesOverlay({ store, threadId, now, gate, about: scopeOf(origin) })
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
    usage: () => store.read((db) => sumThreadUsage(db, [threadId])),
    terminate: async () => journal.add(place.terminate),
  }
  const { waitForWork } = work
  return { known: propertiesOf(place, journal), methods, notify, files, journal, values, waitForWork }
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

/** Keys are in an index of the database, which bounds their length. */
const KEY_LENGTH = 256

/** A thread's values and variables as one call sees them. */
interface ValuesOverlay {
  readonly members: ValueMembers & VariableMembers
  /** Commits the values; variables are writes of the journal. */
  readonly commit: (tx: Writer) => Promise<void>
}

type ValueMembers = Pick<ThreadState, 'getValue' | 'setValue'>

type VariableMembers = Pick<ThreadState, 'env' | 'envType' | 'setEnv'>

interface ValuesOverlayOptions {
  readonly dependencies: ActivityDependencies
  readonly scope: VariableScope
  readonly journal: Journal
  readonly origin: StateOrigin
  /** Gets each secret (V2). */
  readonly redactor: Redactor
  readonly now: Micros
}

function createValuesOverlay(options: ValuesOverlayOptions): ValuesOverlay {
  const { commit, ...values } = createBufferedValues(options.dependencies.store, options.scope.threadId)
  return { members: { ...values, ...createVariableMembers(options) }, commit }
}

function createBufferedValues(store: Store, threadId: string): ValueMembers & Pick<ValuesOverlay, 'commit'> {
  /** JSON texts (V1); undefined for a deleted value. */
  const written = new Map<string, string | undefined>()
  return {
    async getValue(key) {
      assertKey(key)
      if (!written.has(key)) return (await store.read((db) => getValue(db, threadId, key))) ?? null
      return parse(written.get(key)) ?? null
    },
    async setValue(key, value) {
      assertKey(key)
      written.set(
        key,
        value === undefined ? undefined : JSON.stringify(jsonCopy(value, `the value of "${key}"`)),
      )
    },
    async commit(tx) {
      for (const [key, text] of written) await setValue(tx, { threadId, key, value: parse(text) })
    },
  }
}

function parse(text: string | undefined): JsonValue | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as JsonValue)
}

function assertKey(key: unknown): void {
  if (typeof key === 'string' && key.length > 0 && key.length <= KEY_LENGTH) return
  const came = typeof key === 'string' ? `one of ${key.length}` : typeof key
  throw new Error(`Expected the key of a value to be a text of 1 to ${KEY_LENGTH} characters, got ${came}.`)
}

function createVariableMembers(options: ValuesOverlayOptions): VariableMembers {
  const { dependencies, scope, journal, origin, redactor, now } = options
  const { store } = dependencies
  const { threadId } = scope
  const written = new Map<string, ResolvedVariable>()

  async function find(name: string): Promise<ResolvedVariable | undefined> {
    const problem = variableNameProblem(name)
    if (problem !== undefined) throw new Error(problem)
    return written.get(name) ?? (await resolveVariables(dependencies, scope, [name])).get(name)
  }

  /** Returns the type under which the variable is stored (V3). */
  async function typeFor(name: string, given: unknown): Promise<ResolvedVariable['type']> {
    if (given !== undefined && given !== 'text' && given !== 'secret')
      throw new Error('Expected the type of setEnv to be "text" or "secret", got something else.')
    const declared = findDeclaredType(scope, name)
    if (declared === 'secret') return 'secret'
    if (given !== undefined) return given
    const known = written.get(name) ?? (await store.read((db) => findVariables(db, threadId, [name])))[0]
    return known?.type ?? declared ?? 'secret'
  }

  function disclose(name: string, type: ResolvedVariable['type'], value: string): string {
    if (type === 'secret') redactor.note(name, value)
    return value
  }

  return {
    async env(name) {
      const found = await find(name)
      if (found !== undefined) return disclose(name, found.type, found.open())
      throw new Error(
        `Expected the variable "${name}" to have a value, got none: set it on the thread, in the worker's env, ` +
          'or in the env of the agent or the prompt.',
      )
    },
    envType: async (name) => (await find(name))?.type ?? findDeclaredType(scope, name) ?? 'secret',
    async setEnv(name, value, { type: wanted } = {}) {
      const problem = variableNameProblem(name) ?? variableValueProblem(name, value)
      if (problem !== undefined) throw new Error(problem)
      const type = await typeFor(name, wanted)
      // Without a key on this worker this throws to the code here, and not at the commit.
      if (type === 'secret') store.secrets.seal('', { threadId, name })
      // A text is stored in plain form and may get into prompts, so it must contain no secret.
      const kept = type === 'secret' ? disclose(name, type, value) : redactor.redact(value)
      journal.add(async (tx) => {
        await putVariable(tx, store.secrets, { threadId, name, value: kept, type, now })
        const changed = fact('variables.changed', { names: [name] }, scopeOf(origin))
        return { operations: [{ kind: 'set_env' }], events: [changed] }
      })
      written.set(name, { type: findDeclaredType(scope, name) ?? type, open: () => kept })
    },
  }
}
