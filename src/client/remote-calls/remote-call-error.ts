import { ThreadError } from '../../protocol/errors.js'

/**
 * `not_found`: no such call for this worker. `taken`, `answered`, `ended`: nothing is left to do. `token`: not its own.
 * `file`, `file_size`: a path or a file that cannot be written.
 */
export type RemoteCallProblem = 'not_found' | 'taken' | 'answered' | 'ended' | 'token' | 'file' | 'file_size'

const SENTENCES: Readonly<Record<Exclude<RemoteCallProblem, 'file' | 'file_size'>, string>> = {
  not_found: 'there is no such call for this worker: check the task queues of its token',
  taken: 'another worker has taken it, and the tool must not run twice',
  answered: 'it has another answer already',
  ended: 'it was ended, and takes nothing any more',
  token: 'this token is not of its newest claim, or has expired: claim it again',
}

/** Why a worker in another language gets nothing of a call, or may not write to it. */
export class RemoteCallError extends ThreadError {
  readonly callId: string
  readonly problem: RemoteCallProblem

  constructor(
    call: { readonly threadId: string; readonly callId: string },
    problem: RemoteCallProblem,
    words?: string,
  ) {
    super(`call_${problem}`, call.threadId, words ?? sentence(call, problem))
    this.callId = call.callId
    this.problem = problem
  }

  static override isInstance(error: unknown): error is RemoteCallError {
    return ThreadError.isInstance(error) && error.code.startsWith('call_')
  }
}

function sentence(
  { threadId, callId }: { readonly threadId: string; readonly callId: string },
  problem: RemoteCallProblem,
): string {
  const expected = `Expected a call "${callId}" of thread "${threadId}" to work at`
  if (problem === 'file' || problem === 'file_size') return `${expected}, got a file that cannot be written.`
  return `${expected}, got none: ${SENTENCES[problem]}.`
}
