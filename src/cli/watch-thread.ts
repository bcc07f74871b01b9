import type { ThreadEvent, ThreadEventOf, ThreadHandle } from '../client/index.js'
import { truncate } from './inspect.js'
import type { MessagePrompt } from './terminal.js'
import { isRunEnd } from '../protocol/facts.js'

/** Shows the events of a thread, whoever caused them. */
interface ThreadWatch {
  /** True after the event of a run's start, until the event of its end. */
  readonly running: boolean
  /** Resolves when all events up to this sequence are shown. */
  waitUntilShown(sequence: number): Promise<void>
  /** Rejects when events cannot be read. */
  readonly broken: Promise<never>
  end(): void
}

export function watchThread(thread: ThreadHandle, after: number, prompt: MessagePrompt): ThreadWatch {
  const view = createTurnView(prompt.screen)
  const ended = new AbortController()
  let running = false
  let sequence = after
  let waiting: { readonly sequence: number; readonly done: () => void }[] = []
  async function follow(): Promise<void> {
    for await (const event of thread.events({ after, signal: ended.signal })) {
      view.show(event)
      if (event.type === 'run.started') running = true
      if (isRunEnd(event.type)) running = false
      if (!running) prompt.repeat()
      sequence = event.sequence ?? sequence
      for (const each of waiting) if (each.sequence <= sequence) each.done()
      waiting = waiting.filter((each) => each.sequence > sequence)
    }
  }
  const broken = new Promise<never>((_resolve, reject) => void follow().catch(reject))
  // Handled here too, because the caller may await it only after the rejection.
  broken.catch(() => undefined)
  return {
    get running() {
      return running
    },
    waitUntilShown: (wanted) =>
      wanted <= sequence
        ? Promise.resolve()
        : new Promise((resolve) => waiting.push({ sequence: wanted, done: resolve })),
    broken,
    end: () => ended.abort(),
  }
}

/** Shows a run while it happens: its text streams, and each tool is one line. */
interface TurnView {
  show(event: ThreadEvent): void
}

function createTurnView(screen: MessagePrompt['screen']): TurnView {
  // The message that streams, the attempt of it that is shown, and how much of that.
  let shown = { messageId: '', attempt: 0, length: 0 }

  function showDelta(
    messageId: string,
    { attempt, offset, text }: { attempt: number; offset: number; text: string },
  ) {
    const begins = shown.messageId !== messageId || attempt > shown.attempt
    if (begins) {
      // A new attempt replaces what was shown of the last one.
      screen.write(shown.messageId === messageId ? '\n(again)\n' : '\n')
      shown = { messageId, attempt, length: 0 }
    }
    const fresh = text.slice(Math.max(0, shown.length - offset))
    screen.write(fresh)
    shown = { ...shown, length: Math.max(shown.length, offset + text.length) }
  }

  function showMessage({ messageId = '', payload }: ThreadEventOf<'message.created'>) {
    const { message } = payload
    if (message?.role !== 'assistant' || message.silent || message.depth > 0) return
    const text = message.content ?? ''
    if (shown.messageId !== messageId) screen.write(text === '' ? '' : `\n${text}`)
    else if (text.length > shown.length) screen.write(text.slice(shown.length))
    if (text !== '') screen.line()
    for (const { path } of message.attachments) screen.line(`  [file ${path}]`)
  }

  return {
    show(event) {
      switch (event.type) {
        case 'model.delta':
          return showDelta(event.messageId, event.payload)
        case 'message.created':
          return showMessage(event)
        case 'tool.started':
          return screen.line(`  → ${event.payload.name} ${truncate(event.payload.preview ?? '')}`)
        case 'tool.result':
          return screen.line(`  ← ${event.payload.name} ${event.payload.outcome}`)
        case 'thread.status':
          return screen.line(`  · ${truncate(event.payload.status ?? '')}`)
        case 'subagent.status':
          return screen.line(`  · ${nameOf(event.payload)}: ${truncate(event.payload.status ?? '')}`)
        case 'subagent.completed':
          return screen.line(`  · ${nameOf(event.payload)} has ended`)
        case 'subagent.failed':
          return screen.line(`  · ${nameOf(event.payload)} has failed: ${event.payload.reason ?? ''}`)
        case 'runtime.warning':
          return screen.line(`  (${event.payload.code}${formatMessage(event.payload.message)})`)
        case 'run.completed':
          return event.payload.reason === 'answer_cut'
            ? screen.line('  (the answer is cut off by its limit of length)')
            : undefined
        case 'run.cancelled':
          return screen.line('  (stopped)')
        case 'run.failed':
          return screen.line(`  (ended: ${event.payload.reason})`)
        default:
          return undefined
      }
    },
  }
}

interface Named {
  readonly name: string
  readonly threadName?: string
}

function nameOf({ name, threadName }: Named): string {
  return threadName === undefined ? name : `${name} "${threadName}"`
}

function formatMessage(message: string | undefined): string {
  return message === undefined ? '' : `: ${truncate(message)}`
}
