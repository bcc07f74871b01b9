/**
 * Holds events against the JSON Schema that is made of the event table: what the store holds, and what subscribers get, is what the
 * table says and nothing more.
 */
import { z } from 'zod'
import { eventsSchema, payloadSchemas } from '../../scripts/events-schema.js'
import type { ThreadEvent } from '../../src/protocol/events.js'
import { readEvents } from '../../src/store/events.js'
import type { Store } from '../../src/store/store.js'

const STORED: ReadonlyMap<string, z.ZodType> = new Map(
  [...payloadSchemas()].map(([type, { stored }]) => [type, shapeOf(stored)]),
)

const { $defs } = eventsSchema() as { readonly $defs: Readonly<Record<string, object>> }
const DELIVERED: ReadonlyMap<string, z.ZodType> = new Map(
  Object.entries($defs).map(([type, schema]) => [type, shapeOf(schema)]),
)

function shapeOf(schema: object): z.ZodType {
  // Its type has lists that may be written to.
  return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0])
}

/** What is wrong with an event as a subscriber got it. */
export function deliveredEventProblems(events: readonly ThreadEvent[]): readonly string[] {
  return events.flatMap((event) => problemOf(DELIVERED, event.type, event))
}

function problemOf(shapes: ReadonlyMap<string, z.ZodType>, type: string, value: object): readonly string[] {
  const shape = shapes.get(type)
  if (shape === undefined) return [`${type} is in no table`]
  const { error: problem } = shape.safeParse(value)
  return problem === undefined ? [] : [`${type} ${JSON.stringify(value)}: ${z.prettifyError(problem)}`]
}

/** Checks every event of every thread of a store. */
export async function allEventProblems(store: Store): Promise<readonly string[]> {
  return store.read(async (db) => {
    const problems: string[] = []
    for (const { id, last_sequence: limit } of await db
      .selectFrom('threads')
      .select(['id', 'last_sequence'])
      // By an index: on PostgreSQL no statement of a test reads a whole table.
      .orderBy('last_activity_at')
      .execute())
      for (const { type, payload } of await readEvents(db, { threadId: id, after: 0, limit: limit + 1 }))
        problems.push(...problemOf(STORED, type, payload))
    return problems
  })
}
