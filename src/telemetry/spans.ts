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

/** Runs `work` within a span of its own, which ends with it; what `work` throws is named in it, and thrown on. */
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

/** `type`: a word of ours, never what an error says (T5). */
export function failSpan(span: Span, type: string): void {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

/** What a client asks of a thread: the rows that it writes carry the span on to the worker. */
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

/** Runs `work` as a part of the caller's trace, if it named one and somebody listens here. */
export async function inTrace<T>(traceparent: string | undefined, work: () => Promise<T>): Promise<T> {
  const span = isTracing() ? readTraceparent(traceparent) : null
  // Who instruments HTTP has taken it up already.
  if (span === null || trace.getSpanContext(context.active()) !== undefined) return work()
  return context.with(trace.setSpanContext(context.active(), span), work)
}

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

/** What the API gives while nobody has installed an SDK. */
const NOBODY = new ProxyTracerProvider().getDelegate()

/** Asked for anew each time: an SDK may be installed after this module was loaded. */
export function tracer(): Tracer {
  return trace.getTracer('everthread')
}

/** Whether somebody listens. Without, no span is made and no row is read for its sake. */
export function isTracing(): boolean {
  const provider = trace.getTracerProvider()
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegate() !== NOBODY
}

/** OpenTelemetry's word for all others. */
const OTHER = '_OTHER'

/** The name of a failure of ours; what others throw may bear any name, and content in it (T5). */
export function errorTypeOf(error: unknown): string {
  if (ThreadError.isInstance(error)) return error.code
  if (typeof error !== 'object' || error === null) return OTHER
  if ('type' in error && typeof error.type === 'string' && Object.hasOwn(FAILURES, error.type))
    return error.type
  return 'name' in error && error.name === 'CancelledFailure' ? 'cancelled' : OTHER
}
