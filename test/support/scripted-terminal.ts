import type { Terminal } from '../../src/cli/terminal.js'

/** A terminal at which a person types these lines, and then ends the input; null ends it before. `shown`: what it has shown so far. */
export function scriptedTerminal(lines: readonly (string | null)[]): {
  readonly terminal: Terminal
  readonly shown: () => string
} {
  const shown: string[] = []
  const left = [...lines]
  const terminal: Terminal = {
    write: (text: string) => void shown.push(text),
    line: (text = '') => void shown.push(text),
    problem: (text: string) => void shown.push(`! ${text}`),
    ask: async (question: string) => (shown.push(question), left.shift() ?? null),
    onInterrupt: () => () => undefined,
    onKey: () => () => undefined,
    takeStreams: () => {
      throw new Error('Expected a terminal.')
    },
  }
  return { terminal, shown: () => shown.join('\n') }
}
