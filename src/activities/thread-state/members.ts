import type { ThreadState } from '../../definitions/thread-state.js'
import type { JsonValue } from '../../protocol/values.js'
import type { Redactor } from '../variables/redactor.js'
import { ifOpen, whileOpen } from './call-gate.js'
import type { CallGate } from './call-gate.js'
import type { FileMembers } from './file-members.js'
import type { MessagesOverlay } from './messages.js'
import type { ValuesOverlay } from './values.js'

/** The members of `ThreadState` that are no functions. */
type KnownMembers = Pick<
  ThreadState,
  'threadId' | 'agentId' | 'userId' | 'createdAt' | 'terminated' | 'execution' | 'context' | 'children'
>

export interface ThreadStateParts {
  readonly gate: CallGate
  readonly redactor: Redactor
  readonly known: KnownMembers
  readonly values: ValuesOverlay
  readonly messages: MessagesOverlay
  readonly files: FileMembers
  readonly variables: Pick<ThreadState, 'env' | 'envType' | 'setEnv'>
  readonly effects: Pick<ThreadState, 'scheduleEffect' | 'getScheduledEffects' | 'removeScheduledEffect'>
  readonly definitions: Pick<
    ThreadState,
    'loadAgent' | 'loadPrompt' | 'loadModel' | 'getAgentNames' | 'getPromptNames' | 'getModelNames'
  >
  readonly family: Pick<ThreadState, 'getChildThread' | 'getParentThread' | 'notifyParent' | 'setStatus'>
  readonly queueTool: ThreadState['queueTool']
  readonly emit: ThreadState['emit']
  readonly invokeTool: ThreadState['invokeTool']
  readonly terminate: () => void
}

/** Puts the parts together as the one object that tools know; each member is refused once the gate is closed. */
export function createThreadState(parts: ThreadStateParts): ThreadState {
  const { gate, known, terminate } = parts
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
    get children() {
      return property('children')
    },
    ...messageMembers(parts),
    ...workMembers(parts),
    ...definitionMembers(parts),
    ...familyMembers(parts),
    ...contentMembers(parts),
    terminate: whileOpen(gate, async () => terminate()),
  }
}

/** What is handed over here becomes rows, events and requests: without the secrets that the code was given (T5). */
function withoutSecrets({ redactor }: ThreadStateParts) {
  return <Arguments extends readonly unknown[], Result>(
    work: (...given: Arguments) => Result,
  ): ((...given: Arguments) => Result) => {
    return (...given) => work(...redactor.redactJson(given))
  }
}

function messageMembers(parts: ThreadStateParts) {
  const { gate, messages } = parts
  const clean = withoutSecrets(parts)
  return {
    getMessages: whileOpen(gate, messages.list),
    getMessage: whileOpen(gate, messages.find),
    injectMessage: whileOpen(gate, clean(messages.inject)),
    queueMessage: whileOpen(gate, clean(messages.queue)),
    updateMessage: whileOpen(gate, clean(messages.update)),
    deleteMessage: whileOpen(gate, messages.remove),
  }
}

function workMembers(parts: ThreadStateParts) {
  const { gate, effects, queueTool, invokeTool, emit } = parts
  const clean = withoutSecrets(parts)
  return {
    queueTool: ifOpen(gate, clean(queueTool)),
    // A tool in place may need the secret: it gets it as it is, and nothing of the call is stored.
    invokeTool: whileOpen(gate, invokeTool),
    scheduleEffect: whileOpen(gate, clean(effects.scheduleEffect)),
    getScheduledEffects: whileOpen(gate, effects.getScheduledEffects),
    removeScheduledEffect: whileOpen(gate, effects.removeScheduledEffect),
    emit: ifOpen(gate, clean(emit)),
  }
}

function definitionMembers({ gate, definitions, variables }: ThreadStateParts) {
  return {
    loadAgent: whileOpen(gate, definitions.loadAgent),
    loadPrompt: whileOpen(gate, definitions.loadPrompt),
    loadModel: whileOpen(gate, definitions.loadModel),
    getAgentNames: ifOpen(gate, definitions.getAgentNames),
    getPromptNames: ifOpen(gate, definitions.getPromptNames),
    getModelNames: ifOpen(gate, definitions.getModelNames),
    env: whileOpen(gate, variables.env),
    envType: whileOpen(gate, variables.envType),
    setEnv: whileOpen(gate, variables.setEnv),
  }
}

function familyMembers(parts: ThreadStateParts) {
  const { gate, family } = parts
  const clean = withoutSecrets(parts)
  return {
    getChildThread: whileOpen(gate, family.getChildThread),
    getParentThread: whileOpen(gate, family.getParentThread),
    notifyParent: whileOpen(gate, clean(family.notifyParent)),
    setStatus: whileOpen(gate, clean(family.setStatus)),
  }
}

function contentMembers(parts: ThreadStateParts) {
  const { gate, values, files, redactor } = parts
  const clean = withoutSecrets(parts)
  const set = clean(async (key: string, value: JsonValue | undefined) => values.set(key, value))
  return {
    getValue: whileOpen(gate, clean(values.get)),
    setValue: whileOpen(gate, set),
    // What is in a file is the tool's own; how it is called is read by others.
    writeFile: whileOpen(gate, async (...[path, data, ...labels]: Parameters<FileMembers['writeFile']>) =>
      files.writeFile(redactor.redactJson(path), data, ...redactor.redactJson(labels)),
    ),
    readFile: whileOpen(gate, clean(files.readFile)),
    readFileStream: whileOpen(gate, clean(files.readFileStream)),
    statFile: whileOpen(gate, clean(files.statFile)),
    getFileThumbnail: whileOpen(gate, async (_path: string) => null),
    readdirFile: whileOpen(gate, clean(files.readdirFile)),
    unlinkFile: whileOpen(gate, clean(files.unlinkFile)),
    mkdirFile: whileOpen(gate, clean(files.mkdirFile)),
    rmdirFile: whileOpen(gate, clean(files.rmdirFile)),
    grepFiles: whileOpen(gate, files.grepFiles),
    findFiles: whileOpen(gate, files.findFiles),
    getFileStats: whileOpen(gate, files.getFileStats),
  }
}
