import type { ThreadEvent, ThreadHandle } from '../client/index.js'
import type { MessagePrompt } from './message-prompt.js'
import { createTurnView } from './turn-view.js'

/** Shows all that happens in a thread, whoever asked for it. */
export interface ThreadWatch {
  /** Whether a run has been seen to start and not to end. */
  readonly running: boolean
  /** Resolves when all events up to this sequence are shown. */
  shown(sequence: number): Promise<void>
  /** Rejects when events cannot be read. */
  readonly broken: Promise<never>
  end(): void
}

const ENDS: ReadonlySet<ThreadEvent['type']> = new Set(['run.completed', 'run.failed', 'run.cancelled'])

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
      if (ENDS.has(event.type)) running = false
      if (!running) prompt.again()
      sequence = event.sequence ?? sequence
      for (const each of waiting) if (each.sequence <= sequence) each.done()
      waiting = waiting.filter((each) => each.sequence > sequence)
    }
  }
  const broken = new Promise<never>((_resolve, reject) => void follow().catch(reject))
  // Whoever waits for something else meanwhile hears of it later.
  broken.catch(() => undefined)
  return {
    get running() {
      return running
    },
    shown: (wanted) =>
      wanted <= sequence
        ? Promise.resolve()
        : new Promise((resolve) => waiting.push({ sequence: wanted, done: resolve })),
    broken,
    end: () => ended.abort(),
  }
}
