import type { EventScope } from '../../src/protocol/events.js'
import type { Fact } from '../../src/protocol/facts.js'

/**
 * A fact that the event table does not describe: one that another version wrote, or one of a test for which only the order
 * of events matters.
 */
export function anyFact(type: string, payload: object = {}, scope?: EventScope): Fact {
  return { type, payload, ...(scope !== undefined && { scope }) } as Fact
}
