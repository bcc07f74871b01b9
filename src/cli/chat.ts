import { randomUUID } from 'node:crypto'

import type { Command, CommandContext } from './command.js'
import { converse } from './conversation.js'

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
