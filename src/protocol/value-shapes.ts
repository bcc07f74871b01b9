/** The shapes of values that the wire contract is made of. */
import { LIMITS } from './limits.js'
import { utf8Length } from './utf8-length.js'

export type Fields = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isWholeNumber(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
}

/** As a message id: it is carried too. */
export function isCallId(value: unknown): value is string {
  return isName(value) && carriedBytes(value) <= LIMITS.messageIdLength
}

export function areCallIds(value: unknown): boolean {
  return Array.isArray(value) && value.length <= LIMITS.invocations && value.every(isCallId)
}

/** Quotes, control characters and letters beyond ASCII take more than one byte each. */
export function carriedBytes(id: string): number {
  return utf8Length(JSON.stringify(id)) - 2
}

export function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= LIMITS.threadIdLength
}

/** Whether Temporal takes it as the name of a task queue: names that begin with `/_sys/` are the server's own. */
export function isTaskQueue(value: unknown): value is string {
  return typeof value === 'string' && !value.startsWith('/_sys/') && !/\p{Cc}/u.test(value)
}
