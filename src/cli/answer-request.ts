import { RequestNotFoundError } from '../protocol/thread-error.js'
import type { ThreadHandle, ThreadSnapshot } from '../client/index.js'
import type { Terminal } from './terminal.js'
import { cut } from './thread-lines.js'

type Request = ThreadSnapshot['pending'][number]

/** Puts one open request before the person and sends the answer; false if there was none. */
export async function answerRequest(
  terminal: Terminal,
  thread: ThreadHandle,
  request: Request,
): Promise<boolean> {
  const answer = await askFor(terminal, request)
  if (answer === null) return false
  try {
    await thread.respond(request.id, answer)
  } catch (error) {
    // Somebody else was faster, or a stop has ended the call.
    if (!RequestNotFoundError.isInstance(error)) throw error
    terminal.problem(error.message)
  }
  return true
}

function askFor(
  terminal: Terminal,
  request: Request,
): Promise<Parameters<ThreadHandle['respond']>[1] | null> {
  if (request.kind === 'variables') return askForValues(terminal, request.missing)
  const call = `${request.toolName} ${cut(JSON.stringify(request.args ?? {}))}`
  return request.kind === 'approval' ? askForApproval(terminal, call) : askForResult(terminal, call)
}

async function askForApproval(terminal: Terminal, call: string) {
  const answer = await terminal.ask(`\nAllow ${call}? [y/N, or why not] `)
  if (answer === null) return null
  const words = answer.trim()
  if (/^(y|yes)$/i.test(words)) return { approved: true, by: 'cli' }
  const reason = /^(n|no|)$/i.test(words) ? {} : { reason: words }
  return { approved: false, by: 'cli', ...reason }
}

async function askForResult(terminal: Terminal, call: string) {
  const answer = await terminal.ask(`\n${call} waits for its result: `)
  return answer === null ? null : { result: { status: 'success' as const, result: answer } }
}

async function askForValues(terminal: Terminal, names: readonly string[]) {
  const env: Record<string, string> = {}
  for (const name of names) {
    const value = await terminal.ask(`\nThe agent needs ${name}: `)
    if (value === null) return null
    env[name] = value
  }
  return { env }
}
