/**
 * The table of `ThreadState`'s members, and the state of a call, which interprets it.
 *
 * This file owns: which members exist; the access of each to its thread; whether it is synchronous; which of its arguments
 * are redacted; whether a hook may use it on a subagent that has not started.
 *
 * It does not own: the implementation of a member (messages.ts, files.ts, file-members.ts, work.ts,
 * thread-overlays.ts); the commit (buffered-state.ts); the other interpreters of the table: another thread (relatives.ts),
 * an endpoint (endpoint-state.ts), one hook or tool (hooks/guarded-state.ts).
 *
 * Invariants:
 * M1: each member has one row, and each state has a rule for each access. A new member or a new access does not compile
 *     until it has a row, an implementation, and a rule in each state.
 * M2: no member of a call's state works or returns a result after the call's gate is closed (T9).
 * M3: what a member stores, or uses as the name of stored data, contains no secret that the code read (T5).
 */
import type { ThreadState } from '../../definitions/thread-state.js'
import type { Redactor } from '../variables/redactor.js'
import type { CallGate } from './journal.js'
import { suppressUnhandled } from './watched-promises.js'

/** A member without its signature: interpreters wrap it and do not touch its arguments and results. */
type Method = (...given: readonly unknown[]) => unknown

type MethodName = {
  [Name in keyof ThreadState]: ThreadState[Name] extends (...given: never) => unknown ? Name : never
}[keyof ThreadState]

/** The members that are functions. */
type Methods = Pick<ThreadState, MethodName>

/** The members that are not functions. */
type Properties = Omit<ThreadState, MethodName>

/** The arguments that are redacted (M3). `labels`: all but the second one, which holds the tool's own bytes. */
type Redaction = 'arguments' | 'labels' | 'none'

/**
 * Whether a hook may use the member on a subagent that has not started. `not_started`: refused, since it needs the subagent's
 * workflow. `not_registered`: refused, since the parent's registry does not list the subagent yet.
 */
export type BeforeStart = 'allowed' | 'not_started' | 'not_registered'

/** Reads the thread, or the definitions of this process. */
interface ReadingRow {
  readonly access: 'read' | 'definitions'
  readonly redacts: Redaction
}

/** Returns the state of another thread. */
interface LookupRow {
  readonly access: 'lookup'
  readonly redacts: Redaction
  readonly beforeStart: BeforeStart
}

/**
 * Changes the thread. `write`: only its rows. `signal`: also signals its workflow, which finds the change at its start if it
 * has not started. `signal_started`: signals its workflow, which must have started. `invoke`: runs a tool in place, which may
 * do all of this.
 */
interface ChangingRow {
  readonly access: 'write' | 'signal' | 'signal_started' | 'invoke'
  readonly redacts: Redaction
  readonly beforeStart: BeforeStart
  /** Does nothing on another thread that is closed, because its purpose is fulfilled; other members are refused. */
  readonly isNoopOnClosed?: true
}

type Row = ReadingRow | LookupRow | ChangingRow

/** Members without `sync` return a promise; those with it throw synchronously. */
type RowOf<Member> = Member extends (...given: never) => infer Result
  ? Row & (Result extends Promise<unknown> ? { readonly sync?: never } : { readonly sync: true })
  : { readonly access: 'known' }

/** A row for each member. */
export type MemberTable = { readonly [Name in keyof ThreadState]-?: RowOf<ThreadState[Name]> }

const KNOWN = { access: 'known' } as const
const READ = { access: 'read', redacts: 'none' } as const
const READ_FILE = { access: 'read', redacts: 'arguments' } as const
const DEFINITIONS = { access: 'definitions', redacts: 'none' } as const
const LOOKUP = { access: 'lookup', redacts: 'none', beforeStart: 'not_registered' } as const
const WRITE = { access: 'write', redacts: 'arguments', beforeStart: 'allowed' } as const
const REGISTRY = { access: 'write', redacts: 'arguments', beforeStart: 'not_registered' } as const
const SIGNAL_STARTED = { access: 'signal_started', redacts: 'arguments', beforeStart: 'not_started' } as const

export const MEMBERS = {
  threadId: KNOWN,
  agentId: KNOWN,
  userId: KNOWN,
  createdAt: KNOWN,
  terminated: KNOWN,
  execution: KNOWN,
  context: KNOWN,
  children: KNOWN,

  getMessages: READ,
  getMessage: READ,
  injectMessage: WRITE,
  queueMessage: SIGNAL_STARTED,
  updateMessage: WRITE,
  // A queued message also leaves the workflow's queue. A subagent that has not started has only rows.
  deleteMessage: { access: 'signal_started', redacts: 'none', beforeStart: 'allowed' },

  loadAgent: DEFINITIONS,
  loadPrompt: DEFINITIONS,
  loadModel: DEFINITIONS,
  getAgentNames: { ...DEFINITIONS, sync: true },
  getPromptNames: { ...DEFINITIONS, sync: true },
  getModelNames: { ...DEFINITIONS, sync: true },

  getChildThread: LOOKUP,
  getParentThread: LOOKUP,
  // On another thread this is a write there; the signal to that thread's parent counts as a `signal` to the parent.
  notifyParent: REGISTRY,
  setStatus: REGISTRY,

  env: READ,
  envType: READ,
  // Values are redacted by their type: a secret is kept unchanged.
  setEnv: { access: 'signal', redacts: 'none', beforeStart: 'allowed' },

  queueTool: { ...SIGNAL_STARTED, sync: true },
  // A tool in place may need the secret, so arguments are passed unchanged; nothing of the call is stored.
  invokeTool: { access: 'invoke', redacts: 'none', beforeStart: 'not_started' },
  scheduleEffect: SIGNAL_STARTED,
  getScheduledEffects: READ,
  removeScheduledEffect: { access: 'signal_started', redacts: 'none', beforeStart: 'not_started' },
  emit: { ...WRITE, sync: true },

  // The key is stored redacted, so it is read redacted.
  getValue: { access: 'read', redacts: 'arguments' },
  setValue: WRITE,

  // The bytes of a file belong to the tool; others read its path and its labels.
  writeFile: { access: 'write', redacts: 'labels', beforeStart: 'allowed' },
  readFile: READ_FILE,
  readFileStream: READ_FILE,
  statFile: READ_FILE,
  getFileThumbnail: READ_FILE,
  readdirFile: READ_FILE,
  unlinkFile: WRITE,
  mkdirFile: WRITE,
  rmdirFile: WRITE,
  grepFiles: READ,
  findFiles: READ,
  getFileStats: READ,
  usage: READ,

  // A closed thread is the result that the caller wants.
  terminate: { access: 'signal_started', redacts: 'none', beforeStart: 'not_started', isNoopOnClosed: true },
} as const satisfies MemberTable

type MethodRow = Row & { readonly sync?: true }

const METHOD_ROWS: ReadonlyMap<string, MethodRow> = new Map(
  Object.entries(MEMBERS).flatMap(([name, row]) => (row.access === 'known' ? [] : [[name, row] as const])),
)

/** Returns the row of a member that is a function; undefined for other names, which reach proxies too. */
export function rowOf(name: string): MethodRow | undefined {
  return METHOD_ROWS.get(name)
}

/**
 * Makes the methods of a state, each from its row. The casts drop and restore signatures: a made method must take and
 * return what the member of that name does.
 */
export function makeMethods(make: (name: MethodName, row: MethodRow) => Method): Methods {
  const made = [...METHOD_ROWS].map(([name, row]) => [name, make(name as MethodName, row)])
  return Object.fromEntries(made) as Methods
}

/** Returns a member without its signature. */
export function methodOf(methods: Methods, name: MethodName): Method {
  return methods[name] as Method
}

/** One thread behind the gate of one call. */
interface StateParts {
  readonly known: Properties
  readonly methods: Methods
  readonly gate: CallGate
  readonly redactor: Redactor
}

/** Creates the object that tools get. Members throw once the gate is closed (M2) and store no secrets (M3). */
export function createThreadState({ gate, redactor, known, methods }: StateParts): ThreadState {
  function property<Name extends keyof Properties>(name: Name): Properties[Name] {
    gate.assertOpen()
    return known[name]
  }
  return {
    get threadId() {
      return property('threadId')
    },
    get agentId() {
      return property('agentId')
    },
    get userId() {
      return property('userId')
    },
    get createdAt() {
      return property('createdAt')
    },
    get terminated() {
      return property('terminated')
    },
    get execution() {
      return property('execution')
    },
    get context() {
      return property('context')
    },
    get children() {
      return property('children')
    },
    ...makeMethods((name, { sync, redacts }) => {
      const method = redactArguments(redactor, redacts, methodOf(methods, name))
      return sync === true ? ifOpen(gate, method) : whileOpen(gate, method)
    }),
  }
}

/** As `whileOpen`, for a synchronous member. */
function ifOpen(gate: CallGate, method: Method): Method {
  return (...given) => {
    gate.assertOpen()
    return method(...given)
  }
}

/** Refuses the member after the end of the call, even if the call ends while the member runs. */
function whileOpen(gate: CallGate, method: Method): Method {
  async function run(given: readonly unknown[]): Promise<unknown> {
    gate.assertOpen()
    const answer = await method(...given)
    gate.assertOpen()
    return answer
  }
  // A tool that does not await it would otherwise end the worker's process with an unhandled rejection.
  return (...given) => suppressUnhandled(run(given))
}

function redactArguments(redactor: Redactor, redacts: Redaction, method: Method): Method {
  switch (redacts) {
    case 'none':
      return method
    case 'arguments':
      return (...given) => method(...redactor.redactJson(given))
    case 'labels':
      return (path, data, ...labels) =>
        method(redactor.redactJson(path), data, ...redactor.redactJson(labels))
  }
}
