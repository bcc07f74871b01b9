import { SpanKind } from '@opentelemetry/api'

import type { NewSpan } from './in-span.js'

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
