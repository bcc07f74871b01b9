/** What anybody may send who reaches Temporal: well formed, malformed, or about things that are not there (T10). */
import { SIGNALS, UPDATES } from '../../src/protocol/messages.js'
import type { ThreadRow } from '../store/rows.js'
import type { World } from '../world.js'
import { signal } from './client.js'
import type { Client } from './client.js'
import { WORDS } from './words.js'

const NONSENSE = [
  undefined,
  null,
  7,
  [WORDS],
  WORDS,
  { undecodable: true },
  { messageId: '', content: WORDS },
  { operations: [{ kind: 'nothing', content: WORDS }] },
]

export function* strangeSignal(world: World, thread: ThreadRow): Client {
  const { random } = world
  yield () => true
  const name = random.pick([...Object.values(SIGNALS), 'unheard'])
  if (random.chance(0.4)) {
    signal(world, thread.id, name, random.pick(NONSENSE))
    return
  }
  const id = world.newId('stranger')
  world.log.strangers.add(id)
  const [sent, input] = random.pick<readonly [string, unknown]>([
    [SIGNALS.queueMessage, { content: `${WORDS} ${id}`, silent: random.chance(0.3) }],
    [SIGNALS.queueMessage, { messageId: id, role: 'user' }],
    [SIGNALS.queueTool, { toolCallId: id, name: 'work' }],
    [SIGNALS.childReport, { reference: id, report: 1, invocations: ['c'], kind: 'result', messageId: id }],
    [SIGNALS.setEnv, { names: ['B'] }],
    [
      SIGNALS.operations,
      {
        operations: [
          { kind: 'remove_queued', id },
          { kind: 'remove_effect', id },
        ],
      },
    ],
    [SIGNALS.stop, { runId: id }],
  ])
  signal(world, thread.id, sent, input)
}

export function* strangeUpdate(world: World, thread: ThreadRow): Client {
  const { random } = world
  yield () => true
  const name = random.pick(Object.values(UPDATES))
  const id = random.pick(['nobody', ...thread.requests.keys()])
  const input = random.pick<unknown>([
    ...NONSENSE,
    { id },
    { id, approved: true, comment: WORDS },
    { id, result: true, content: WORDS },
    { id, names: [] },
  ])
  world.saw('update of a stranger')
  world.server.update(thread.id, { id: world.newId('update'), name, input: JSON.stringify(input ?? null) })
}

/** An operator ends a subagent in the Temporal UI: nothing of its code runs any more. */
export function* killChild(world: World, thread: ThreadRow): Client {
  yield () => true
  const children = [...thread.children.keys()].filter(
    (id) => world.server.executions.get(id)?.run.state === 'open',
  )
  if (children.length === 0) return
  world.saw('fault a child is terminated by an operator')
  world.server.terminate(world.random.pick(children))
}
