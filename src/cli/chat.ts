import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { PendingRequest, RunResult, ThreadHandle, ThreadTree } from '../client/index.js'
import {
  ApprovalForbiddenError,
  MessageRejectedError,
  RequestNotFoundError,
  WaitTimeoutError,
} from '../protocol/errors.js'
import { askForApproval, askForBudget } from './ask-approval.js'
import { askForResult } from './ask-result.js'
import { createMessagePrompt } from './terminal.js'
import type { Command, CommandContext, MessagePrompt, Terminal } from './terminal.js'
import { requestsLine } from './usage-lines.js'
import { watchThread } from './watch-thread.js'

/** A conversation with an agent of a running worker: it streams answers and asks for approvals; Ctrl-C stops the run. */
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
    await converse(context, thread, typeof user === 'string' ? user : undefined)
    terminal.line(`\n${requestsLine(await thread.usage({ tree: true }))}.`)
    const again = typeof user === 'string' ? ` --user ${user}` : ''
    terminal.line(`To go on: npx everthread chat ${agent} --thread ${thread.threadId}${again}`)
  },
}

/**
 * Refuses an agent that no worker has listed. Workers list their agents when they start: before the first one nothing
 * is known.
 */
async function assertAgent({ threads }: CommandContext, agent: string): Promise<void> {
  const names: string[] = []
  for await (const { name } of threads.agents()) names.push(name)
  if (names.length === 0 || names.includes(agent)) return
  throw new Error(`Expected an agent that a worker runs, got "${agent}". There are: ${names.join(', ')}.`)
}

/** How often requests of subagents are looked up, in milliseconds: no event of the parent announces them. */
const LOOK = 1000

const NOBODY =
  '(No worker has answered yet: what you write is kept until one runs. A second Ctrl-C ends the wait.)'
const QUESTION = '(Somebody has to answer a question: an empty line shows it.)'

interface Conversation extends CommandContext {
  readonly thread: ThreadHandle
  readonly prompt: MessagePrompt
  readonly watch: ReturnType<typeof watchThread>
  readonly requests: TreeRequests
  /** For whom the person at the terminal speaks; undefined: for nobody who is known. */
  readonly user: string | undefined
}

/** Talks with a thread until the input ends. Events of the thread are shown at any time. */
async function converse(
  context: CommandContext,
  thread: ThreadHandle,
  user: string | undefined,
): Promise<void> {
  const { lastSequence, root, run } = await thread.snapshot()
  const prompt = createMessagePrompt(context.terminal)
  const watch = watchThread(thread, lastSequence, prompt)
  const requests = createTreeRequests(context, thread, root)
  try {
    await Promise.race([
      talk({ ...context, thread, prompt, watch, requests, user }, run !== null),
      watch.broken,
    ])
  } finally {
    watch.end()
  }
}

async function talk(conversation: Conversation, running: boolean): Promise<void> {
  const { thread, requests } = conversation
  // Requests that were open when the last conversation ended are answered first.
  if (running || (await requests.listOpen()).length > 0) await follow(conversation)
  for (;;) {
    const text = await askForMessage(conversation)
    if (text === null) return
    if (text.trim() === '') requests.reset()
    else await thread.send(text)
    if (text.trim() !== '' || (await requests.listOpen()).length > 0) await follow(conversation)
  }
}

/**
 * Asks for the next message. Requests that arrive during it are announced, not asked: the line that is typed is no
 * answer to them.
 */
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
  let announced = 0
  for (;;) {
    // The signal ends the pause once the message is entered.
    await pause(LOOK, null, { signal }).catch(() => undefined)
    if (signal.aborted) return null
    const { length } = await requests.listOpen()
    if (length > announced && !signal.aborted) {
      prompt.screen.line(QUESTION)
      prompt.repeat()
    }
    announced = length
  }
}

/** Follows the thread until it is idle, all its events are shown and no request is open; or until a second Ctrl-C. */
async function follow({ terminal, threads, thread, watch, requests, user }: Conversation): Promise<void> {
  const left = new AbortController()
  let question = new AbortController()
  let stops = 0
  const undo = terminal.onInterrupt(() => {
    stops += 1
    question.abort()
    // Without a worker the stop is not received, and nothing else would end the wait.
    if (stops > 1) left.abort()
    else void stop({ terminal, thread })
  })
  const leaving = new Promise<null>((resolve) => left.signal.addEventListener('abort', () => resolve(null)))
  try {
    if ((await thread.snapshot()).stale) terminal.line(NOBODY)
    while (!left.signal.aborted) {
      const [request] = await requests.listOpen()
      if (request === undefined) {
        const end = await Promise.race([waitBriefly(thread), leaving])
        if (end === null || (await requests.listOpen()).length > 0) continue
        return await Promise.race([watch.waitUntilShown(end.lastSequence), leaving.then(() => undefined)])
      }
      // The events that led to the request are shown first.
      await watch.waitUntilShown((await thread.snapshot()).lastSequence)
      requests.markAsked(request)
      question = new AbortController()
      const { signal } = question
      const answered = await answerRequest({ terminal, signal, user }, threads.get(request.threadId), request)
      // The input has ended.
      if (!answered && !signal.aborted) return
    }
  } finally {
    undo()
  }
}

/** Waits a second for the thread to be idle; null if it is not idle yet. */
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
  /** Withdraws the question. */
  readonly signal: AbortSignal
  readonly user: string | undefined
}

/** Asks for the answer of one open request and sends it; false if there was no answer. */
async function answerRequest(asking: Asking, thread: ThreadHandle, request: TreeRequest): Promise<boolean> {
  // A login is its owner's to give; all else is answered in the name of whoever may use the command.
  const isLogin = request.kind === 'call' && request.connect !== undefined
  const { user } = asking
  const options = isLogin && user !== undefined ? { caller: { account: null, user } } : {}
  for (;;) {
    const answer = await askFor(asking, request)
    if (answer === null) return false
    if (answer === 'later') return true
    try {
      await thread.respond(request.id, answer, options)
      return true
    } catch (error) {
      const isRefused = MessageRejectedError.isInstance(error)
      // Or somebody else has answered it before, or has to, or a stop has ended the call.
      const isOver = RequestNotFoundError.isInstance(error) || ApprovalForbiddenError.isInstance(error)
      if (!isRefused && !isOver) throw error
      asking.terminal.problem(error.message)
      if (isOver) return true
    }
  }
}

type GivenAnswer = Parameters<ThreadHandle['respond']>[1] | 'later' | null

function askFor(asking: Asking, request: TreeRequest): Promise<GivenAnswer> {
  if (request.kind === 'variables') return askForValues(asking, request)
  const whose = request.subagent === null ? '' : ` of the subagent ${request.subagent}`
  if (request.kind === 'approval') return askForApproval(asking, request, whose)
  if (request.kind === 'budget') return askForBudget(asking, request, whose)
  return askForResult(asking, request, whose)
}

/** Asks for values of variables; an empty line leaves the request open, for a person who does not know a value now. */
async function askForValues(
  { terminal, signal }: Asking,
  { missing, agent, child, subagent }: Extract<TreeRequest, { readonly kind: 'variables' }>,
): Promise<GivenAnswer> {
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

/** A request of a thread of the same tree. */
type TreeRequest = PendingRequest & {
  readonly threadId: string
  /** The name of the subagent that asks; null for the thread of the conversation. */
  readonly subagent: string | null
}

/** The requests in the tree of a thread that wait for a person; each is asked once, unless `reset` is called. */
interface TreeRequests {
  /** Lists the requests that were not asked yet. */
  listOpen(): Promise<readonly TreeRequest[]>
  markAsked(request: TreeRequest): void
  /** Requests that were left unanswered are asked again. */
  reset(): void
}

function createTreeRequests({ threads }: CommandContext, thread: ThreadHandle, root: string): TreeRequests {
  const asked = new Set<string>()
  return {
    async listOpen() {
      const found: TreeRequest[] = []
      for await (const request of threads.pending({ root })) {
        if (asked.has(keyOf(request))) continue
        const { threadId } = request
        const subagent =
          threadId === thread.threadId ? null : findName(await threads.get(root).tree(), threadId)
        found.push({ ...request, subagent })
      }
      return found
    },
    markAsked: (request) => void asked.add(keyOf(request)),
    reset: () => asked.clear(),
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
