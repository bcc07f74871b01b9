import { describe, expect, test } from 'vitest'

import type { ActionTraits } from './action.js'
import { judge, judgeForThread, PERMISSION_MODES, storedPermissions } from './judge.js'
import type { Judged, PermissionDecision, PermissionMode } from './judge.js'

const READS: ActionTraits = { readOnly: true }
const WRITES: ActionTraits = {}
const DESTROYS: ActionTraits = {
  destructive: { impact: 'The order is gone.', undo: 'Restore it from the archive.' },
}

interface Given extends Partial<Judged> {
  /** The only one that is set. */
  readonly mode?: PermissionMode
}

function decide(traits: ActionTraits, { mode = 'default', ...given }: Given = {}): PermissionDecision {
  return judge({
    ...{ traits, rules: [], opinions: [], modes: [mode], interactive: true, hasFailed: false },
    ...given,
  })
}

describe('modes', () => {
  test.each([
    ['default', 'allowed', 'allowed', 'allowed'],
    ['untrusted', 'allowed', 'asked', 'asked'],
    ['on_request', 'allowed', 'allowed', 'asked'],
    ['on_failure', 'allowed', 'allowed', 'allowed'],
    ['never', 'allowed', 'allowed', 'allowed'],
    ['plan', 'allowed', 'denied', 'denied'],
    ['auto', 'allowed', 'allowed', 'allowed'],
    ['bypass', 'allowed', 'allowed', 'allowed'],
  ] as const)('AR-PS.2 %s: reads %s, writes %s, destroys %s', (mode, reads, writes, destroys) => {
    const decisions = [READS, WRITES, DESTROYS].map((traits) => decide(traits, { mode }).decision)
    expect(decisions).toEqual([reads, writes, destroys])
  })

  test('AR-PS.2 on_failure asks for a call of a tool that has failed', () => {
    const decisions = [READS, WRITES].map((traits) => decide(traits, { mode: 'on_failure', hasFailed: true }))
    expect(decisions).toEqual([
      { decision: 'allowed', source: 'default', mode: 'on_failure' },
      { decision: 'asked', source: 'mode', mode: 'on_failure' },
    ])
  })

  const ASKS = [{ source: 'tool', effect: 'require_approval' }] as const
  test.each([
    ['default', 'asked', 'tool'],
    ['untrusted', 'asked', 'tool'],
    ['on_request', 'asked', 'tool'],
    ['on_failure', 'asked', 'tool'],
    ['never', 'denied', 'mode'],
    ['plan', 'denied', 'mode'],
    ['auto', 'asked', 'tool'],
    ['bypass', 'allowed', 'mode'],
  ] as const)('AR-PS.2 %s: what a tool wants approved is %s by the %s', (mode, decision, source) => {
    expect(decide(WRITES, { mode, opinions: ASKS })).toMatchObject({ decision, source })
  })

  test('AR-PS.2 auto: the policy function answers in the place of a person', () => {
    const opinions = [...ASKS, { source: 'policy', effect: 'allow' }] as const
    expect(decide(WRITES, { mode: 'auto', opinions })).toMatchObject({
      ...{ decision: 'allowed', source: 'policy', mode: 'auto' },
    })
    expect(decide(WRITES, { mode: 'default', opinions })).toMatchObject({ decision: 'asked' })
  })

  test.each(PERMISSION_MODES)('AR-S3.3 %s allows nothing that a rule denies', (mode) => {
    const traits = { capabilities: ['orders.refund'], readOnly: true }
    const rules = [{ source: 'worker', permissions: { 'orders.*': 'deny' } }] as const
    const opinions = [{ source: 'policy', effect: 'allow' }] as const
    expect(decide(traits, { mode, rules, opinions })).toMatchObject({
      ...{ decision: 'denied', source: 'worker', rules: ['worker:orders.*'] },
    })
  })

  test.each(PERMISSION_MODES)('AR-PS.3 %s keeps what is known of a destructive action', (mode) => {
    const { destructive } = decide(DESTROYS, { mode })
    expect(destructive).toEqual({ impact: 'The order is gone.', undo: 'Restore it from the archive.' })
    expect(decide({ destructive: true }, { mode }).destructive).toBe(true)
  })
})

describe('the record of a decision', () => {
  test('PL-CAP.4 nothing is said about an action: it is allowed, by default', () => {
    expect(decide({})).toEqual({ decision: 'allowed', source: 'default' })
    expect(decide({ capabilities: ['orders.read'] })).toEqual({
      ...{ decision: 'allowed', source: 'default', capabilities: ['orders.read'] },
    })
  })

  test('names what decided, why, and each rule that demanded it', () => {
    const traits = { capabilities: ['orders.refund', 'money.move'] }
    const rules = [
      { source: 'worker', permissions: { 'orders.refund': 'allow', 'money.*': 'require_approval' } },
      { source: 'agent', permissions: { 'orders.*': 'require_approval' } },
    ] as const
    expect(decide(traits, { rules })).toEqual({
      decision: 'asked',
      source: 'worker',
      sources: ['worker', 'agent'],
      rules: ['worker:money.*', 'agent:orders.*'],
      capabilities: ['orders.refund', 'money.move'],
    })
    const opinions = [{ source: 'policy', effect: 'deny', reason: 'Not at night.' }] as const
    expect(decide(traits, { rules, opinions })).toEqual({
      ...{ decision: 'denied', source: 'policy', reason: 'Not at night.' },
      capabilities: ['orders.refund', 'money.move'],
    })
  })

  test('PL-CAP.2 a rule that allows is named, and makes nothing weaker', () => {
    const traits = { capabilities: ['orders.read'] }
    const rules = [{ source: 'thread', permissions: { 'orders.read': true } }] as const
    expect(decide(traits, { rules })).toMatchObject({ decision: 'allowed', source: 'thread' })
    const opinions = [{ source: 'tool', effect: 'require_approval' }] as const
    expect(decide(traits, { rules, opinions })).toMatchObject({ decision: 'asked', source: 'tool' })
  })

  test('AR-PS.9 nobody can be asked: what needs an approval is denied', () => {
    const opinions = [{ source: 'tool', effect: 'require_approval' }] as const
    expect(decide({}, { opinions, interactive: false })).toEqual({
      ...{ decision: 'denied', source: 'not_interactive', sources: ['tool'], interactive: false },
    })
    expect(decide({}, { interactive: false })).toMatchObject({ decision: 'allowed' })
  })

  test('AR-PS.5 a hook in the place of a person answers only where one would be asked', () => {
    const standIn = { source: 'hook', hook: 'duty', effect: 'allow', reason: 'As agreed.' } as const
    const rules = [{ source: 'thread', permissions: { '*': 'require_approval' } }] as const
    const asked = { rules, standIn }
    const traits = { capabilities: ['orders.refund'] }
    expect(decide(traits, asked)).toEqual({
      ...{ decision: 'allowed', source: 'hook', hook: 'duty', reason: 'As agreed.' },
      ...{ sources: ['thread'], rules: ['thread:*'] },
      capabilities: ['orders.refund'],
    })
    expect(decide(traits, { rules, standIn: { ...standIn, effect: 'deny' } })).toMatchObject({
      ...{ decision: 'denied', source: 'hook', hook: 'duty' },
    })
    const denying = [{ source: 'worker', permissions: { 'orders.*': 'deny' } }, ...rules] as const
    expect(decide(traits, { rules: denying, standIn })).toMatchObject({
      decision: 'denied',
      source: 'worker',
    })
    expect(decide(traits, { ...asked, interactive: false })).toMatchObject({ source: 'not_interactive' })
    for (const mode of ['never', 'plan'] as const)
      expect(decide(traits, { ...asked, mode })).toMatchObject({ decision: 'denied', source: 'mode' })
    expect(decide(traits, { standIn })).toMatchObject({ decision: 'allowed', source: 'default' })
  })

  test.each([
    ['allow', 'deny', 'denied'],
    ['allow', 'require_approval', 'asked'],
    ['require_approval', 'allow', 'asked'],
    ['deny', 'allow', 'denied'],
  ] as const)('AR-PS.5 a hook that says %s, and a rule that says %s: %s', (effect, rule, decision) => {
    const opinions = [{ source: 'hook', hook: 'guard', effect }] as const
    const rules = [{ source: 'agent', permissions: { 'a.b': rule } }] as const
    expect(decide({ capabilities: ['a.b'] }, { rules, opinions })).toMatchObject({ decision })
  })

  test('survives JSON', () => {
    const decision = decide(DESTROYS, { mode: 'on_request' })
    expect(JSON.parse(JSON.stringify(decision))).toEqual(decision)
  })
})

const ASKS = {
  traits: {},
  rules: [],
  opinions: [{ source: 'tool', effect: 'require_approval' }],
} as const

describe('the permissions of a thread', () => {
  test.each([
    [undefined, null, 'asked'],
    ['bypass', null, 'allowed'],
    ['bypass', {}, 'allowed'],
    ['bypass', { mode: 'never' }, 'denied'],
    ['never', { mode: 'default' }, 'denied'],
    ['never', { mode: 'bypass' }, 'denied'],
    ['default', { mode: 'bypass' }, 'allowed'],
    ['bypass', { mode: 'default' }, 'asked'],
    ['plan', { mode: 'bypass' }, 'denied'],
    ['untrusted', { mode: 'plan' }, 'denied'],
    [undefined, { interactive: false }, 'denied'],
    [undefined, { permissions: { '*': 'deny' } }, 'asked'],
  ] as const)('the mode %s of the worker and %j: %s', (mode, ofThread, decision) => {
    expect(judgeForThread({ ...ASKS, mode }, storedPermissions({ thread: ofThread }))).toMatchObject({
      decision,
    })
  })
})

describe('the permissions that the store has', () => {
  const DENIES = { 'orders.*': 'deny' } as const

  test('each rule that counts is named with its source', () => {
    const sources = { worker: DENIES, agent: DENIES } as const
    const rules = (['worker', 'agent'] as const).map((source) => ({ source, permissions: sources[source] }))
    const thread = { permissions: DENIES }
    const stored = storedPermissions({ account: DENIES, user: DENIES, thread, run: DENIES })
    const traits = { capabilities: ['orders.refund'] }
    const decision = judgeForThread({ traits, rules, opinions: [], mode: undefined }, stored)
    expect(decision).toMatchObject({
      ...{ decision: 'denied', source: 'worker' },
      rules: ['worker', 'agent', 'account', 'user', 'thread', 'run'].map((source) => `${source}:orders.*`),
    })
  })

  test.each(['account', 'user', 'thread', 'run'] as const)(
    'a rule of the %s denies what a person has allowed',
    (source) => {
      const rules = { account: DENIES, user: DENIES, thread: { permissions: DENIES }, run: DENIES } as const
      const stored = storedPermissions({ thread: { mode: 'bypass' }, [source]: rules[source] })
      const judged = (capability: string) =>
        judgeForThread(
          { traits: { capabilities: [capability] }, rules: [], opinions: [], mode: undefined },
          stored,
          { grant: 'approval_c' },
        )
      expect(judged('orders.refund')).toMatchObject({
        ...{ decision: 'denied', source, rules: [`${source}:orders.*`] },
      })
      expect(judged('mails.send')).toMatchObject({ decision: 'allowed' })
    },
  )
})
