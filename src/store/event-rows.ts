/** The format of events in their table: events that are appended together share a row. */
import type { EventScope, Phase } from '../protocol/events.js'
import { PHASES, phaseFact } from '../protocol/facts.js'
import type { Fact } from '../protocol/facts.js'
import type { JsonObject } from '../protocol/values.js'
import type { Micros } from '../protocol/time.js'

export interface StoredEvent {
  /** Per thread, from 1, without gaps. */
  readonly sequence: number
  readonly type: string
  readonly at: Micros
  readonly scope: EventScope
  readonly payload: JsonObject
  /** Where it was written; left out outside of any trace. */
  readonly trace?: { readonly traceId: string; readonly spanId: string }
}

/** The events of a row; the last event has the sequence of the row. */
interface EventRow {
  readonly first_sequence: number
  readonly sequence: number
  /** JSON of `Name`s: every id that the events are about, once. */
  readonly scope: string
  /** JSON of an `Entry` for each event. */
  readonly events: string
}

/**
 * Custom events may have 16 KB each, so a row has one megabyte at most. No version may write longer rows: readers rely on
 * this bound to find the end of a row.
 */
export const EVENTS_PER_ROW = 64

/** Such as `[1, 'step_1_2']`: a key's place among `KEYS`, or the key itself where a newer version has more. */
type Name = readonly [key: number | string, id: string]

/** Rows store the place of a key: a new key gets the next one. */
const PLACES = {
  runId: 0,
  stepId: 1,
  messageId: 2,
  toolCallId: 3,
  childId: 4,
} as const satisfies Required<{ readonly [K in keyof EventScope]: number }>

// In order, and not only strings.
const KEYS = Object.keys(PLACES) as readonly (keyof EventScope)[]

/**
 * Type, the names of the row that belong to the event (one digit in base 36 for each, its index), and the payload if there is
 * one. A number as type is the phase of a `step.phase` event: half of all events are these, and the phase determines the rest.
 */
type Entry = readonly [type: string | number, own: string, payload?: Fact['payload']]

/** An entry as it is read: a newer version may have written it. */
type StoredEntry = readonly [type: string | number, own: string, payload?: JsonObject]

const BASE = 36

/** Packs the events in their order, with sequences after `before`. */
export function packEvents(events: readonly Fact[], before: number): readonly EventRow[] {
  const rows: { readonly names: Name[]; readonly entries: Entry[] }[] = []
  for (const fact of events) {
    const names = namesOf(fact.scope)
    let row = rows.at(-1)
    if (row === undefined || row.entries.length === EVENTS_PER_ROW || row.names.length + names.length > BASE)
      rows.push((row = { names: [], entries: [] }))
    row.entries.push(entryOf(fact, names.map((name) => placeOf(row.names, name).toString(BASE)).join('')))
  }
  let sequence = before
  return rows.map(({ names, entries }) => {
    const first = sequence + 1
    sequence += entries.length
    return {
      first_sequence: first,
      sequence,
      scope: JSON.stringify(names),
      events: JSON.stringify(entries),
    }
  })
}

/** The events of a row with their sequences, including types and scope keys that only a newer version knows. */
export function unpackEvents(row: EventRow): readonly {
  readonly sequence: number
  readonly type: string
  readonly scope: EventScope
  readonly payload: JsonObject
}[] {
  // Written by `packEvents`: the wire boundary of the database.
  const names = JSON.parse(row.scope) as readonly Name[]
  const entries = JSON.parse(row.events) as readonly StoredEntry[]
  return entries.map(([type, own, payload], index) => ({
    sequence: row.first_sequence + index,
    type: typeof type === 'number' ? 'step.phase' : type,
    scope: Object.fromEntries(own.split('').flatMap((digit) => ownName(names, digit))),
    payload: typeof type === 'number' ? { phase: type, name: PHASES[type as Phase] } : (payload ?? {}),
  }))
}

function entryOf(written: Fact, own: string): Entry {
  const { type, payload } = written
  const phase = phaseOf(written)
  if (phase !== null) return [phase, own]
  return Object.keys(payload).length === 0 ? [type, own] : [type, own, payload]
}

/** The phase of an event that `phaseFact` made; null for any other event. */
function phaseOf(written: Fact): Phase | null {
  if (written.type !== 'step.phase') return null
  const { phase } = written.payload
  return JSON.stringify(written.payload) === JSON.stringify(phaseFact(phase, {}).payload) ? phase : null
}

/** The index of a name in the row; a new name is added. */
function placeOf(names: Name[], [key, id]: Name): number {
  const place = names.findIndex((name) => name[0] === key && name[1] === id)
  return place === -1 ? names.push([key, id]) - 1 : place
}

/** Empty for a digit without a name: only a row that was edited by hand has one. */
function ownName(names: readonly Name[], digit: string): readonly (readonly [key: string, id: string])[] {
  const [key, id] = names[Number.parseInt(digit, BASE)] ?? []
  const known = typeof key === 'number' ? KEYS[key] : key
  return known === undefined || id === undefined ? [] : [[known, id]]
}

function namesOf(scope: EventScope = {}): readonly Name[] {
  return KEYS.flatMap((key, place) => (scope[key] === undefined ? [] : [[place, scope[key]] as const]))
}
