/** What models and tools of a simulated life do: chosen at random, and ever less as its budget runs out. */
import { UNKNOWN_TOOL } from '../../src/protocol/activities.js'
import type { CallRequest, ResultAnswer, Usage } from '../../src/protocol/activities.js'
import type { ThreadOperation, OutboundOperation } from '../../src/protocol/operations.js'
import { stage } from '../store/messages.js'
import type { ThreadRow } from '../store/rows.js'
import type { World } from '../world.js'
import { planNamed } from './plans.js'

export const USAGE: Usage = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 2, cost: 7 }

const NAMES = [
  ...['work', 'work', 'work', 'careful', 'form', 'draw', 'elsewhere', 'ask', 'ask', 'create', 'create'],
  ...['write', 'write', 'draft', 'draft', 'transfer', 'nobody', 'finish', 'close', 'give_up'],
]

interface Asking {
  readonly run: number
  readonly prefix: string
  readonly parentCall: string | null
}

/** The tool calls of an answer, with their rows. */
export function chosenCalls(
  world: World,
  thread: ThreadRow,
  { run, prefix, parentCall }: Asking,
): readonly CallRequest[] {
  if (world.budget <= 0 && planNamed(thread.agent).type === 'dual_ai' && parentCall === null)
    return [called(thread, { run, prefix, name: 'close' })]
  const count = world.budget <= 0 || !world.random.chance(0.6) ? 0 : 1 + world.random.below(3)
  world.budget -= count
  return Array.from({ length: count }, (_, index) => {
    const id = `${prefix}${index}`
    const chosen = world.random.pick(NAMES)
    thread.calls.set(id, { id, name: chosen, parentCall, run, placed: true, status: 'open', results: 0 })
    return { id, name: chosen === 'nobody' ? UNKNOWN_TOOL : chosen }
  })
}

function called(
  thread: ThreadRow,
  { run, prefix, name }: { readonly run: number; readonly prefix: string; readonly name: string },
): CallRequest {
  const id = `${prefix}0`
  thread.calls.set(id, { id, name, parentCall: null, run, placed: true, status: 'open', results: 0 })
  return { id, name }
}

/** What user code did to its thread, committed with the outcome that it comes with (T9). */
export function chosenOperations(
  world: World,
  thread: ThreadRow,
  { key, inStep }: { readonly key: string; readonly inStep: boolean },
): readonly ThreadOperation[] {
  if (world.budget <= 0 || !world.random.chance(0.35)) return []
  const count = 1 + world.random.below(2)
  return Array.from({ length: count }, (_, index) =>
    operation(world, thread, { key: `${key}_q${index}`, inStep }),
  )
}

function operation(
  world: World,
  thread: ThreadRow,
  { key, inStep }: { readonly key: string; readonly inStep: boolean },
): ThreadOperation {
  world.budget -= 1
  const chosen = world.random.pick([
    ...([
      'queue_message',
      'queue_message',
      'queue_tool',
      'queue_tool',
      'schedule_effect',
      'schedule_effect',
    ] as const),
    ...([
      'remove_effect',
      'remove_queued',
      'set_env',
      'force_turn',
      'stop_run',
      'terminate',
      'signal_thread',
      'signal_thread',
    ] as const),
  ])
  // An effect belongs to no run.
  const kind = inStep || (chosen !== 'force_turn' && chosen !== 'stop_run') ? chosen : 'queue_message'
  world.saw(`operation ${kind}`)
  // Calls are of their thread, and its step is told from their ids; messages and effects have ids of their own everywhere.
  const id = kind === 'queue_tool' && inStep ? key : `${thread.id}:${key}`
  switch (kind) {
    case 'force_turn':
      return { kind, side: world.random.pick(['a', 'b']) }
    case 'stop_run':
      return { kind }
    case 'terminate':
      if (!world.may(0.3)) return { kind: 'set_env' }
      return done(thread, { kind }, { id, inStep })
    case 'signal_thread':
      return tell(world, thread, id)
    default:
      return done(thread, operationOf(world, thread, { kind, id }), { id, inStep })
  }
}

type Simple =
  | 'queue_message'
  | 'queue_tool'
  | 'schedule_effect'
  | 'remove_effect'
  | 'remove_queued'
  | 'set_env'

function operationOf(
  world: World,
  thread: ThreadRow,
  { kind, id }: { readonly kind: Simple; readonly id: string },
): OutboundOperation {
  switch (kind) {
    case 'queue_message':
      return { kind, id, role: world.random.pick(['user', 'assistant']) }
    case 'queue_tool':
      return { kind, id, name: world.random.pick(['work', 'careful', 'ask', 'draft', 'write', 'draw']) }
    case 'schedule_effect':
      return { kind, id, dueAt: world.now + world.random.below(90_000) }
    case 'remove_effect':
      return { kind, id: [...thread.effects.keys()].at(-1) ?? 'nothing' }
    case 'remove_queued':
      return { kind, id: waitingMessage(thread) ?? 'nothing' }
    case 'set_env':
      return { kind }
  }
}

function waitingMessage({ messages }: ThreadRow): string | undefined {
  return [...messages.values()].find(({ status, by }) => status === 'pending' && by === 'client')?.id
}

/** Its rows are written with it. A tool that is queued in a step has its place at once, any other waits for its turn. */
function done<T extends OutboundOperation>(
  thread: ThreadRow,
  asked: T,
  { id, inStep = false }: { readonly id: string; readonly inStep?: boolean },
): T {
  switch (asked.kind) {
    case 'queue_message':
      stage(thread, { id, role: asked.role, by: 'tool' })
      break
    case 'queue_tool':
      thread.calls.set(id, {
        ...{ id, name: asked.name, parentCall: null, run: 0, placed: inStep },
        ...{ status: 'open', results: 0 },
      })
      break
    case 'schedule_effect':
      thread.effects.set(id, { status: 'scheduled', runs: 0 })
      break
    case 'remove_effect':
      removeEffect(thread, asked.id)
      break
    case 'remove_queued':
      removeMessage(thread, asked.id)
      break
    case 'set_env':
      thread.variables = true
      break
    case 'terminate':
      thread.terminateRequested = true
  }
  return asked
}

/** T4: what is at work commits its outcome. */
export function removeEffect(thread: ThreadRow, id: string): boolean {
  const effect = thread.effects.get(id)
  if (effect?.status !== 'scheduled' || thread.operations.has(id)) return false
  effect.status = 'removed'
  return true
}

export function removeMessage(thread: ThreadRow, id: string): boolean {
  const row = thread.messages.get(id)
  if (row?.status !== 'pending' || row.child !== undefined) return false
  row.status = 'removed'
  return true
}

/** What is done to a parent or child: its rows first, then its workflow is told. */
function tell(world: World, thread: ThreadRow, id: string): ThreadOperation {
  const relatives = [thread.parent, ...thread.children.keys()].filter((to) => to !== null)
  // One that waits for its variables has no workflow to be told.
  const reached = relatives.filter((to) => thread.children.get(to)?.deferred !== true)
  const open = reached.map((to) => world.threads.get(to)).filter((row) => row !== undefined && isOpen(row))
  const other = open.length === 0 ? undefined : world.random.pick(open)
  if (other === undefined) return done(thread, { kind: 'queue_message', id, role: 'user' }, { id })
  const kind = world.random.pick<Simple | 'terminate'>([
    ...([
      'queue_message',
      'queue_message',
      'queue_tool',
      'schedule_effect',
      'remove_queued',
      'set_env',
    ] as const),
    world.may(0.2) && other.id !== thread.parent ? 'terminate' : 'queue_message',
  ])
  world.saw(`tell ${kind}`)
  const asked: OutboundOperation = kind === 'terminate' ? { kind } : operationOf(world, other, { kind, id })
  return { kind: 'signal_thread', to: other.id, operation: done(other, asked, { id }) }
}

export function isOpen({ terminateRequested, closed }: ThreadRow): boolean {
  return !terminateRequested && closed === null
}

/** How a tool's own code ends. */
export function chosenResult(world: World, thread: ThreadRow, key: string): ResultAnswer {
  if (world.random.chance(0.2)) {
    // What it did before the throw is kept.
    const operations = chosenOperations(world, thread, { key, inStep: true })
    return { type: 'result', outcome: 'failed', errorDigest: world.random.pick(['x', 'y']), operations }
  }
  return {
    type: 'result',
    outcome: 'succeeded',
    operations: chosenOperations(world, thread, { key, inStep: true }),
    usage: USAGE,
  }
}
