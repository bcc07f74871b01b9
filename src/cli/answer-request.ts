import type { ThreadHandle } from '../client/index.js'
import { RequestNotFoundError } from '../protocol/errors.js'
import type { Terminal } from './terminal.js'
import { cut } from './thread-lines.js'
import type { TreeRequest } from './tree-requests.js'

interface Asking {
  readonly terminal: Terminal
  /** Takes the question back. */
  readonly signal: AbortSignal
}

/** Puts one open request before the person and sends the answer; false if there was none. */
export async function answerRequest(
  asking: Asking,
  thread: ThreadHandle,
  request: TreeRequest,
): Promise<boolean> {
  const answer = await askFor(asking, request)
  if (answer === null) return false
  if (answer === 'later') return true
  try {
    await thread.respond(request.id, answer)
  } catch (error) {
    // Somebody else was faster, or a stop has ended the call.
    if (!RequestNotFoundError.isInstance(error)) throw error
    asking.terminal.problem(error.message)
  }
  return true
}

type Given = Parameters<ThreadHandle['respond']>[1] | 'later' | null

function askFor(asking: Asking, request: TreeRequest): Promise<Given> {
  if (request.kind === 'variables') return askForValues(asking, request)
  const whose = request.subagent === null ? '' : ` of the subagent ${request.subagent}`
  const call = `${request.toolName} ${cut(JSON.stringify(request.args ?? {}))}${whose}`
  return request.kind === 'approval' ? askForApproval(asking, call) : askForResult(asking, call)
}

async function askForApproval({ terminal, signal }: Asking, call: string): Promise<Given> {
  const answer = await terminal.ask(`\nAllow ${call}? [y/N, or why not] `, signal)
  if (answer === null) return null
  const words = answer.trim()
  if (/^(y|yes)$/i.test(words)) return { approved: true, by: 'cli' }
  const reason = /^(n|no|)$/i.test(words) ? {} : { reason: words }
  return { approved: false, by: 'cli', ...reason }
}

async function askForResult({ terminal, signal }: Asking, call: string): Promise<Given> {
  const answer = await terminal.ask(`\n${call} waits for its result: `, signal)
  return answer === null ? null : { result: { status: 'success' as const, result: answer } }
}

/** Nobody has to know a value now: an empty line leaves the request as it is. */
async function askForValues(
  { terminal, signal }: Asking,
  { missing, agent, child, subagent }: Extract<TreeRequest, { readonly kind: 'variables' }>,
): Promise<Given> {
  const env: Record<string, string> = {}
  const whose = child === undefined && subagent === null ? 'The agent' : `The subagent ${agent}`
  for (const name of missing) {
    const value = await terminal.ask(`\n${whose} needs ${name}: `, signal)
    if (value === null) return null
    if (value === '') return 'later'
    env[name] = value
  }
  return { env }
}
