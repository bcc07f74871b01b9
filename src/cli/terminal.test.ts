import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createMessagePrompt, openTerminal } from './terminal.js'

test('a line typed while nothing is asked answers nothing', async () => {
  const { input, terminal, shown } = open({ isTTY: true })
  input.write('y\n')
  await turn()
  const answer = terminal.ask('Allow it? ')
  input.write('no\n')
  expect(await answer).toBe('no')
  expect(shown()).toContain('it was not sent')
  // The typed line may be a secret.
  expect(shown()).not.toContain('y\n')
  terminal.close()
})

test('a line typed after a question was taken back is lost', async () => {
  const { input, terminal } = open({ isTTY: true })
  const left = new AbortController()
  const first = terminal.ask('The agent needs KEY: ', left.signal)
  left.abort()
  expect(await first).toBeNull()
  input.write('secret\n')
  await turn()
  const next = terminal.ask('you: ')
  input.write('Hello\n')
  expect(await next).toBe('Hello')
  terminal.close()
})

test('lines of a pipe wait for their questions', async () => {
  const { input, terminal } = open({})
  input.end('one\ntwo\n')
  await turn()
  expect([await terminal.ask('?'), await terminal.ask('?'), await terminal.ask('?')]).toEqual([
    'one',
    'two',
    null,
  ])
})

test('what is shown during the question for a message begins a new line, and the question can follow it', async () => {
  const { input, terminal, shown } = open({ isTTY: true })
  const prompt = createMessagePrompt(terminal)
  prompt.screen.line('before')
  prompt.repeat()
  const message = prompt.ask(new AbortController().signal)
  prompt.repeat()
  prompt.screen.write('')
  prompt.screen.write('It ')
  prompt.screen.write('rains.')
  prompt.repeat()
  prompt.repeat()
  input.write('Thanks\n')
  expect(await message).toBe('Thanks')
  prompt.screen.line('after')
  expect(shown()).toBe('before\n\nyou: \nIt rains.\nyou: after\n')
  terminal.close()
})

function open(kind: { readonly isTTY?: boolean }) {
  const input = Object.assign(new PassThrough(), kind)
  const output = new PassThrough()
  let shown = ''
  output.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  return { input, terminal: openTerminal({ input, output, problems: output }), shown: () => shown }
}

/** Readline reads a stream when it is its turn. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
}
