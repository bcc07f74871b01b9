import { acceptReport } from '../../src/thread/children.js'
import type { ThreadControl } from '../../src/thread/control.js'
import * as inbox from '../../src/thread/inbox.js'
import type { SeededRandom } from './seeded-random.js'
import type { ThreadLog } from './thread-log.js'

/** One signal of those that anybody may send, well formed or not; `log` gives ids that were used before. */
export function randomSignal(
  random: SeededRandom,
  log: ThreadLog,
  now: number,
): (control: ThreadControl) => ThreadControl {
  const id = log.nextMessageId()
  const nonsense = random.pick([undefined, { undecodable: true }, 7, [], { messageId: '' }])
  return random.pick<(control: ThreadControl) => ThreadControl>([
    (control) => inbox.acceptMessage(control, { messageId: id }, now),
    (control) =>
      inbox.acceptMessage(control, { messageId: id, role: random.pick(['user', 'assistant']) }, now),
    (control) => inbox.acceptMessage(control, { messageId: id, from: random.pick(['parent', 'tool']) }, now),
    (control) => inbox.acceptMessage(control, { content: '\u0001'.repeat(random.below(4096) + 1) }, now),
    // Sent again while it waits: one of the queue, or nothing that is not there already.
    (control) => inbox.acceptMessage(control, { messageId: control.queue.find(isStaged)?.id }, now),
    (control) => inbox.acceptMessage(control, nonsense, now),
    (control) =>
      inbox.acceptTool(control, { toolCallId: `staged-${id}`, name: random.pick(['work', 'other']) }, now),
    (control) => inbox.acceptTool(control, random.pick([nonsense, { toolCallId: id, name: '' }]), now),
    (control) => inbox.acceptSetEnv(control, random.pick([{ names: ['A'] }, nonsense]), now),
    (control) => inbox.goOn(control, now),
    inbox.acceptUnknownSignal,
    (control) => inbox.acceptStop(control, random.pick([undefined, { runId: 'run_1' }, [1]])),
    (control) => acceptReport(control, random.pick([null, STRANGER]), now),
    (control) => (random.chance(0.05) ? { ...control, terminating: true } : control),
  ])
}

function isStaged(entry: ThreadControl['queue'][number]): boolean {
  return entry.kind === 'message' && entry.inline === undefined
}

const STRANGER = {
  reference: 'stranger',
  report: 1,
  invocations: ['c'],
  kind: 'result',
  messageId: 'stranger:1',
} as const
