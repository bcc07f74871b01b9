import { context, createContextKey } from '@opentelemetry/api'
import type { Context } from '@opentelemetry/api'

import { activeTraceparent } from './traceparent.js'

const RUN = createContextKey('everthread.run')

/** What follows is work of a run that somebody's trace began. */
export function withRunTrace(base: Context, traceparent: string): Context {
  return base.setValue(RUN, traceparent)
}

/** What all steps of the run stand below: the sender's span, or that of the first step where nobody sent a trace. */
export function runTraceparent(): string | null {
  const known = context.active().getValue(RUN)
  return typeof known === 'string' ? known : activeTraceparent()
}
