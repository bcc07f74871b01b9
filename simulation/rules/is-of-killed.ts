import type { World } from '../world.js'

/** Its id says who wrote it: an operator terminated that thread before it could tell, and the doctor finds it (T3, T9). */
export function isOfKilled({ server }: World, id: string): boolean {
  const [sender = ''] = id.split(':')
  return server.executions.get(sender)?.run.state === 'terminated'
}
