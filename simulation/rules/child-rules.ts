/** T7: however a child ends, each call of it hears of it once; T8: nothing of a closed parent's children goes on. */
import type { World } from '../world.js'
import type { Resting } from './rest-rules.js'

export function checkChildren(world: World, { thread, state, snapshot }: Resting): void {
  const { log } = world
  for (const key of log.invocations) {
    const [parent, reference = '', callId = ''] = key.split(' ')
    if (parent !== thread.id) continue
    const child = thread.children.get(reference)
    const told = log.told.get(key) ?? []
    // The message of a group tells of all, also of those that answered before the time of the call was over.
    const alone = told.filter((by) => by !== 'timeout' && by !== 'group')
    if (alone.length > 1 || told.filter((by) => by === 'group').length > 1)
      world.breaks('T7 a parent is told twice', `${key}: ${told.join(', ')}`)
    const isQuiet = child?.explicit === true || child?.deferred === true
    // What waits in a queue is told when its turn comes.
    if (isQuiet || state !== 'open' || snapshot?.status !== 'idle') continue
    const isTold = log.told.has(key) || log.told.has(`${thread.id} ${reference} *`)
    if (!isTold && !thread.calls.get(callId)?.status.startsWith('fail'))
      world.breaks('T7 a parent never learns what came of a child', key)
  }
  const owed = snapshot?.children.filter((child) => child.owed) ?? []
  for (const { reference } of owed)
    if (snapshot?.status === 'idle') world.breaks('T7 a child is owed for ever', `${thread.id} ${reference}`)
}
