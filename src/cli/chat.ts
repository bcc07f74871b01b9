import { randomUUID } from 'node:crypto'

import type { ThreadHandle } from '../client/index.js'
import { answerRequest } from './answer-request.js'
import type { Command, CommandContext } from './command.js'
import { createTurnView } from './turn-view.js'

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
    terminal.line(`\nTo go on: everthread chat ${agent} --thread ${thread.threadId}`)
  },
}

/** Workers write the agents that they run: before the first one nothing can be said. */
async function assertAgent({ threads }: CommandContext, agent: string): Promise<void> {
  const names: string[] = []
  for await (const { name } of threads.agents()) names.push(name)
  if (names.length === 0 || names.includes(agent)) return
  throw new Error(`Expected an agent that a worker runs, got "${agent}". There are: ${names.join(', ')}.`)
}

async function converse(context: CommandContext, thread: ThreadHandle): Promise<void> {
  const { terminal } = context
  const { lastSequence, pending } = await thread.snapshot()
  let after = lastSequence
  // What waited when the last conversation ended is answered first.
  if (pending.length > 0) after = await followRun(context, thread, after)
  for (;;) {
    const ended = new AbortController()
    const undo = terminal.onInterrupt(() => ended.abort())
    const text = await terminal.ask('\nyou: ', ended.signal)
    undo()
    if (text === null) return
    if (text.trim() === '') continue
    await thread.send(text)
    after = await followRun(context, thread, after)
  }
}

const NOBODY =
  '(No worker has answered yet: what you say is kept until one runs. A second Ctrl-C ends the wait.)'

/** Shows a run until it has ended, or a second Ctrl-C; answers the sequence that was shown last. */
async function followRun({ terminal }: CommandContext, thread: ThreadHandle, after: number): Promise<number> {
  const view = createTurnView(terminal)
  const left = new AbortController()
  let stops = 0
  const undo = terminal.onInterrupt(() => {
    stops += 1
    // Without a worker nobody takes the stop, and no event would ever end the wait.
    if (stops > 1) left.abort()
    else void stop(thread, terminal)
  })
  let sequence = after
  try {
    if ((await thread.snapshot()).stale) terminal.line(NOBODY)
    if (!(await answerWaiting(terminal, thread))) return sequence
    for await (const event of thread.events({ after, signal: left.signal })) {
      sequence = event.sequence ?? sequence
      view.show(event)
      if (event.type === 'thread.closed') return sequence
      if (event.type === 'action.required') await answerWaiting(terminal, thread)
      if (event.type === 'run.completed' || event.type === 'run.cancelled') return sequence
      if (event.type !== 'run.failed') continue
      // One that lacks variables goes on when they are given: here or, by the time its end is read, already.
      if (event.payload.reason !== 'blocked' || !(await answerWaiting(terminal, thread))) return sequence
    }
    return sequence
  } finally {
    undo()
  }
}

/** Asks the person for each answer that the thread waits for; false when nobody answers. */
async function answerWaiting(terminal: CommandContext['terminal'], thread: ThreadHandle): Promise<boolean> {
  const { pending } = await thread.snapshot()
  for (const request of pending) if (!(await answerRequest(terminal, thread, request))) return false
  return true
}

async function stop(thread: ThreadHandle, terminal: CommandContext['terminal']): Promise<void> {
  try {
    await thread.stop()
  } catch (error) {
    terminal.problem(error instanceof Error ? error.message : String(error))
  }
}
