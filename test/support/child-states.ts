import type { ChildReport } from '../../src/protocol/messages.js'
import type { PreparedChild } from '../../src/protocol/status.js'
import {
  applyChildStart,
  applyPreparedChildren,
  applyPreparedMessage,
  onMessageSent,
} from '../../src/thread/child-calls.js'
import { listOpenChildren } from '../../src/thread/children.js'
import type { OpenChild, ThreadControl } from '../../src/thread/control.js'
import { stepOf } from '../../src/thread/run.js'
import type { Call } from '../../src/thread/run.js'
import { NOW, idleControl, withCalls } from './control-states.js'

/** Control states with subagents, for tests of the pure logic. */
export function preparedChild(reference: string, patch: Partial<PreparedChild> = {}): PreparedChild {
  return { reference, agent: 'helper', messageId: `${reference}:first`, resumable: false, ...patch }
}

export function openChildOf(
  reference: string,
  { invocations = ['c0'], ...patch }: ChildPatch = {},
): OpenChild {
  return {
    state: 'open',
    reference,
    resumable: false,
    owes: owing(...invocations),
    reports: 0,
    observed: true,
    checks: 0,
    nextCheckAt: NOW + 60_000,
    ...patch,
  }
}

/** Calls that a child owes, each by itself. */
export function owing(...callIds: readonly string[]): OpenChild['owes'] {
  return callIds.map((callId) => ({ callId, isGrouped: false }))
}

/** Calls whose children have not all ended, and who still owes them. */
export function groupsOf(control: ThreadControl): readonly { callId: string; references: string[] }[] {
  const groups = new Map<string, string[]>()
  for (const { reference, owes } of listOpenChildren(control))
    for (const { callId, isGrouped } of owes)
      if (isGrouped) groups.set(callId, [...(groups.get(callId) ?? []), reference])
  return [...groups].map(([callId, references]) => ({ callId, references }))
}

interface ChildPatch extends Partial<OpenChild> {
  readonly invocations?: readonly string[]
}

interface Asked {
  readonly references?: readonly string[]
  readonly resumable?: boolean
  readonly blocking?: boolean
  readonly timeout?: number
}

/** A call `c0` whose children's rows exist; several are a group. */
export function withPrepared(asked: Asked = {}): ThreadControl {
  const { references = ['k'], resumable = false, blocking = true, timeout } = asked
  const children = references.map((reference) => preparedChild(reference, { resumable }))
  const more = timeout === undefined ? {} : { timeout }
  const answer = { type: 'children', children, group: children.length > 1, blocking, ...more } as const
  return applyPreparedChildren(withCalls('ask'), 'c0', answer, NOW)
}

/** The same once they run. */
export function withStarted(asked: Asked & { readonly isObserved?: boolean } = {}): ThreadControl {
  const { references = ['k'], isObserved = true } = asked
  return references.reduce(
    (next, reference) => applyChildStart(next, { callId: 'c0', reference, isObserved }, NOW),
    withPrepared(asked),
  )
}

/** A call `c0` that has written to the resumable child `k`, which is idle or owes other calls. */
export function withAddressed(
  asked: Asked & { readonly invocations?: readonly string[] } = {},
): ThreadControl {
  const { blocking = true, timeout, invocations = [] } = asked
  const control = { ...withCalls('write'), children: [openChildOf('k', { resumable: true, invocations })] }
  const more = timeout === undefined ? {} : { timeout }
  const message = {
    type: 'message',
    reference: 'k',
    messageId: 'm',
    role: 'user',
    blocking,
    ...more,
  } as const
  return applyPreparedMessage(control, 'c0', message, NOW)
}

export function withSent(asked: Parameters<typeof withAddressed>[0] = {}): ThreadControl {
  return onMessageSent(withAddressed(asked), 'c0', NOW)
}

export function report(patch: Partial<ChildReport> = {}): ChildReport {
  return {
    reference: 'k',
    report: 1,
    invocations: ['c0'],
    kind: 'result',
    messageId: 'k:report:1',
    ...patch,
  }
}

/** The call that the states here have. */
export function callOf(control: ThreadControl): Call | undefined {
  return stepOf(control.run)?.calls[0]
}

/** A thread whose only child is this one. */
export function withChild(patch: ChildPatch = {}): ThreadControl {
  return idleControl({}, { children: [openChildOf('k', patch)] })
}
