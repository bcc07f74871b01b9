// Points in time. The workflow's clock and the inputs of activities count milliseconds, as Temporal and JavaScript do; rows
// of the store and what callers read count microseconds, so that rows of one millisecond keep an order. Plain numbers
// (sums, clocks of JavaScript) fit both types; a point in one unit does not fit the other.

/** Milliseconds; of a point in time, since 1970. */
export type Millis = number & { readonly unit?: 'milliseconds' | undefined }

/** Microseconds; of a point in time, since 1970. */
export type Micros = number & { readonly unit?: 'microseconds' | undefined }

export function toMicros(at: Millis): Micros {
  return at * 1000
}

/** The millisecond that a point falls into. */
export function toMillis(at: Micros): Millis {
  return Math.floor(at / 1000)
}

/** The first millisecond that is not before a point: work that is due at the point is not done too early. */
export function toMillisAfter(at: Micros): Millis {
  return Math.ceil(at / 1000)
}

/** The clock of this process. Workflow code has `Date.now()`, which Temporal sets. */
export function nowMicros(): Micros {
  return toMicros(Date.now())
}
