import { MessageRejectedError } from '../../protocol/errors.js'
import type { JsonObject } from '../../protocol/values.js'
import { finishRemoteCall, isAnswered } from '../../store/calls/remote-calls.js'
import { sealResult } from '../../store/calls/remote-secrets.js'
import { resultDigest, resultOf } from '../answer-row.js'
import { checkAnswer } from '../check-answer.js'
import type { CheckedResult } from '../check-answer.js'
import type { ClientContext } from '../client-context.js'
import { microseconds } from '../clock.js'
import { tokensCall } from './held-call.js'
import type { HeldRemoteCall } from './held-call.js'
import { RemoteCallError } from './remote-call-error.js'

/**
 * Writes the result of a call, before its activity ends (T2). The same one again changes nothing.
 * @throws RemoteCallError; MessageRejectedError for what is no result
 */
export async function answerCall(
  context: ClientContext,
  held: HeldRemoteCall,
  result: unknown,
): Promise<void> {
  const { threadId } = held
  const store = await context.store()
  // Before its result is looked at and a writer waited for: whoever has no token costs a read.
  await store.read((db) => tokensCall(db, held))
  const checked = checkAnswer(threadId, { result })
  if (checked.kind !== 'call') throw new MessageRejectedError(threadId, 'Expected the result of a tool.')
  const digest = resultDigest(checked.result)
  const given = storedResult(threadId, checked.result)
  await store.write(async (tx) => {
    const record = await tokensCall(tx, held)
    if (isAnswered(record)) {
      if (record.answer.digest !== digest) throw new RemoteCallError(held, 'answered')
      return
    }
    const { variables } = record
    const stored = sealResult(store.secrets, held, { variables, result: given })
    const answer = { type: 'answered', result: stored, digest } as const
    await finishRemoteCall(tx, held, { record, answer, now: microseconds() })
  })
}

/** Files are written before, by their paths: a result of many megabytes would be a row of as many. */
function storedResult(threadId: string, result: CheckedResult): JsonObject {
  const files = result.files.map((file) => {
    if (file.kind === 'file')
      return { path: file.path, ...(file.description !== null && { description: file.description }) }
    throw new MessageRejectedError(
      threadId,
      `Expected the file "${file.name}" by its path, got its data: write it first, then name its path.`,
    )
  })
  return resultOf(result, files)
}
