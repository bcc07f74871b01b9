import type { ThreadState } from '../../definitions/thread-state.js'
import { whileOpen } from './call-gate.js'
import type { CallGate } from './call-gate.js'
import type { FileMembers } from './file-members.js'
import type { MessagesOverlay } from './messages-overlay.js'
import type { ValuesOverlay } from './values-overlay.js'

/** The members of `ThreadState` that are no functions. */
type KnownMembers = Pick<
  ThreadState,
  'threadId' | 'agentId' | 'userId' | 'createdAt' | 'terminated' | 'execution' | 'context'
>

export interface ThreadStateParts {
  readonly gate: CallGate
  readonly known: KnownMembers
  readonly values: ValuesOverlay
  readonly messages: MessagesOverlay
  readonly files: FileMembers
  readonly terminate: () => void
}

/** Puts the parts together as the one object that tools know; each member is refused once the gate is closed. */
export function createThreadState(parts: ThreadStateParts): ThreadState {
  const { gate, known, values, messages, files, terminate } = parts
  function property<Name extends keyof KnownMembers>(name: Name): KnownMembers[Name] {
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
    getMessages: whileOpen(gate, messages.list),
    getMessage: whileOpen(gate, messages.find),
    injectMessage: whileOpen(gate, async (message) => messages.inject(message)),
    queueMessage: whileOpen(gate, messages.queue),
    getValue: whileOpen(gate, values.get),
    setValue: whileOpen(gate, async (key, value) => values.set(key, value)),
    writeFile: whileOpen(gate, files.writeFile),
    readFile: whileOpen(gate, files.readFile),
    readFileStream: whileOpen(gate, files.readFileStream),
    statFile: whileOpen(gate, files.statFile),
    readdirFile: whileOpen(gate, files.readdirFile),
    unlinkFile: whileOpen(gate, files.unlinkFile),
    mkdirFile: whileOpen(gate, files.mkdirFile),
    rmdirFile: whileOpen(gate, files.rmdirFile),
    grepFiles: whileOpen(gate, files.grepFiles),
    findFiles: whileOpen(gate, files.findFiles),
    getFileStats: whileOpen(gate, files.getFileStats),
    terminate: whileOpen(gate, async () => terminate()),
  }
}
