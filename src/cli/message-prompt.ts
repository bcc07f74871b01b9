import type { Terminal } from './terminal.js'

const QUESTION = '\nyou: '

/** Where what happens is shown. */
export type Screen = Pick<Terminal, 'write' | 'line'>

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
        return await terminal.ask(QUESTION, signal)
      } finally {
        asking = false
        covered = false
      }
    },
    again() {
      if (!covered) return
      covered = false
      terminal.write(QUESTION)
    },
  }
}
