import type { ThreadHandle } from '../client/index.js'
import type { Command, CommandContext } from './command.js'
import { showEvent } from './show-event.js'
import { messageLines, snapshotLines } from './thread-lines.js'
import { treeLines } from './tree-lines.js'

const PAGE = 500

/** Shows what the Temporal UI cannot: the content of a thread. */
export const inspect: Command = {
  usage: '<thread> [--follow]',
  summary: 'show status, what waits, children, files and transcript; --follow goes on with what happens',
  arguments: ['thread'],
  flags: { follow: 'boolean' },
  async run(context, given) {
    const thread = context.threads.get(given.arguments[0] ?? '')
    const after = await showThread(context, thread)
    if (given.flags['follow'] === true) await follow(context, thread, after)
  },
}

async function showThread({ terminal }: CommandContext, thread: ThreadHandle): Promise<number> {
  const [snapshot, tree] = await Promise.all([thread.snapshot(), thread.tree()])
  for (const line of [...snapshotLines(snapshot), ...treeLines(tree)]) terminal.line(line)
  terminal.line('\nTranscript')
  for await (const message of transcript(thread))
    for (const line of messageLines(message)) terminal.line(`  ${line}`)
  return snapshot.lastSequence
}

/** Oldest first, silent and nested rows too. */
async function* transcript(thread: ThreadHandle) {
  for (let after = 0; ;) {
    const page = await thread.messages({ after, limit: PAGE, includeSilent: true, maxDepth: 8 })
    yield* page.messages
    const last = page.messages.findLast(({ position }) => position !== null)?.position
    if (last == null || !page.hasMore) return
    after = last
  }
}

async function follow({ terminal }: CommandContext, thread: ThreadHandle, after: number): Promise<void> {
  const ended = new AbortController()
  const undo = terminal.onInterrupt(() => ended.abort())
  terminal.line('\nEvents (Ctrl-C ends)')
  try {
    for await (const event of thread.events({ after, signal: ended.signal })) showEvent(terminal, event)
  } finally {
    undo()
  }
}
