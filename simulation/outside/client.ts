/** What clients do to a thread: rows first, then a word to its workflow, and anything may come in between. */
import { SIGNALS, UPDATES } from '../../src/protocol/messages.js'
import type { QueuedDelivery, Respond } from '../../src/protocol/messages.js'
import { isOpen, removeEffect, removeMessage } from '../activities/choices.js'
import { rejectWaiting, stage } from '../store/messages.js'
import type { RequestRow, ThreadRow } from '../store/rows.js'
import type { World } from '../world.js'

/** A client at work; it goes on when what it yields is true. */
export type Client = Generator<() => boolean, void>

const AT_ANY_TIME = (): boolean => true

export function* sendMessage(world: World, thread: ThreadRow, id: string): Client {
  if (!isOpen(thread)) return
  const { random } = world
  const role = random.chance(0.8) ? 'user' : 'assistant'
  const chosen = random.pick<QueuedDelivery | undefined>([
    undefined,
    undefined,
    undefined,
    'next_turn',
    'preempt',
  ])
  stage(thread, { id, role, by: 'client', ...(chosen !== undefined && { deliver: chosen }) })
  do {
    yield AT_ANY_TIME
    const row = thread.messages.get(id)
    if (row?.status !== 'pending') return
    const { deliver } = row
    const input = { messageId: id, role, ...(deliver !== undefined && { deliver }) }
    if (signal(world, thread.id, SIGNALS.queueMessage, input) !== null) {
      // T3: what was refused was not accepted.
      if (row.status === 'pending') thread.messages.delete(id)
      return
    }
    // Its answer was lost, so it is sent again.
  } while (world.may(0.15))
}

export function* stopThread(world: World, { id }: ThreadRow): Client {
  const input = world.random.pick([undefined, undefined, undefined, { children: false }, { runId: 'run_1' }])
  do {
    yield AT_ANY_TIME
    signal(world, id, SIGNALS.stop, input)
  } while (world.may(0.1))
}

export function* continueThread(world: World, { id }: ThreadRow): Client {
  yield AT_ANY_TIME
  signal(world, id, SIGNALS.continue)
}

/** The row first, which refuses everything from then on, then the cancellation; then those below that nobody tells. */
export function* terminateThread(world: World, thread: ThreadRow): Client {
  if (thread.closed !== null) return
  thread.terminateRequested = true
  yield AT_ANY_TIME
  if (world.server.cancel(thread.id) === 'gone' && thread.closed === null) closeRow(thread)
  if (world.may(0.2)) world.server.cancel(thread.id)
}

/** Nobody is left to close it. */
function closeRow(thread: ThreadRow): void {
  thread.closed = 'terminated'
  rejectWaiting(thread)
  for (const row of thread.calls.values()) if (row.status === 'open') row.status = 'cancelled'
  for (const effect of thread.effects.values()) if (effect.status === 'scheduled') effect.status = 'removed'
}

/** Into the request's row, which takes one answer only, then an update, until the workflow has it. */
export function* respond(world: World, thread: ThreadRow, request: RequestRow): Client {
  if (request.state === 'closed') return
  if (request.state === 'open') {
    request.state = 'answered'
    request.approved = world.random.chance(0.6)
    const child = request.child === undefined ? thread : world.thread(request.child)
    if (request.kind === 'variables') child.variables = true
  }
  const { id, kind, approved = false } = request
  const answer: Respond =
    kind === 'variables' ? { id, names: ['A'] } : kind === 'call' ? { id, result: true } : { id, approved }
  for (let turn = 0; turn < 12; turn += 1) {
    yield AT_ANY_TIME
    const said = yield* update(world, thread.id, { name: UPDATES.respond, input: answer })
    if (said !== 'refused') return
  }
}

type Said = 'accepted' | 'refused' | 'gone'

interface SentUpdate {
  readonly name: string
  readonly input: unknown
  /** Gets the moment at which the workflow took it. */
  readonly onAccepted?: (at: number) => void
}

function* update(
  world: World,
  threadId: string,
  { name, input, onAccepted = () => undefined }: SentUpdate,
): Generator<() => boolean, Said> {
  const id = world.newId('update')
  const answers: (string | null)[] = []
  if (!world.server.update(threadId, { id, name, input: JSON.stringify(input) })) return 'gone'
  world.answers.set(id, (refusal) => answers.push(refusal))
  const isOver = (): boolean => world.server.executions.get(threadId)?.run.state !== 'open'
  yield () => answers.length > 0 || isOver() || !isWaitedFor(world, threadId, id)
  if (answers.length === 0) return 'gone'
  world.saw(answers[0] === null ? `update ${name} accepted` : `update ${name} refused`)
  if (answers[0] === null) onAccepted(world.log.updated.get(id) ?? 0)
  return answers[0] === null ? 'accepted' : 'refused'
}

/** The update is on its way, or in a task. */
function isWaitedFor({ server }: World, threadId: string, id: string): boolean {
  const run = server.executions.get(threadId)?.run
  const jobs = [...(run?.waiting ?? []), ...(run?.task?.task.jobs ?? [])]
  return jobs.some((job) => job.kind === 'update' && job.id === id)
}

export function* setVariables(world: World, thread: ThreadRow): Client {
  if (!isOpen(thread)) return
  thread.variables = true
  yield AT_ANY_TIME
  signal(world, thread.id, SIGNALS.setEnv, { names: ['A'] })
}

export function* queueTool(world: World, thread: ThreadRow): Client {
  if (!isOpen(thread)) return
  const id = world.newId('tool')
  const name = world.random.pick([
    'work',
    'careful',
    'form',
    'ask',
    'draft',
    'write',
    'draw',
    'transfer',
    'nobody',
  ])
  thread.calls.set(id, { id, name, parentCall: null, run: 0, placed: false, status: 'open', results: 0 })
  do {
    yield AT_ANY_TIME
    // It looks before it says so again: one that has begun is in no queue any more.
    if (thread.calls.get(id)?.status !== 'open' || thread.operations.has(id)) return
    if (signal(world, thread.id, SIGNALS.queueTool, { toolCallId: id, name }) === null) continue
    if (thread.calls.get(id)?.status === 'open') thread.calls.delete(id)
    return
  } while (world.may(0.15))
}

/** The messages and calls of a thread that wait their turn. */
function waitingItems(thread: ThreadRow): readonly string[] {
  const messages = [...thread.messages.values()].filter(({ status }) => status === 'pending')
  const calls = [...thread.calls.values()].filter(({ placed, status }) => !placed && status === 'open')
  return [...messages, ...calls].map(({ id }) => id)
}

/** What waits its turn is taken back: its row decides, then the workflow's queue follows. */
export function* removeQueued(world: World, thread: ThreadRow): Client {
  if (!isOpen(thread)) return
  const waiting = [...waitingItems(thread), ...thread.effects.keys()]
  if (waiting.length === 0) return
  const id = world.random.pick(waiting)
  const call = thread.calls.get(id)
  if (call !== undefined && !call.placed && call.status === 'open') call.status = 'cancelled'
  else if (!removeMessage(thread, id) && !removeEffect(thread, id)) return
  yield AT_ANY_TIME
  yield* update(world, thread.id, { name: UPDATES.removeQueued, input: { id } })
}

/** What waits is moved before all else: the workflow decides. */
export function* promoteQueued(world: World, thread: ThreadRow): Client {
  if (!isOpen(thread)) return
  const waiting = waitingItems(thread)
  if (waiting.length === 0) return
  const id = world.random.pick(waiting)
  yield AT_ANY_TIME
  const onAccepted = (at: number): void => void world.log.moved.set(`${thread.id} ${id}`, at)
  yield* update(world, thread.id, { name: UPDATES.promoteQueued, input: { id }, onAccepted })
}

export function signal(
  world: World,
  threadId: string,
  name: string,
  input?: unknown,
): 'gone' | 'full' | null {
  world.saw(`signal ${name}`)
  world.tell(() => `${threadId} is sent ${name} ${JSON.stringify(input)}`)
  return world.server.signal(threadId, name, input === undefined ? '' : JSON.stringify(input))
}
