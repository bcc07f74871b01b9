import type { Fact } from '../protocol/facts.js'
import { digestOf } from '../store/digest.js'
import type { OperationRecord } from '../store/operations.js'

/** What the row of an operation keeps of the facts that were stored with it: of each a short digest. */
export interface ToldFacts {
  /** Left out when there were none. */
  readonly facts?: readonly string[]
}

/**
 * The facts that an activity was not given when it was done: nobody heard of that, it is asked again, and the thread has
 * gone on. Two that are equal are two.
 */
export function newFacts(given: readonly Fact[], { detail }: Before): readonly Fact[] {
  const known = [...toldBefore(detail)]
  return given.filter((fact) => {
    const index = known.indexOf(digest(fact))
    if (index !== -1) known.splice(index, 1)
    return index === -1
  })
}

export function toldFacts(facts: readonly Fact[], { detail }: Before = { detail: null }): ToldFacts {
  const told = [...toldBefore(detail), ...facts.map(digest)]
  return told.length === 0 ? {} : { facts: told }
}

type Before = Pick<OperationRecord, 'detail'>

function toldBefore(detail: unknown): readonly string[] {
  // Written by the activities that ask: the store's boundary.
  return (detail as ToldFacts | null)?.facts ?? []
}

function digest({ type, scope = {}, payload = {} }: Fact): string {
  return digestOf([type, { ...scope }, payload]).slice(0, 8)
}
