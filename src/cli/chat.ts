import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { PendingRequest, RunResult, ThreadHandle, ThreadTree } from '../client/index.js'
import { RequestNotFoundError, WaitTimeoutError } from '../protocol/errors.js'
import { truncate } from './inspect.js'
import { createMessagePrompt } from './terminal.js'
import type { Command, CommandContext, MessagePrompt, Terminal } from './terminal.js'
import { watchThread } from './watch-thread.js'

/** A conversation with a running worker: answers as they stream, approvals, Ctrl-C stops the run. */
export const chat: Command = {
  usage: '<agent> [--thread <id>] [--user <id>]',
  summary: 'talk to an agent of a running worker; Ctrl-C stops what it does, Ctrl-D ends',
  arguments: ['agent'],
  flags: { thread: 'string', user: 'string' },
  async run(context, given) {
    const { terminal, threads } = context
    const agent = given.arguments[0] ?? ''
    await assertAgent(context, agent)
    const { thread: id = randomUUID(), user } = given.flags
    const userId = typeof user === 'string' ? { userId: user } : {}
    const thread = await threads.create({ agent, id: String(id), ...userId })
    terminal.line(`Thread ${thread.threadId}. Ctrl-C stops what the agent does, Ctrl-D ends.`)
    await converse(context, thread)
    const again = typeof user === 'string' ? ` --user ${user}` : ''
    terminal.line(`\nTo go on: everthread chat ${agent} --thread ${thread.threadId}${again}`)
  },
}

/** Workers write the agents that they run: before the first one nothing can be said. */
async function assertAgent({ threads }: CommandContext, agent: string): Promise<void> {
  const names: string[] = []
  for await (const { name } of threads.agents()) names.push(name)
  if (names.length === 0 || names.includes(agent)) return
  throw new Error(`Expected an agent that a worker runs, got "${agent}". There are: ${names.join(', ')}.`)
}

/** How soon a question of a subagent is seen: no event of its parent tells of it. */
const LOOK = 1000

const NOBODY =
  '(No worker has answered yet: what you say is kept until one runs. A second Ctrl-C ends the wait.)'
const QUESTION = '(Somebody has to answer a question: an empty line shows it.)'

interface Conversation extends CommandContext {
  readonly thread: ThreadHandle
  readonly prompt: MessagePrompt
  readonly watch: ReturnType<typeof watchThread>
  readonly requests: TreeRequests
}

/** Talks with a thread until the input ends. What happens there is shown whenever it happens. */
async function converse(context: CommandContext, thread: ThreadHandle): Promise<void> {
  const { lastSequence, root, run } = await thread.snapshot()
  const prompt = createMessagePrompt(context.terminal)
  const watch = watchThread(thread, lastSequence, prompt)
  const requests = createTreeRequests(context, thread, root)
  try {
    await Promise.race([talk({ ...context, thread, prompt, watch, requests }, run !== null), watch.broken])
  } finally {
    watch.end()
  }
}

async function talk(conversation: Conversation, running: boolean): Promise<void> {
  const { thread, requests } = conversation
  // What waited when the last conversation ended is answered first.
  if (running || (await requests.open()).length > 0) await follow(conversation)
  for (;;) {
    const text = await askForMessage(conversation)
    if (text === null) return
    if (text.trim() === '') requests.again()
    else await thread.send(text)
    if (text.trim() !== '' || (await requests.open()).length > 0) await follow(conversation)
  }
}

/** Questions that come meanwhile are told, and not put: what is being typed was meant for somebody else. */
async function askForMessage({ terminal, thread, prompt, watch, requests }: Conversation) {
  const ended = new AbortController()
  const undo = terminal.onInterrupt(() => {
    if (watch.running) void stop({ terminal, thread })
    else ended.abort()
  })
  try {
    return await Promise.race([
      prompt.ask(ended.signal),
      announceQuestions({ prompt, requests }, ended.signal),
    ])
  } finally {
    undo()
    ended.abort()
  }
}

async function announceQuestions(
  { prompt, requests }: Pick<Conversation, 'prompt' | 'requests'>,
  signal: AbortSignal,
): Promise<null> {
  let told = 0
  for (;;) {
    // The end of the question ends the pause.
    await pause(LOOK, null, { signal }).catch(() => undefined)
    if (signal.aborted) return null
    const { length } = await requests.open()
    if (length > told && !signal.aborted) {
      prompt.screen.line(QUESTION)
      prompt.again()
    }
    told = length
  }
}

/** Until the thread is idle, all of it is shown and no question is open; or a second Ctrl-C. */
async function follow({ terminal, threads, thread, watch, requests }: Conversation): Promise<void> {
  const left = new AbortController()
  let question = new AbortController()
  let stops = 0
  const undo = terminal.onInterrupt(() => {
    stops += 1
    question.abort()
    // Without a worker nobody takes the stop, and nothing would ever end the wait.
    if (stops > 1) left.abort()
    else void stop({ terminal, thread })
  })
  const leaving = new Promise<null>((resolve) => left.signal.addEventListener('abort', () => resolve(null)))
  try {
    if ((await thread.snapshot()).stale) terminal.line(NOBODY)
    while (!left.signal.aborted) {
      const [request] = await requests.open()
      if (request === undefined) {
        const end = await Promise.race([waitBriefly(thread), leaving])
        if (end === null || (await requests.open()).length > 0) continue
        return await Promise.race([watch.shown(end.lastSequence), leaving.then(() => undefined)])
      }
      // What led to it is read first.
      await watch.shown((await thread.snapshot()).lastSequence)
      requests.put(request)
      question = new AbortController()
      const { signal } = question
      const answered = await answerRequest({ terminal, signal }, threads.get(request.threadId), request)
      // The input has ended.
      if (!answered && !signal.aborted) return
    }
  } finally {
    undo()
  }
}

/** Null: not yet. */
async function waitBriefly(thread: ThreadHandle): Promise<RunResult | null> {
  try {
    return await thread.waitUntilIdle({ timeout: LOOK })
  } catch (error) {
    if (WaitTimeoutError.isInstance(error)) return null
    throw error
  }
}

async function stop({ thread, terminal }: Pick<Conversation, 'thread' | 'terminal'>): Promise<void> {
  try {
    await thread.stop()
  } catch (error) {
    terminal.problem(error instanceof Error ? error.message : String(error))
  }
}

interface Asking {
  readonly terminal: Terminal
  /** Takes the question back. */
  readonly signal: AbortSignal
}

/** Puts one open request before the person and sends the answer; false if there was none. */
async function answerRequest(asking: Asking, thread: ThreadHandle, request: TreeRequest): Promise<boolean> {
  const answer = await askFor(asking, request)
  if (answer === null) return false
  if (answer === 'later') return true
  try {
    await thread.respond(request.id, answer)
  } catch (error) {
    // Somebody else was faster, or a stop has ended the call.
    if (!RequestNotFoundError.isInstance(error)) throw error
    asking.terminal.problem(error.message)
  }
  return true
}

type Given = Parameters<ThreadHandle['respond']>[1] | 'later' | null

function askFor(asking: Asking, request: TreeRequest): Promise<Given> {
  if (request.kind === 'variables') return askForValues(asking, request)
  const whose = request.subagent === null ? '' : ` of the subagent ${request.subagent}`
  const call = `${request.toolName} ${truncate(JSON.stringify(request.args ?? {}))}${whose}`
  return request.kind === 'approval' ? askForApproval(asking, call) : askForResult(asking, call)
}

async function askForApproval({ terminal, signal }: Asking, call: string): Promise<Given> {
  const answer = await terminal.ask(`\nAllow ${call}? [y/N, or why not] `, signal)
  if (answer === null) return null
  const words = answer.trim()
  if (/^(y|yes)$/i.test(words)) return { approved: true, by: 'cli' }
  const reason = /^(n|no|)$/i.test(words) ? {} : { reason: words }
  return { approved: false, by: 'cli', ...reason }
}

async function askForResult({ terminal, signal }: Asking, call: string): Promise<Given> {
  const answer = await terminal.ask(`\n${call} waits for its result: `, signal)
  return answer === null ? null : { result: { status: 'success' as const, result: answer } }
}

/** Nobody has to know a value now: an empty line leaves the request as it is. */
async function askForValues(
  { terminal, signal }: Asking,
  { missing, agent, child, subagent }: Extract<TreeRequest, { readonly kind: 'variables' }>,
): Promise<Given> {
  const env: Record<string, string> = {}
  const whose = child === undefined && subagent === null ? 'The agent' : `The subagent ${agent}`
  for (const name of missing) {
    const value = await terminal.ask(`\n${whose} needs ${name}: `, signal)
    if (value === null) return null
    if (value === '') return 'later'
    env[name] = value
  }
  return { env }
}

/** A question of a thread, or of one below or above it. */
type TreeRequest = PendingRequest & {
  readonly threadId: string
  /** How the subagent is called that asks; null: the thread of the conversation. */
  readonly subagent: string | null
}

/** What waits for a person in the tree of a thread; each is put before them once, unless they ask again. */
interface TreeRequests {
  /** Those that were not put before anybody yet. */
  open(): Promise<readonly TreeRequest[]>
  put(request: TreeRequest): void
  /** Those that were left are open again. */
  again(): void
}

function createTreeRequests({ threads }: CommandContext, thread: ThreadHandle, root: string): TreeRequests {
  const put = new Set<string>()
  return {
    async open() {
      const found: TreeRequest[] = []
      for await (const request of threads.pending({ root })) {
        if (put.has(keyOf(request))) continue
        const { threadId } = request
        const subagent =
          threadId === thread.threadId ? null : findName(await threads.get(root).tree(), threadId)
        found.push({ ...request, subagent })
      }
      return found
    },
    put: (request) => void put.add(keyOf(request)),
    again: () => put.clear(),
  }
}

function keyOf({ threadId, id }: { readonly threadId: string; readonly id: string }): string {
  return `${threadId} ${id}`
}

function findName(tree: ThreadTree, threadId: string): string {
  const found = findIn(tree, threadId)
  if (found === null) return threadId
  const named = found.entry?.threadName === undefined ? '' : ` "${found.entry.threadName}"`
  return `${found.entry?.name ?? found.agent}${named}`
}

function findIn(tree: ThreadTree, threadId: string): ThreadTree | null {
  if (tree.threadId === threadId) return tree
  for (const child of tree.children) {
    const found = findIn(child, threadId)
    if (found !== null) return found
  }
  return null
}
