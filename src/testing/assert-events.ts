import { AssertionError } from 'node:assert'

interface EventSource {
  events(options: { readonly follow: false }): AsyncIterable<{ readonly type: string }>
}

/**
 * Checks that a thread's events came in this order; others may come between them.
 * @throws AssertionError that shows all events
 */
export async function assertEvents(thread: EventSource, types: readonly string[]): Promise<void> {
  const came: string[] = []
  let found = 0
  for await (const { type } of thread.events({ follow: false })) {
    came.push(type)
    if (type === types[found]) found += 1
  }
  if (found === types.length) return
  throw new AssertionError({
    message:
      `Expected the events ${types.join(', ')} in this order, got no "${types[found]}"` +
      `${found === 0 ? '' : ` after "${types[found - 1]}"`}. These came: ${came.join(', ') || 'none'}.`,
    actual: came,
    expected: types,
    operator: 'assertEvents',
  })
}
