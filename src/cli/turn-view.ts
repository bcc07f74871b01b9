import type { ThreadEvent, ThreadEventOf } from '../client/index.js'
import type { Terminal } from './terminal.js'
import { cut } from './thread-lines.js'

/** Shows a run as it happens: text as it streams, tools as one line each. */
export interface TurnView {
  show(event: ThreadEvent): void
}

export function createTurnView(terminal: Terminal): TurnView {
  // The message under way, the attempt it is shown of, and how much of it.
  let shown = { messageId: '', attempt: 0, length: 0 }

  function stream(
    messageId: string,
    { attempt, offset, text }: { attempt: number; offset: number; text: string },
  ) {
    const begins = shown.messageId !== messageId || attempt > shown.attempt
    if (begins) {
      // A new attempt replaces what was shown of the last one.
      terminal.write(shown.messageId === messageId ? '\n(again)\n' : '\n')
      shown = { messageId, attempt, length: 0 }
    }
    const fresh = text.slice(Math.max(0, shown.length - offset))
    terminal.write(fresh)
    shown = { ...shown, length: Math.max(shown.length, offset + text.length) }
  }

  function whole({ messageId = '', payload }: ThreadEventOf<'message.created'>) {
    const { message } = payload
    if (message?.role !== 'assistant' || message.silent || message.depth > 0) return
    const text = message.content ?? ''
    if (shown.messageId !== messageId) terminal.write(text === '' ? '' : `\n${text}`)
    else if (text.length > shown.length) terminal.write(text.slice(shown.length))
    if (text !== '') terminal.line()
    for (const { path } of message.attachments) terminal.line(`  [file ${path}]`)
  }

  return {
    show(event) {
      switch (event.type) {
        case 'model.delta':
          return stream(event.messageId, event.payload)
        case 'message.created':
          return whole(event)
        case 'tool.started':
          return terminal.line(`  → ${event.payload.name} ${cut(event.payload.preview ?? '')}`)
        case 'tool.result':
          return terminal.line(`  ← ${event.payload.name} ${event.payload.outcome}`)
        case 'run.cancelled':
          return terminal.line('  (stopped)')
        case 'run.failed':
          return terminal.line(`  (ended: ${event.payload.reason})`)
        default:
          return undefined
      }
    },
  }
}
