/**
 * The members of `ThreadState` as one table, and the state of a call, which is its first interpreter.
 *
 * This file owns: which members there are; what each of them does to its thread; whether it answers at once or by a
 * promise; what of its arguments is stored without the secrets that the code was given; whether a hook may use it on a
 * subagent that has not started.
 *
 * It does not own: what a member does (messages.ts, files.ts, file-members.ts, values.ts, work.ts, thread-overlays.ts); when
 * that is committed (buffered-state.ts); what the other states make of a row: a thread around the call's own
 * (relatives.ts), an endpoint (endpoint-state.ts), one hook or tool (hooks/guarded-state.ts).
 *
 * Invariants:
 * M1: each member has one row, and each state has a rule for each access. A new member or a new access does not compile
 *     until it has a row, an implementation, and a rule in each state.
 * M2: no member of a call's state works after the call's gate is closed, nor answers what it found after that (T9).
 * M3: what a member stores, or uses as a name of what is stored, holds no secret that the code was given (T5).
 */
import type { ThreadState } from '../../definitions/thread-state.js'
import type { Redactor } from '../variables/redactor.js'
import type { CallGate } from './journal.js'
import { suppressUnhandled } from './watched-promises.js'

/** A member without its signature: interpreters put rules around it, and leave what it takes and answers alone. */
type Method = (...given: readonly unknown[]) => unknown

type MethodName = {
  [Name in keyof ThreadState]: ThreadState[Name] extends (...given: never) => unknown ? Name : never
}[keyof ThreadState]

/** The members that are functions. */
type Methods = Pick<ThreadState, MethodName>

/** The members that are no functions. */
type Properties = Omit<ThreadState, MethodName>

/** What of the arguments is stored without secrets (M3). `labels`: all but the second one, which is the tool's own bytes. */
type Redaction = 'arguments' | 'labels' | 'none'

/**
 * What a hook may do to a subagent that has not started. `not_started`: the member needs the subagent's workflow.
 * `not_registered`: it needs the parent's registry, which does not list the subagent yet.
 */
export type BeforeStart = 'allowed' | 'not_started' | 'not_registered'

/** Reads: the thread, or the definitions of this process. */
interface ReadingRow {
  readonly access: 'read' | 'definitions'
  readonly redacts: Redaction
}

/** Answers the state of another thread. */
interface LookupRow {
  readonly access: 'lookup'
  readonly redacts: Redaction
  readonly beforeStart: BeforeStart
}

/**
 * Changes the thread. `write`: its rows alone. `tell`: its workflow is told, too, and finds it at its start if it has not
 * started. `ask`: its workflow is told, and must have started. `invoke`: runs a tool in place, which may do all of this.
 */
interface ChangingRow {
  readonly access: 'write' | 'tell' | 'ask' | 'invoke'
  readonly redacts: Redaction
  readonly beforeStart: BeforeStart
  /** On another thread that is closed it does nothing, since what it is for has happened; other members are refused. */
  readonly passesOverClosed?: true
}

type Row = ReadingRow | LookupRow | ChangingRow

/** What a member does to its thread. */
export type Access = Row['access']

/** Members that answer at once throw at once; all others answer by a promise. */
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
const ASK = { access: 'ask', redacts: 'arguments', beforeStart: 'not_started' } as const

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
  queueMessage: ASK,
  updateMessage: WRITE,
  // A queued message leaves the workflow's queue, too. A subagent that has not started has no queue but its rows.
  deleteMessage: { access: 'ask', redacts: 'none', beforeStart: 'allowed' },

  loadAgent: DEFINITIONS,
  loadPrompt: DEFINITIONS,
  loadModel: DEFINITIONS,
  getAgentNames: { ...DEFINITIONS, sync: true },
  getPromptNames: { ...DEFINITIONS, sync: true },
  getModelNames: { ...DEFINITIONS, sync: true },

  getChildThread: LOOKUP,
  getParentThread: LOOKUP,
  // On another thread it is a write there; what its parent's workflow is told counts as a `tell` to the parent.
  notifyParent: REGISTRY,
  setStatus: REGISTRY,

  env: READ,
  envType: READ,
  // The variables redact the value by its type: a secret is kept as it is.
  setEnv: { access: 'tell', redacts: 'none', beforeStart: 'allowed' },

  queueTool: { ...ASK, sync: true },
  // A tool in place may need the secret: it gets it as it is, and nothing of the call is stored.
  invokeTool: { access: 'invoke', redacts: 'none', beforeStart: 'not_started' },
  scheduleEffect: ASK,
  getScheduledEffects: READ,
  removeScheduledEffect: { access: 'ask', redacts: 'none', beforeStart: 'not_started' },
  emit: { ...WRITE, sync: true },

  // The key is stored without secrets, so it is read without them.
  getValue: { access: 'read', redacts: 'arguments' },
  setValue: WRITE,

  // The bytes of a file are the tool's own; its path and what is said of it are read by others.
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

  // A thread that is closed is what the caller wanted.
  terminate: { access: 'ask', redacts: 'none', beforeStart: 'not_started', passesOverClosed: true },
} as const satisfies MemberTable

type MethodRow = Row & { readonly sync?: true }

const METHOD_ROWS: ReadonlyMap<string, MethodRow> = new Map(
  Object.entries(MEMBERS).flatMap(([name, row]) => (row.access === 'known' ? [] : [[name, row] as const])),
)

/** The row of a member that is a function, or undefined: proxies are asked for names of any kind. */
export function rowOf(name: string): MethodRow | undefined {
  return METHOD_ROWS.get(name)
}

/**
 * The methods of a state, each made from its row. Here signatures are left and taken up again: what is made of a member
 * takes and answers what the member of that name does.
 */
export function makeMethods(make: (name: MethodName, row: MethodRow) => Method): Methods {
  const made = [...METHOD_ROWS].map(([name, row]) => [name, make(name as MethodName, row)])
  return Object.fromEntries(made) as Methods
}

/** A member of a state without its signature. */
export function methodOf(methods: Methods, name: MethodName): Method {
  return methods[name] as Method
}

/** All members of the state of one thread, before the call's rules are put around them. */
export interface MemberParts {
  readonly known: Properties
  readonly methods: Methods
}

/** One thread behind the gate of one call. */
interface StateParts extends MemberParts {
  readonly gate: CallGate
  readonly redactor: Redactor
}

/** The one object that tools know. Each member is refused once the gate is closed (M2), and stores no secrets (M3). */
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

/** As `whileOpen`, of a member that answers at once. */
function ifOpen(gate: CallGate, method: Method): Method {
  return (...given) => {
    gate.assertOpen()
    return method(...given)
  }
}

/** The same member, refused from the end of the call on, also when the call ends while it runs. */
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
