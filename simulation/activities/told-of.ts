import type { World } from '../world.js'

interface Told {
  readonly thread: string
  readonly child: string
  /** `*`: all that it had not answered. */
  readonly callId: string
  readonly by: 'message' | 'closed' | 'group' | 'result' | 'timeout'
}

/** T7: a thread has learned what came of a child, in its transcript or as the result of a call. */
export function toldOf(world: World, { thread, child, callId, by }: Told): void {
  const key = `${thread} ${child} ${callId}`
  world.log.told.set(key, [...(world.log.told.get(key) ?? []), by])
}
