import { LIMITS } from '../protocol/limits.js'
import type { ThreadOperation } from '../protocol/operations.js'

/** Thrown inside a transaction to roll it back: the answer would be too large to be told, after it was committed. */
export class TooManyOperations extends Error {
  constructor(operations: readonly ThreadOperation[]) {
    const kinds = [...new Set(operations.map(({ kind }) => kind))].join(', ')
    super(
      `One call did too much to its thread: expected changes of ${LIMITS.operationBytes} bytes at most, got ${operations.length} (${kinds}) of ${bytesOf(operations)} bytes. Nothing of it was done. Do it in several calls.`,
    )
  }
}

/** @throws `TooManyOperations`, before anything is committed that could not be told (T9) */
export function assertFitting(operations: readonly ThreadOperation[] = []): void {
  if (bytesOf(operations) > LIMITS.operationBytes) throw new TooManyOperations(operations)
}

/** Those from the first one on that one answer takes. */
export function fittingOperations(operations: readonly ThreadOperation[]): readonly ThreadOperation[] {
  let bytes = 2
  const over = operations.findIndex((operation) => {
    bytes += bytesOf(operation) + 1
    return bytes > LIMITS.operationBytes
  })
  return over === -1 ? operations : operations.slice(0, over)
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
