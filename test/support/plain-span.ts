import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'

/** A span that has ended, as a line of a file may hold it. */
export interface PlainSpan {
  readonly name: string
  readonly kind: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | null
  /** Of the spans that it is linked to. */
  readonly links: readonly string[]
  readonly failed: boolean
  readonly attributes: Readonly<Record<string, unknown>>
  readonly pid: number
}

export function plainSpan(span: ReadableSpan): PlainSpan {
  const { traceId, spanId } = span.spanContext()
  return {
    name: span.name,
    kind: SpanKind[span.kind],
    traceId,
    spanId,
    parentSpanId: span.parentSpanContext?.spanId ?? null,
    links: span.links.map(({ context }) => context.spanId),
    failed: span.status.code === SpanStatusCode.ERROR,
    attributes: span.attributes,
    pid: process.pid,
  }
}
