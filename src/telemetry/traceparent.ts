import { context, isSpanContextValid, trace } from '@opentelemetry/api'
import type { SpanContext } from '@opentelemetry/api'

/** W3C trace context, version 00; of a later version these four fields stand first too. */
const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** The trace that a row made here belongs to, as it is stored with it; null outside of any. */
export function activeTraceparent(): string | null {
  const span = trace.getSpanContext(context.active())
  return span === undefined ? null : traceparentOf(span)
}

/** Null for one that is not valid. */
export function traceparentOf(span: SpanContext): string | null {
  if (!isSpanContextValid(span)) return null
  return `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, '0')}`
}

/** Null for what is none: a row may come from anybody. */
export function readTraceparent(text: string | null | undefined): SpanContext | null {
  const [, version, traceId = '', spanId = '', flags = '', more] = FORM.exec(text ?? '') ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return null
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  return isSpanContextValid(span) ? span : null
}
