import { SpanStatusCode, context, trace } from '@opentelemetry/api'
import type { Attributes, Context, Link, Span, SpanKind, SpanOptions } from '@opentelemetry/api'

import { errorTypeOf } from './error-type.js'
import { isTracing, tracer } from './tracer.js'

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
