import { randomUUID } from 'node:crypto'

/** Marks one answer of the model, so that it is known again in the store and in later requests. */
export function newNonce(): string {
  return `~${randomUUID()}~`
}

export function noncesIn(text: string): readonly string[] {
  return text.match(/~[\da-f-]{36}~/g) ?? []
}
