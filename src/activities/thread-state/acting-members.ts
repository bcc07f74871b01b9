import type { ThreadState } from '../../definitions/thread-state.js'

/** Which thread of those around the own one is meant; null if there is none. */
type Reach = (own: ThreadState) => Promise<ThreadState | null>

/** How members reach the store: each by a buffered state of its own. */
export interface Acting {
  /** Nothing is committed. */
  read<Result>(work: (own: ThreadState) => Promise<Result>): Promise<Result>
  /** Commits what was written, then tells the workflows. @throws ThreadTerminatedError */
  write<Result>(work: (own: ThreadState) => Promise<Result>): Promise<Result>
  /** As `write`, of a member that answers at once: one after another, and awaited at the end. */
  begin(work: (own: ThreadState) => Promise<void>): void
  /** What a member answers: whoever forgets to await it neither ends the process nor loses its failure. */
  watch<Result>(work: () => Promise<Result>): Promise<Result>
}

/** As `Acting`, on the thread that is meant. */
type Use = <Result>(work: (state: ThreadState) => Promise<Result>) => Promise<Result>

/** The members of a state, each of which acts at once on the thread that `reach` finds; null if it finds none. */
export async function actingMembers(acting: Acting, reach: Reach): Promise<ThreadState | null> {
  const known = await acting.read(reach)
  if (known === null) return null
  const read: Use = (work) => acting.watch(() => acting.read(async (own) => work(await reached(own, reach))))
  const write: Use = (work) =>
    acting.watch(() => acting.write(async (own) => work(await reached(own, reach))))
  const other = (next: Reach) => acting.watch(() => actingMembers(acting, next))
  const { threadId, agentId, userId, createdAt, terminated, children } = known
  return {
    ...{ threadId, agentId, userId, createdAt, terminated, children },
    execution: null,
    // It would be shared by nobody.
    context: Object.freeze({}),
    ...definitionMembers(known),
    ...messageMembers(read, write),
    injectMessage: (message) => acting.watch(() => injectMessage({ read, write }, message)),
    ...workMembers(read, write),
    ...fileMembers(read, write),
    queueTool: (...given) => acting.begin(async (own) => (await reached(own, reach)).queueTool(...given)),
    emit: (...given) => acting.begin(async (own) => (await reached(own, reach)).emit(...given)),
    getChildThread: (reference) =>
      other(async (own) => (await reach(own))?.getChildThread(reference) ?? null),
    getParentThread: () => other(async (own) => (await reach(own))?.getParentThread() ?? null),
  }
}

async function reached(own: ThreadState, reach: Reach): Promise<ThreadState> {
  const state = await reach(own)
  if (state !== null) return state
  throw new Error('Expected the thread that was there a moment ago, got none: it was deleted.')
}

/** They ask the definitions of this process. */
function definitionMembers(known: ThreadState) {
  return {
    getAgentNames: () => known.getAgentNames(),
    getPromptNames: () => known.getPromptNames(),
    getModelNames: () => known.getModelNames(),
    loadAgent: (name: string) => known.loadAgent(name),
    loadPrompt: (name: string) => known.loadPrompt(name),
    loadModel: (name: string) => known.loadModel(name),
  }
}

function messageMembers(read: Use, write: Use) {
  return {
    getMessages: (...given) => read((state) => state.getMessages(...given)),
    getMessage: (id) => read((state) => state.getMessage(id)),
    queueMessage: (message) => write((state) => state.queueMessage(message)),
    updateMessage: (...given) => write((state) => state.updateMessage(...given)),
    deleteMessage: (id) => write((state) => state.deleteMessage(id)),
    notifyParent: (content) => write((state) => state.notifyParent(content)),
    setStatus: (status) => write((state) => state.setStatus(status)),
  } satisfies Partial<ThreadState>
}

async function injectMessage(
  { read, write }: { readonly read: Use; readonly write: Use },
  message: Parameters<ThreadState['injectMessage']>[0],
): ReturnType<ThreadState['injectMessage']> {
  const injected = await write((state) => state.injectMessage(message))
  // With the position that the commit gave it.
  return (await read((state) => state.getMessage(injected.id))) ?? injected
}

function workMembers(read: Use, write: Use) {
  return {
    env: (name) => read((state) => state.env(name)),
    envType: (name) => read((state) => state.envType(name)),
    setEnv: (...given) => write((state) => state.setEnv(...given)),
    scheduleEffect: (...given) => write((state) => state.scheduleEffect(...given)),
    getScheduledEffects: (name) => read((state) => state.getScheduledEffects(name)),
    removeScheduledEffect: (id) => write((state) => state.removeScheduledEffect(id)),
    getValue: (key) => read((state) => state.getValue(key)),
    setValue: (...given) => write((state) => state.setValue(...given)),
    // One write: a tool's effects are committed together (T9).
    invokeTool: (...given) => write((state) => state.invokeTool(...given)),
    terminate: () => write((state) => state.terminate()),
  } satisfies Partial<ThreadState>
}

function fileMembers(read: Use, write: Use) {
  return {
    writeFile: (...given) => write((state) => state.writeFile(...given)),
    readFile: (path) => read((state) => state.readFile(path)),
    readFileStream: (path) => read((state) => state.readFileStream(path)),
    statFile: (path) => read((state) => state.statFile(path)),
    getFileThumbnail: (path) => read((state) => state.getFileThumbnail(path)),
    readdirFile: (path) => read((state) => state.readdirFile(path)),
    unlinkFile: (path) => write((state) => state.unlinkFile(path)),
    mkdirFile: (path) => write((state) => state.mkdirFile(path)),
    rmdirFile: (path) => write((state) => state.rmdirFile(path)),
    grepFiles: (pattern) => read((state) => state.grepFiles(pattern)),
    findFiles: (pattern) => read((state) => state.findFiles(pattern)),
    getFileStats: () => read((state) => state.getFileStats()),
  } satisfies Partial<ThreadState>
}
