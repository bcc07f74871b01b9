import { redactKnownSecrets } from '../store/known-secrets.js'

/** A thrown value as text that can be stored. */
export interface Thrown {
  readonly message: string
  readonly stack: string | null
}

const NO_MESSAGE = 'A value without a message was thrown.'

/**
 * Reads a value that user code has thrown. It may be an error whose message is not a text, which no row can hold, or
 * a value that throws when it is read. Neither may fail the activity, which would be retried for a day.
 */
export function readThrown(thrown: unknown): Thrown {
  try {
    if (typeof thrown !== 'object' || thrown === null) return { message: String(thrown), stack: null }
    const { message, stack } = thrown as { readonly message?: unknown; readonly stack?: unknown }
    return { message: messageOf(message, thrown), stack: typeof stack === 'string' ? stack : null }
  } catch {
    return { message: NO_MESSAGE, stack: null }
  }
}

/** Characters of a text in one line of the log; the table `errors` holds the whole text. */
const MAX_LOGGED = 2000

/** The fields of a log line about an error: message and stack, without the secrets registered in this process. */
export function errorFields({ message, stack }: Thrown): {
  readonly reason: string
  readonly stack?: string
} {
  const toLogged = (text: string): string => redactKnownSecrets(text).slice(0, MAX_LOGGED)
  return { reason: toLogged(message), ...(stack !== null && stack !== '' && { stack: toLogged(stack) }) }
}

function messageOf(message: unknown, thrown: object): string {
  if (typeof message === 'string') return message
  const value: unknown = message ?? thrown
  const words = String(value)
  // JSON.stringify gives undefined for a value whose `toJSON` gives nothing.
  return words.startsWith('[object ') ? (JSON.stringify(value) ?? NO_MESSAGE) : words
}
