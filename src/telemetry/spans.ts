import {
  context,
  createContextKey,
  isSpanContextValid,
  ProxyTracerProvider,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { Attributes, Context, Link, Span, SpanContext, SpanOptions, Tracer } from '@opentelemetry/api'
import { ThreadError } from '../protocol/errors.js'
import { FAILURES } from '../protocol/failures.js'

export interface NewSpan {
  readonly name: string
  readonly kind: SpanKind
  /** Ids, registered names and numbers, never content (T5). */
  readonly attributes: Attributes
  readonly links?: readonly Link[]
  /** @default the active one */
  readonly base?: Context
}

/**
 * Runs `work` within a span of its own, which ends with it. The span records the type of an error, which is rethrown.
 */
export async function inSpan<T>(made: NewSpan, work: (span: Span | null) => Promise<T>): Promise<T> {
  if (!isTracing()) return work(null)
  const { base = context.active() } = made
  const span = tracer().startSpan(made.name, optionsOf(made), base)
  try {
    return await context.with(trace.setSpan(base, span), () => work(span))
  } catch (error) {
    failSpan(span, errorTypeOf(error))
    throw error
  } finally {
    span.end()
  }
}

function optionsOf({ kind, attributes, links = [] }: NewSpan): SpanOptions {
  return { kind, attributes, links: [...links] }
}

/** Marks a span as failed. `type` is a fixed code, never the message of an error (T5). */
export function failSpan(span: Span, type: string): void {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

/** The span of a client's request to a thread. The rows of the request carry its context on to the worker. */
export function clientSpan(
  name: string,
  { threadId, agent }: { readonly threadId: string; readonly agent?: string },
): NewSpan {
  const attributes = {
    'gen_ai.conversation.id': threadId,
    ...(agent !== undefined && { 'gen_ai.agent.name': agent }),
  }
  return { name, kind: SpanKind.PRODUCER, attributes }
}

/** Runs `work` as a part of the caller's trace, if the caller sent one and an SDK is installed here. */
export async function inTrace<T>(traceparent: string | undefined, work: () => Promise<T>): Promise<T> {
  const span = isTracing() ? readTraceparent(traceparent) : null
  // An instrumentation of HTTP has already continued the trace.
  if (span === null || trace.getSpanContext(context.active()) !== undefined) return work()
  return context.with(trace.setSpanContext(context.active(), span), work)
}

const RUN = createContextKey('everthread.run')

/** The context for the work of a run that belongs to the given trace. */
export function withRunTrace(base: Context, traceparent: string): Context {
  return base.setValue(RUN, traceparent)
}

/** The parent of all steps of a run: the sender's span, or the first step if no sender had a trace. */
export function runTraceparent(): string | null {
  const known = context.active().getValue(RUN)
  return typeof known === 'string' ? known : activeTraceparent()
}

/** W3C trace context, version 00; a later version also begins with these four fields. */
const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** The active trace in the form that is stored with a row; null outside of any trace. */
export function activeTraceparent(): string | null {
  const span = trace.getSpanContext(context.active())
  return span === undefined ? null : traceparentOf(span)
}

/** The id of the active trace; null outside of any trace. */
export function activeTraceId(): string | null {
  return activeTraceparent()?.split('-')[1] ?? null
}

/** Null for an invalid context. */
export function traceparentOf(span: SpanContext): string | null {
  if (!isSpanContextValid(span)) return null
  return `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, '0')}`
}

/** Null for a text that is no context: any client may have written the row. */
export function readTraceparent(text: string | null | undefined): SpanContext | null {
  const [, version, traceId = '', spanId = '', flags = '', more] = FORM.exec(text ?? '') ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return null
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  return isSpanContextValid(span) ? span : null
}

/** The delegate of the API while no SDK is installed. */
const NO_SDK = new ProxyTracerProvider().getDelegate()

/** Gets the tracer anew each time: an SDK may be installed after this module is loaded. */
export function tracer(): Tracer {
  return trace.getTracer('everthread')
}

/** True if an SDK collects spans. Otherwise no span is created, and no row is read for one. */
export function isTracing(): boolean {
  const provider = trace.getTracerProvider()
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegate() !== NO_SDK
}

/** OpenTelemetry's name for all other errors. */
const OTHER = '_OTHER'

/** The code of an error of this library; any other error may have any name, even with content in it (T5). */
export function errorTypeOf(error: unknown): string {
  if (ThreadError.isInstance(error)) return error.code
  if (typeof error !== 'object' || error === null) return OTHER
  if ('type' in error && typeof error.type === 'string' && Object.hasOwn(FAILURES, error.type))
    return error.type
  return 'name' in error && error.name === 'CancelledFailure' ? 'cancelled' : OTHER
}
