import { createInterface } from 'node:readline/promises'
import type { Readable, Writable } from 'node:stream'

/** Where a command speaks with a person; tests give their own streams. */
export interface Terminal {
  write(text: string): void
  line(text?: string): void
  /** What went wrong, apart from the output. */
  problem(text: string): void
  /** One line of input; null at its end, or when `signal` aborts. */
  ask(question: string, signal?: AbortSignal): Promise<string | null>
  /** Calls this at each Ctrl-C from now on, in place of ending the process; the answer undoes it. */
  onInterrupt(interrupted: () => void): () => void
}

interface Streams {
  readonly input: Readable
  readonly output: Writable
  readonly problems: Writable
}

export function openTerminal({ input, output, problems }: Streams): Terminal & { close(): void } {
  const reader = createInterface({ input, output, terminal: false })
  const lines = reader[Symbol.asyncIterator]()
  let pending: Promise<IteratorResult<string>> | undefined
  return {
    write: (text) => void output.write(printable(text)),
    line: (text = '') => void output.write(`${printable(text)}\n`),
    problem: (text) => void problems.write(`${printable(text)}\n`),
    async ask(question, signal) {
      output.write(printable(question))
      // A line that nobody waited for any more is the answer to the next question.
      pending ??= lines.next()
      const answer = await Promise.race([pending, aborted(signal)])
      if (answer === null) return null
      pending = undefined
      return answer.done === true ? null : answer.value
    },
    onInterrupt(interrupted) {
      process.on('SIGINT', interrupted)
      return () => process.off('SIGINT', interrupted)
    },
    close: () => reader.close(),
  }
}

function aborted(signal: AbortSignal | undefined): Promise<null> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve(null)
    signal?.addEventListener('abort', () => resolve(null), { once: true })
  })
}

/** What models, tools and people wrote must not steer the terminal that shows it. */
function printable(text: string): string {
  return text.replaceAll(/(?![\n\t])\p{Cc}/gu, '')
}
