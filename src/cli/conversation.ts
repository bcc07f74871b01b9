import { setTimeout as pause } from 'node:timers/promises'
import type { RunResult, ThreadHandle } from '../client/index.js'
import { WaitTimeoutError } from '../protocol/errors.js'
import { answerRequest } from './answer-request.js'
import type { CommandContext } from './command.js'
import { createMessagePrompt } from './message-prompt.js'
import type { MessagePrompt } from './message-prompt.js'
import { treeRequests } from './tree-requests.js'
import type { TreeRequests } from './tree-requests.js'
import { watchThread } from './watch-thread.js'
import type { ThreadWatch } from './watch-thread.js'

/** How soon a question of a subagent is seen: no event of its parent tells of it. */
const LOOK = 1000

const NOBODY =
  '(No worker has answered yet: what you say is kept until one runs. A second Ctrl-C ends the wait.)'
const QUESTION = '(Somebody has to answer a question: an empty line shows it.)'

interface Conversation extends CommandContext {
  readonly thread: ThreadHandle
  readonly prompt: MessagePrompt
  readonly watch: ThreadWatch
  readonly requests: TreeRequests
}

/** Talks with a thread until the input ends. What happens there is shown whenever it happens. */
export async function converse(context: CommandContext, thread: ThreadHandle): Promise<void> {
  const { lastSequence, root, run } = await thread.snapshot()
  const prompt = createMessagePrompt(context.terminal)
  const watch = watchThread(thread, lastSequence, prompt)
  const requests = treeRequests(context, thread, root)
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
    return await Promise.race([prompt.ask(ended.signal), tellOfQuestions({ prompt, requests }, ended.signal)])
  } finally {
    undo()
    ended.abort()
  }
}

async function tellOfQuestions(
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
        const end = await Promise.race([idleSoon(thread), leaving])
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
async function idleSoon(thread: ThreadHandle): Promise<RunResult | null> {
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
