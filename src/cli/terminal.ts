import { createInterface } from 'node:readline/promises'
import type { Readable, Writable } from 'node:stream'
import type { ThreadClient } from '../client/index.js'

/** The terminal of a command; tests pass their own streams. */
export interface Terminal {
  write(text: string): void
  line(text?: string): void
  /** Writes what went wrong, separate from the output. */
  problem(text: string): void
  /**
   * Asks for one line of input; null at its end, or when `signal` aborts. A line that a person types while nothing is asked is
   * no answer to a later question: it is dropped, and the person is informed.
   */
  ask(question: string, signal?: AbortSignal): Promise<string | null>
  /** Calls the listener with each key that is pressed, without Enter. No line can be asked for afterwards. */
  onKey(listener: (key: string) => void): () => void
  /** The streams themselves, for a program that speaks a protocol over them. No line can be asked for or written afterwards. */
  takeStreams(): Pick<Streams, 'input' | 'output'>
  /** Calls the listener at each Ctrl-C instead of ending the process, until the returned function is called. */
  onInterrupt(listener: () => void): () => void
}

interface Streams {
  readonly input: Readable & { readonly isTTY?: boolean; setRawMode?(on: boolean): unknown }
  readonly output: Writable
  readonly problems: Writable
}

const NOT_ASKED = '(Nothing was asked when you typed that line: it was not sent.)'

export function openTerminal({ input, output, problems }: Streams): Terminal & { close(): void } {
  const problem = (text: string): void => void problems.write(`${removeControlCharacters(text)}\n`)
  const lines = readLines(input, () => problem(NOT_ASKED))
  return {
    write: (text) => void output.write(removeControlCharacters(text)),
    line: (text = '') => void output.write(`${removeControlCharacters(text)}\n`),
    problem,
    ask(question, signal) {
      output.write(removeControlCharacters(question))
      return lines.next(signal)
    },
    onKey(listener) {
      lines.close()
      const take = (chunk: Buffer | string): void =>
        chunk
          .toString()
          .split('')
          .forEach((key) => listener(key))
      input.setRawMode?.(true)
      input.on('data', take)
      input.resume()
      return () => {
        input.off('data', take)
        input.setRawMode?.(false)
        input.pause()
      }
    },
    takeStreams() {
      lines.close()
      return { input, output }
    },
    onInterrupt(listener) {
      process.on('SIGINT', listener)
      return () => process.off('SIGINT', listener)
    },
    close: () => lines.close(),
  }
}

interface Lines {
  next(signal?: AbortSignal): Promise<string | null>
  close(): void
}

/** Reads lines. Lines of a file or a pipe wait until they are asked for; a line that a person types too early is dropped. */
function readLines(input: Streams['input'], onEarlyLine: () => void): Lines {
  const reader = createInterface({ input, terminal: false })
  const early: string[] = []
  let take: ((line: string | null) => void) | null = null
  let ended = false
  reader.on('line', (line) => {
    if (take !== null) take(line)
    else if (input.isTTY === true) onEarlyLine()
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
        const giveUp = (): void => take?.(null)
        take = (line) => {
          take = null
          signal?.removeEventListener('abort', giveUp)
          resolve(line)
        }
        signal?.addEventListener('abort', giveUp, { once: true })
      })
    },
    close: () => reader.close(),
  }
}

/** Removes control characters: a text of a model, a tool or a person must not control the terminal that shows it. */
function removeControlCharacters(text: string): string {
  return text.replaceAll(/(?![\n\t])\p{Cc}/gu, '')
}

/** What a command gets: a client of the store and the Temporal server of the environment, and the terminal. */
export interface CommandContext {
  readonly threads: ThreadClient
  readonly terminal: Terminal
}

/** One subcommand. `flags` are the options that it takes, besides its arguments. */
export interface Command {
  /** Its arguments and flags, as help shows them. */
  readonly usage: string
  readonly summary: string
  readonly arguments: readonly string[]
  /** One argument more may be given. */
  readonly takesMore?: true
  readonly flags: Readonly<Record<string, 'boolean' | 'string'>>
  /** Returns the exit code if it is not 0. */
  run(context: CommandContext, given: GivenArguments): Promise<number | void>
}

interface GivenArguments {
  readonly arguments: readonly string[]
  readonly flags: Readonly<Record<string, string | boolean | undefined>>
}

const MESSAGE_QUESTION = '\nyou: '

/** The part of a terminal on which events are shown. */
type Screen = Pick<Terminal, 'write' | 'line'>

/**
 * The question for the next message. Output during the question begins on a line of its own, and the question can be
 * repeated below.
 */
export interface MessagePrompt {
  readonly screen: Screen
  /** Asks for a message; null at the end of the input, or when `signal` aborts. */
  ask(signal: AbortSignal): Promise<string | null>
  /** Repeats the question if something was shown below it. */
  repeat(): void
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
    repeat() {
      if (!covered) return
      covered = false
      terminal.write(MESSAGE_QUESTION)
    },
  }
}
