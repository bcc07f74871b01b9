import type {
  PrepareChildAnswer,
  PrepareChildInput,
  PrepareMessageAnswer,
  PrepareMessageInput,
  ResultAnswer,
} from '../../src/protocol/activities.js'
import { LIMITS } from '../../src/protocol/limits.js'
import type { PreparedChild } from '../../src/protocol/status.js'
import { stage } from '../store/messages.js'
import { newThread } from '../store/rows.js'
import type { ChildRow, ThreadRow } from '../store/rows.js'
import { isOpen } from './choices.js'
import { commitResult, enterCall } from './hold-call.js'
import type { Held } from './hold-call.js'
import { closeStatus } from './reports.js'
import { append, commit, TERMINATED } from './steps.js'
import type { Attempt, Steps } from './steps.js'

const REFUSED: ResultAnswer = { type: 'result', outcome: 'failed', errorDigest: 'refused' }

/** Rows of one child, or of those that a call starts in one go; their ids are the operation's answer. */
export function* prepareChild(attempt: Attempt, input: PrepareChildInput): Steps<PrepareChildAnswer> {
  const { world } = attempt
  const { callId, name } = input
  const entered = enterCall<PrepareChildAnswer>(attempt, input, { id: callId, opens: true })
  if (entered.kind === 'answered') return entered.answer
  yield
  const { thread } = entered
  const refuses =
    thread.depth >= 2 || world.budget <= 0 || input.open >= LIMITS.openChildren - 3 || world.may(0.05)
  if (refuses) return commitResult(attempt, entered, input, { make: () => REFUSED })
  world.budget -= 2
  if (world.may(0.15)) return defer(attempt, entered, input)
  const resumable = name === 'create'
  const count = world.random.pick([1, 1, 1, 2, 3])
  const group = count > 1
  const blocking = world.random.chance(0.55)
  const timeout = blocking && world.random.chance(0.3) ? { timeout: 1 + world.random.below(60_000) } : {}
  return commit(attempt, thread, entered, () => {
    const children = Array.from({ length: count }, () =>
      writeChild(attempt, thread, { callId, resumable, group, blocking, deferred: false }),
    )
    return { type: 'children', children, group, blocking, ...timeout }
  })
}

type Written = Pick<ChildRow, 'callId' | 'resumable' | 'group' | 'blocking' | 'deferred'>

function writeChild({ world }: Attempt, parent: ThreadRow, about: Written): PreparedChild {
  const reference = world.newId(`${parent.id}.`)
  const agent = about.resumable ? 'keeper' : 'helper'
  const messageId = `${reference}:first`
  const { id, depth } = parent
  const thread = newThread({ id: reference, agent, parent: id, depth: depth + 1, resumable: about.resumable })
  append(thread, [{ type: 'thread.started' }])
  stage(thread, { id: messageId, role: 'user', by: 'parent' })
  world.threads.set(reference, thread)
  thread.variables = !world.may(0.05)
  const explicit = about.resumable && world.random.chance(0.3)
  world.log.invocations.add(`${id} ${reference} ${about.callId}`)
  parent.children.set(reference, { ...about, reference, explicit, closed: false, report: null })
  return { reference, agent, messageId, resumable: about.resumable }
}

/** A child that lacks variables: its rows are there, it starts once the request is answered. */
function defer(attempt: Attempt, held: Held, input: PrepareChildInput): ResultAnswer {
  const { world } = attempt
  const { thread } = held
  return commitResult(attempt, held, input, {
    make: () => {
      const about = { callId: input.callId, group: false, blocking: false, deferred: true }
      const child = writeChild(attempt, thread, { ...about, resumable: world.random.chance(0.4) })
      const requestId = `env_${child.reference}`
      thread.requests.set(requestId, {
        ...{ id: requestId, kind: 'variables', callId: null, child: child.reference, state: 'open' },
      })
      const expiresAt = input.now + world.random.below(90_000)
      return {
        type: 'result',
        outcome: 'succeeded',
        operations: [{ kind: 'defer_child', requestId, child, expiresAt }],
      }
    },
  })
}

/** A message for a child that stays, in its store before its workflow hears of it (T2). */
export function* prepareMessage(attempt: Attempt, input: PrepareMessageInput): Steps<PrepareMessageAnswer> {
  const { world } = attempt
  const { callId } = input
  const entered = enterCall<PrepareMessageAnswer>(attempt, input, { id: callId, opens: true })
  if (entered.kind === 'answered') return entered.answer
  yield
  const { thread } = entered
  const known = [...thread.children.values()].filter(
    ({ resumable, closed, deferred }) => resumable && !closed && !deferred,
  )
  if (known.length === 0) return commitResult(attempt, entered, input, { make: () => REFUSED })
  const child = world.random.pick(known)
  const { reference } = child
  const status = closeStatus(world, reference)
  if (status !== null)
    return commitResult(attempt, entered, input, {
      make: () => {
        child.closed = true
        return { ...REFUSED, operations: [{ kind: 'child_closed', reference, status }] }
      },
    })
  yield
  if (thread.terminateRequested) return TERMINATED
  const other = world.thread(reference)
  if (!isOpen(other)) return commitResult(attempt, entered, input, { make: () => REFUSED })
  const blocking = world.random.chance(0.6)
  const timeout = blocking && world.random.chance(0.3) ? { timeout: 1 + world.random.below(60_000) } : {}
  return commit(attempt, thread, entered, () => {
    const messageId = world.newId(`${reference}:message`)
    const role = world.random.pick(['user', 'assistant'] as const)
    stage(other, { id: messageId, role, by: 'parent' })
    world.log.invocations.add(`${thread.id} ${reference} ${callId}`)
    return { type: 'message', reference, messageId, role, blocking, ...timeout }
  })
}
