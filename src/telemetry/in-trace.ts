import { context, trace } from '@opentelemetry/api'

import { readTraceparent } from './traceparent.js'
import { isTracing } from './tracer.js'

/** Runs `work` as a part of the caller's trace, if it named one and somebody listens here. */
export async function inTrace<T>(traceparent: string | undefined, work: () => Promise<T>): Promise<T> {
  const span = isTracing() ? readTraceparent(traceparent) : null
  // Who instruments HTTP has taken it up already.
  if (span === null || trace.getSpanContext(context.active()) !== undefined) return work()
  return context.with(trace.setSpanContext(context.active(), span), work)
}
