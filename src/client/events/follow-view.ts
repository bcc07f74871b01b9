/**
 * The events of a thread as a view shows them, with a cursor of the log.
 *
 * Owns: the state of a view behind a cursor, made again from the log. Does not own: views (`src/views`), cursors and the stream itself
 * (`follow-events.ts`).
 */
import type { ThreadEvent } from '../../protocol/events.js'
import type { Store } from '../../store/store.js'
import { VIEWS } from '../../views/views.js'
import type { ViewEvents, ViewName } from '../../views/views.js'
import type { View } from '../../views/view.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { readEventPage } from './event-page.js'
import { parsePosition } from './follow-events.js'
import type { FollowEvents } from './follow-events.js'

/** An event of a view, with the place in the log at which a reader that has seen it goes on. */
export interface ViewedEvent<Name extends ViewName = ViewName> {
  /**
   * `view(name, { after: cursor })` goes on here. One event of the log may make several: all but the last of them have the cursor
   * before it, so a reader that goes on from there gets some again, with the same ids, and misses none.
   */
  readonly cursor: string
  readonly event: ViewEvents[Name]
}

/** Facts that are read at once to make a state again: they are small without their texts. */
const PAGE = 1_000

interface Viewing<Name extends ViewName> extends FollowEvents {
  readonly threadId: string
  readonly name: Name
  readonly events: (options: FollowEvents) => AsyncIterable<ThreadEvent>
}

/** Delivers the events of a thread as a view shows them. @throws ConfigError for an invalid `after`; ThreadNotFoundError */
export async function* followView<Name extends ViewName>(
  context: ClientContext,
  { threadId, name, events, ...options }: Viewing<Name>,
): AsyncGenerator<ViewedEvent<Name>, void, undefined> {
  const { after = 0 } = options
  const { sequence } = parsePosition(after)
  const store = await context.store()
  const { root_thread_id: sessionId, agent } = await store.read((db) => requireThread(db, threadId))
  const view = VIEWS[name].make({ threadId, sessionId, runtimeId: store.id, agent })
  let state = await stateAt(store, view, { threadId, sequence })
  let cursor = String(after)
  for await (const event of events(options)) {
    const [next, viewed] = view.take(state, event)
    for (const [index, one] of viewed.entries())
      yield { cursor: index === viewed.length - 1 ? event.cursor : cursor, event: one }
    state = next
    cursor = event.cursor
  }
}

/** The state of a view behind that many facts. */
export async function stateAt<State, Viewed>(
  store: Store,
  view: View<State, Viewed>,
  { threadId, sequence }: { readonly threadId: string; readonly sequence: number },
): Promise<State> {
  let state = view.begin
  for (let after = 0; after < sequence;) {
    const bare = Math.min(PAGE, sequence - after)
    const page = { threadId, runtimeId: store.id, sequence: after, delta: null, bare }
    const { events } = await store.read((db) => readEventPage(db, page))
    for (const event of events) [state] = view.take(state, event)
    const last = events.at(-1)
    if (last === undefined) break
    after = last.sequence
  }
  return state
}
