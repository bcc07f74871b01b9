import { ProxyTracerProvider, trace } from '@opentelemetry/api'
import type { Tracer } from '@opentelemetry/api'

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
