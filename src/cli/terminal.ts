import { createInterface } from 'node:readline/promises'
import type { Readable, Writable } from 'node:stream'
import type { ThreadClient } from '../client/index.js'

/** Where a command speaks with a person; tests give their own streams. */
export interface Terminal {
  write(text: string): void
  line(text?: string): void
  /** What went wrong, apart from the output. */
  problem(text: string): void
  /**
   * One line of input; null at its end, or when `signal` aborts. What a person types while nothing is asked is no answer
   * to a later question: it is passed over, and said so.
   */
  ask(question: string, signal?: AbortSignal): Promise<string | null>
  /** Calls this at each Ctrl-C from now on, in place of ending the process; the answer undoes it. */
  onInterrupt(interrupted: () => void): () => void
}

interface Streams {
  readonly input: Readable & { readonly isTTY?: boolean }
  readonly output: Writable
  readonly problems: Writable
}

const NOT_ASKED = '(Nothing was asked when you typed that line: it was not sent.)'

export function openTerminal({ input, output, problems }: Streams): Terminal & { close(): void } {
  const problem = (text: string): void => void problems.write(`${printable(text)}\n`)
  const lines = readLines(input, () => problem(NOT_ASKED))
  return {
    write: (text) => void output.write(printable(text)),
    line: (text = '') => void output.write(`${printable(text)}\n`),
    problem,
    ask(question, signal) {
      output.write(printable(question))
      return lines.next(signal)
    },
    onInterrupt(interrupted) {
      process.on('SIGINT', interrupted)
      return () => process.off('SIGINT', interrupted)
    },
    close: () => lines.close(),
  }
}

interface Lines {
  next(signal?: AbortSignal): Promise<string | null>
  close(): void
}

/** A file or a pipe waits with its lines until they are asked for; a person is told of one that comes too early. */
function readLines(input: Streams['input'], tooEarly: () => void): Lines {
  const reader = createInterface({ input, terminal: false })
  const early: string[] = []
  let take: ((line: string | null) => void) | null = null
  let ended = false
  reader.on('line', (line) => {
    if (take !== null) take(line)
    else if (input.isTTY === true) tooEarly()
    else early.push(line)
  })
  reader.on('close', () => {
    ended = true
    take?.(null)
  })
  return {
    next(signal) {
      const waiting = early.shift()
      if (waiting !== undefined) return Promise.resolve(waiting)
      if (ended || signal?.aborted === true) return Promise.resolve(null)
      return new Promise((resolve) => {
        const left = (): void => take?.(null)
        take = (line) => {
          take = null
          signal?.removeEventListener('abort', left)
          resolve(line)
        }
        signal?.addEventListener('abort', left, { once: true })
      })
    },
    close: () => reader.close(),
  }
}

/** What models, tools and people wrote must not steer the terminal that shows it. */
function printable(text: string): string {
  return text.replaceAll(/(?![\n\t])\p{Cc}/gu, '')
}

/** What a command works with: the store and the Temporal server of the environment. */
export interface CommandContext {
  readonly threads: ThreadClient
  readonly terminal: Terminal
}

/** One subcommand. `flags` are those that it takes, besides its arguments. */
export interface Command {
  /** Its arguments, as help shows them. */
  readonly usage: string
  readonly summary: string
  readonly arguments: readonly string[]
  readonly flags: Readonly<Record<string, 'boolean' | 'string'>>
  /** Answers the exit code, where it is not 0. */
  run(context: CommandContext, given: GivenArguments): Promise<number | void>
}

interface GivenArguments {
  readonly arguments: readonly string[]
  readonly flags: Readonly<Record<string, string | boolean | undefined>>
}

const MESSAGE_QUESTION = '\nyou: '

/** Where what happens is shown. */
type Screen = Pick<Terminal, 'write' | 'line'>

/** The question for the next message. What is shown meanwhile stands on lines of its own, and the question below it. */
export interface MessagePrompt {
  readonly screen: Screen
  /** Null at the end of the input, or when `signal` aborts. */
  ask(signal: AbortSignal): Promise<string | null>
  /** Puts the question again, if something stands below it. */
  again(): void
}

export function createMessagePrompt(terminal: Terminal): MessagePrompt {
  let asking = false
  let covered = false
  const cover = (): void => {
    if (!asking || covered) return
    covered = true
    terminal.line()
  }
  return {
    screen: {
      write(text) {
        if (text !== '') cover()
        terminal.write(text)
      },
      line(text) {
        cover()
        terminal.line(text)
      },
    },
    async ask(signal) {
      asking = true
      covered = false
      try {
        return await terminal.ask(MESSAGE_QUESTION, signal)
      } finally {
        asking = false
        covered = false
      }
    },
    again() {
      if (!covered) return
      covered = false
      terminal.write(MESSAGE_QUESTION)
    },
  }
}
