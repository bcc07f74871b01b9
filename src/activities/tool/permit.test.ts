import { describe, expect, test } from 'vitest'

import { withStore } from '../../../test/support/temporary-store.js'
import type { OperationRecord } from '../../store/operations.js'
import type { Permissions } from '../../policy/permissions.js'
import { withoutHooks } from '../hooks/hook-batch.js'
import { judgePermit } from './judge-permit.js'
import { judgeInPlace, permitOfTool } from './permit.js'

const IN_PLACE = {
  ...{ content: null, name: 'refund', args: {}, traits: { capabilities: ['a'] }, permissions: { rules: [] } },
  ...{
    signal: new AbortController().signal,
    input: { threadId: 't', run: 1 } as never,
    kind: 'tool' as const,
  },
  hooks: withoutHooks(),
} as const

test('a call in place is judged by the rules of the worker and the check of its tool', async () => {
  const opinion = { source: 'tool', effect: 'require_approval' } as const
  await withStore(async (store) => {
    const judged = (permissions: Permissions, given: typeof opinion | null) =>
      judgeInPlace({ permissions, store } as never, { ...IN_PLACE, check: async () => given })
    expect(await judged({ a: 'deny' }, opinion)).toMatchObject({ decision: 'denied', source: 'worker' })
    expect(await judged({ a: 'allow' }, opinion)).toMatchObject({ decision: 'asked', source: 'tool' })
    expect(await judged({}, null)).toMatchObject({ decision: 'allowed', source: 'default' })
  })
})

describe('a call of a function', () => {
  /** No check of the tool may run, so nothing else is read. */
  const permitOf = (operation: Partial<OperationRecord> | null, more: object = {}) => {
    const needsApproval = (): never => {
      throw new Error('Expected no question.')
    }
    const asking = {
      operation,
      hooks: withoutHooks(),
      input: more,
      row: {},
      tool: { needsApproval, capabilities: ['a'] },
      args: {},
    }
    return permitOfTool({} as never, asking as never)
  }

  test('that has begun is not judged again', async () => {
    expect(await permitOf({ state: 'started' })).toBeNull()
  })

  test('whose activity has failed is not judged: its code does not run', async () => {
    expect(await permitOf(null, { failed: true })).toBeNull()
  })

  test('of a remote tool is judged although its activity has failed: it may be sent all the same', async () => {
    const asking = {
      operation: null,
      input: { failed: true },
      tool: { remote: {} },
      args: {},
      content: {},
      row: {},
      hooks: withoutHooks(),
    }
    const permit = await permitOfTool({ permissions: { a: 'deny' } } as never, asking as never)
    expect(permit?.rules).toEqual([{ source: 'worker', permissions: { a: 'deny' } }])
  })

  test('that waits is judged by the answer alone', async () => {
    expect(await permitOf({ state: 'waiting' })).toMatchObject({
      traits: { capabilities: ['a'] },
      opinions: [],
    })
  })
})

test('grants are read only where one could answer', async () => {
  const call = {
    input: { threadId: 't', run: 1, now: 1 },
    row: { name: 'pay', arguments: '{}' },
    permissions: { rules: [] },
  }
  const permit = {
    hookFacts: null,
    changed: null,
    traits: {},
    rules: [],
    opinions: [],
    mode: undefined,
    problems: [],
    question: () => null as never,
  }
  const judged = (effect: 'allow' | 'deny') =>
    // No database: nothing may be read.
    judgePermit(null as never, { ...permit, opinions: [{ source: 'tool', effect }] }, call)
  expect(await judged('allow')).toMatchObject({ decision: 'allowed' })
  expect(await judged('deny')).toMatchObject({ decision: 'denied' })
})
