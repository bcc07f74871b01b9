import type { ThreadClient, ThreadEvent, ThreadHandle } from 'everthread/client'

import { createSpeaker } from './speaker.ts'
import { brief, dim } from './terminal.ts'

export interface ShowRun {
  readonly threads: ThreadClient
  readonly thread: ThreadHandle
  /** A sequence: earlier events are skipped. */
  readonly after?: number
  /** Stops watching, with its reason. */
  readonly signal?: AbortSignal
  /** Called with each event after it was shown, and awaited. */
  readonly onEvent?: (event: ThreadEvent) => Promise<void>
  readonly indent?: string
  /** The speaker, if events before `after` named it. */
  readonly name?: string
}

const ENDS: ReadonlySet<string> = new Set(['run.completed', 'run.failed', 'run.cancelled', 'thread.closed'])

/** Prints what happens in a thread while it happens, text as it streams, subagents in between, until the run ends. */
export async function showRun(watch: ShowRun): Promise<ThreadEvent> {
  const { thread, after, signal, onEvent, indent = '' } = watch
  const speaker = createSpeaker(indent, watch.name)
  // A resumable subagent gets several messages: each time it is shown from where the last one ended.
  const heard = new Map<string, number>()
  for await (const event of thread.events({
    ...(after !== undefined && { after }),
    ...(signal && { signal }),
  })) {
    showEvent(event, { speaker, indent })
    await onEvent?.(event)
    if (event.type === 'subagent.input' && event.childId !== undefined)
      heard.set(event.childId, await showChild(watch, event.childId, heard.get(event.childId)))
    if (ENDS.has(event.type)) return event
  }
  signal?.throwIfAborted()
  throw new Error(`Expected the run of thread ${thread.threadId} to end, but its events ended before.`)
}

/** Shows the work of a subagent for one message of its parent. Returns the sequence up to which it was shown. */
async function showChild(
  { threads, signal, indent = '' }: ShowRun,
  childId: string,
  after?: number,
): Promise<number> {
  const end = await showRun({
    threads,
    thread: threads.get(childId),
    indent: `${indent}    `,
    ...(after !== undefined && { after }),
    ...(signal && { signal }),
  })
  return end.sequence ?? 0
}

interface Shown {
  readonly speaker: ReturnType<typeof createSpeaker>
  readonly indent: string
}

function showEvent(event: ThreadEvent, { speaker, indent }: Shown): void {
  switch (event.type) {
    case 'thread.started':
      return speaker.name(event.payload.agent)
    case 'side.started':
      return event.payload.label ? speaker.name(event.payload.label) : undefined
    case 'model.delta':
      return speaker.say(event.messageId, event.payload)
    case 'message.created': {
      const { message } = event.payload
      // A prompt made it: side B of two models writes with the role of a user.
      if (message !== null && message.role !== 'tool' && message.prompt !== null) speaker.finish(message)
      return
    }
    case 'tool.started':
      return console.log(`${indent}  ${dim(`→ ${event.payload.name} ${brief(event.payload.preview)}`)}`)
    case 'tool.result': {
      const { outcome, preview, attachments } = event.payload
      const files = attachments.map(({ path, size }) => ` [${path}, ${size} bytes]`).join('')
      return console.log(`${indent}  ${dim(`← ${outcome}: ${brief(preview)}${files}`)}`)
    }
    default:
  }
}
