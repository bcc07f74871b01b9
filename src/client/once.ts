/**
 * Commands that are carried out once.
 *
 * It owns: what a key does to a command. It does not own: what a command does, and the ids by which messages, calls and requests
 * are told apart.
 * Invariants: what a command stores and the row of its key are one transaction, so that it has one effect, and each repetition gets
 * the first answer, whatever has died in between. What follows that transaction, the announcement to the workflow, is repeated
 * with it, and does no harm there.
 */
import { randomUUID } from 'node:crypto'
import { ThreadConflictError, ThreadTerminatedError } from '../protocol/errors.js'
import { nowMicros } from '../protocol/time.js'
import type { JsonValue } from '../protocol/values.js'
import { deleteCommand, findCommand, insertCommand } from '../store/threads/commands.js'
import { digestOf } from '../store/digest.js'
import type { Reader, Writer } from '../store/store.js'
import type { ClientContext } from './client-context.js'

interface Command<Answer> {
  readonly threadId: string
  /** The method of the client. */
  readonly name: string
  /** What the caller gave: the same key with other content is refused. */
  readonly content: JsonValue
  /** Stores what the command asks for, and makes the answer, which JSON can carry. */
  readonly store: (tx: Writer) => Promise<Answer>
  /** Nothing but its key is stored: what the announcement says is what became of it. */
  readonly isDecidedByWorkflow?: (answer: Answer) => boolean
  /** Tells the workflow, after the transaction. The same announcement may come again, as `repeated`. */
  readonly announce?: (answer: Answer, repeated: boolean) => Promise<void>
}

/**
 * Carries out a command: in one transaction what it stores, then its announcement. Without a key each call is a command of its own.
 * @throws ThreadConflictError for a key that came with another command or content
 */
export async function carryOut<Answer>(context: ClientContext, command: Command<Answer>): Promise<Answer> {
  const store = await context.store()
  const { answer, repeated } = await store.write((tx) => storeOnce(tx, context, command))
  try {
    await command.announce?.(answer, repeated)
  } catch (error) {
    // It was carried out before the thread closed.
    if (repeated && ThreadTerminatedError.isInstance(error)) return answer
    // The workflow alone decides about it, and has refused it or not heard of it: it may be given again.
    if (command.isDecidedByWorkflow?.(answer) === true)
      await store.write((tx) => forgetCommand(tx, context, command.threadId))
    throw error
  }
  return answer
}

interface Stored<Answer> {
  readonly answer: Answer
  /** True: an earlier call has stored it. */
  readonly repeated: boolean
}

/** The part of `carryOut` within the transaction. */
export async function storeOnce<Answer>(
  tx: Writer,
  { key }: Pick<ClientContext, 'key'>,
  { threadId, name, content, store }: Omit<Command<Answer>, 'announce'>,
): Promise<Stored<Answer>> {
  if (key === undefined) return { answer: await store(tx), repeated: false }
  const digest = digestOf({ name, content })
  const known = await findCommand(tx, { threadId, key })
  if (known === null) {
    const answer = await store(tx)
    await insertCommand(tx, { threadId, key, digest, answer, now: nowMicros() })
    return { answer, repeated: false }
  }
  if (known.digest !== digest)
    throw new ThreadConflictError(threadId, {
      problem: `Expected key "${key}" to be new or to come with the same command, got another one or other content: use another key.`,
    })
  // Written by this command: the wire boundary of the database.
  return { answer: known.answer as Answer, repeated: true }
}

/** Whether a command came with this key before, so that nothing has to be checked or uploaded for it. */
export async function isRepeated(
  db: Reader,
  { key }: Pick<ClientContext, 'key'>,
  threadId: string,
): Promise<boolean> {
  return key !== undefined && (await findCommand(db, { threadId, key })) !== null
}

/** The id by which the workflow takes a repeated command once; without a key none is repeated. */
export function commandIdFor({ key }: Pick<ClientContext, 'key'>): { readonly commandId?: string } {
  return key === undefined ? {} : { commandId: randomUUID() }
}

/** Forgets the key of a command whose effect is withdrawn. */
export async function forgetCommand(
  tx: Writer,
  { key }: Pick<ClientContext, 'key'>,
  threadId: string,
): Promise<void> {
  if (key !== undefined) await deleteCommand(tx, { threadId, key })
}
