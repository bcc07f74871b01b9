import type { ThreadStart } from '../../src/protocol/messages.js'
import { newThread } from '../store/rows.js'
import type { ThreadRow } from '../store/rows.js'
import { append, openThread } from './steps.js'
import type { Attempt } from './steps.js'

interface Registration {
  readonly threadId: string
  readonly start: ThreadStart | null
}

/** The thread's row, made here for one that was started by hand; null: nothing of it may run (T8). */
export function registered(attempt: Attempt, registration: Registration): ThreadRow | null {
  register(attempt, registration)
  return openThread(attempt, registration)
}

/** As `registered`, also of a terminated thread. */
export function anyThread(attempt: Attempt, registration: Registration): ThreadRow | null {
  register(attempt, registration)
  return attempt.world.threads.get(registration.threadId) ?? null
}

function register({ world }: Attempt, { threadId: id, start }: Registration): void {
  if (world.threads.has(id) || start === null) return
  const thread = newThread({
    id,
    agent: start.agent,
    parent: start.parent?.threadId ?? null,
    depth: 0,
    resumable: start.resumable !== false,
  })
  append(thread, [{ type: 'thread.started' }])
  world.threads.set(id, thread)
}
