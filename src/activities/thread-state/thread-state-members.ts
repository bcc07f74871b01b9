import type { ThreadState } from '../../definitions/thread-state.js'
import type { JsonValue } from '../../protocol/json.js'
import { ifOpen, whileOpen } from './call-gate.js'
import type { CallGate } from './call-gate.js'
import type { createDefinitionMembers } from './definition-members.js'
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
  readonly variables: Pick<ThreadState, 'env' | 'envType' | 'setEnv'>
  readonly effects: Pick<ThreadState, 'scheduleEffect' | 'getScheduledEffects' | 'removeScheduledEffect'>
  readonly definitions: ReturnType<typeof createDefinitionMembers>
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
    ...messageMembers(parts),
    ...workMembers(parts),
    ...definitionMembers(parts),
    ...contentMembers(parts),
    terminate: whileOpen(gate, async () => terminate()),
  }
}

function messageMembers({ gate, messages }: ThreadStateParts) {
  return {
    getMessages: whileOpen(gate, messages.list),
    getMessage: whileOpen(gate, messages.find),
    injectMessage: whileOpen(gate, messages.inject),
    queueMessage: whileOpen(gate, messages.queue),
    updateMessage: whileOpen(gate, messages.update),
    deleteMessage: whileOpen(gate, messages.remove),
  }
}

function workMembers({ gate, effects, queueTool, invokeTool, emit }: ThreadStateParts) {
  return {
    queueTool: ifOpen(gate, queueTool),
    invokeTool: whileOpen(gate, invokeTool),
    scheduleEffect: whileOpen(gate, effects.scheduleEffect),
    getScheduledEffects: whileOpen(gate, effects.getScheduledEffects),
    removeScheduledEffect: whileOpen(gate, effects.removeScheduledEffect),
    emit: ifOpen(gate, emit),
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

function contentMembers({ gate, values, files }: ThreadStateParts) {
  return {
    getValue: whileOpen(gate, values.get),
    setValue: whileOpen(gate, async (key: string, value: JsonValue | undefined) => values.set(key, value)),
    writeFile: whileOpen(gate, files.writeFile),
    readFile: whileOpen(gate, files.readFile),
    readFileStream: whileOpen(gate, files.readFileStream),
    statFile: whileOpen(gate, files.statFile),
    getFileThumbnail: whileOpen(gate, async (_path: string) => null),
    readdirFile: whileOpen(gate, files.readdirFile),
    unlinkFile: whileOpen(gate, files.unlinkFile),
    mkdirFile: whileOpen(gate, files.mkdirFile),
    rmdirFile: whileOpen(gate, files.rmdirFile),
    grepFiles: whileOpen(gate, files.grepFiles),
    findFiles: whileOpen(gate, files.findFiles),
    getFileStats: whileOpen(gate, files.getFileStats),
  }
}
