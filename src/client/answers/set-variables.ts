import { MessageRejectedError } from '../../protocol/errors.js'
import { fact } from '../../protocol/facts.js'
import { SIGNALS } from '../../protocol/messages.js'
import type { SetEnv } from '../../protocol/messages.js'
import { appendEvents } from '../../store/events.js'
import { digestOf } from '../../store/digest.js'
import type { SecretBox } from '../../store/secret-box.js'
import type { Writer } from '../../store/store.js'
import { requireOpenThread } from '../../store/threads/open-threads.js'
import { putVariable } from '../../store/threads/variables.js'
import type { ClientContext } from '../client-context.js'
import { carryOut } from '../once.js'
import { signalThread } from '../thread-workflow.js'
import { variablesProblem } from './check-answer.js'
import { nowMicros } from '../../protocol/time.js'

type VariableValues = Readonly<Record<string, string>>

/**
 * Stores values, secrets sealed, then signals their names (T5): a blocked run checks its variables again.
 * @throws MessageRejectedError, ThreadTerminatedError, ThreadNotFoundError, StoreError `no_key`
 */
export async function setVariables(
  context: ClientContext,
  threadId: string,
  values: VariableValues,
): Promise<void> {
  const problem = variablesProblem(values)
  if (problem !== undefined) throw new MessageRejectedError(threadId, problem)
  const names = Object.keys(values)
  if (names.length === 0)
    throw new MessageRejectedError(threadId, 'Expected the value of a variable, got none.')
  const { secrets } = await context.store()
  const input: SetEnv = { names }
  // No digest of a secret is stored that could be compared with guesses.
  const place = { threadId, name: 'setEnv' }
  const print = secrets.fingerprint(digestOf(values), place)
  await carryOut(context, {
    ...{ threadId, name: 'setEnv', content: print },
    store: async (tx) => {
      await requireOpenThread(tx, threadId)
      await putVariables(tx, secrets, { threadId, values })
      return null
    },
    announce: () => signalThread(context, threadId, { name: SIGNALS.setEnv, input }),
  })
}

interface ValuesOfThread {
  readonly threadId: string
  readonly values: VariableValues
  /** True for values that a subagent gets before it starts: its own subagents have them too, whatever they scope. */
  readonly forGraph?: true
}

/** Stores values, with an event that has their names. Only definitions of workers declare types: a known variable keeps its type, and any other is a secret. */
export async function putVariables(
  tx: Writer,
  secrets: SecretBox,
  { values, ...where }: ValuesOfThread,
): Promise<void> {
  const now = nowMicros()
  for (const [name, value] of Object.entries(values))
    await putVariable(tx, secrets, { ...where, name, value, now })
  const names = Object.keys(values)
  if (names.length === 0) return
  const events = [fact('variables.changed', { names })]
  await appendEvents(tx, { threadId: where.threadId, events, now, movesActivity: false })
}
