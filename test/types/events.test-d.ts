import { expectTypeOf, test } from 'vitest'

import type { ThreadEvent, ThreadEventOf } from '../../src/client/index.js'
import type { EventPayloads } from '../../src/protocol/events.js'
import { fact } from '../../src/protocol/facts.js'
import type { Fact } from '../../src/protocol/facts.js'

test('a fact of the event table compiles', () => {
  expectTypeOf(fact('tool.started', { name: 'look' }, { toolCallId: 'c' })).toEqualTypeOf<
    Fact<'tool.started'>
  >()
  expectTypeOf(fact('thread.reopened', {})).toExtend<Fact>()
})

test('a fact that is not in the event table does not compile', () => {
  // @ts-expect-error a type that the table does not have
  fact('tool.began', { name: 'look' })
  // @ts-expect-error a field is missing
  fact('thread.started', { agent: 'a' })
  // @ts-expect-error a field is null that is never null
  fact('tool.started', { name: null })
  // @ts-expect-error a field that the table does not have
  fact('tool.started', { name: 'look', by: 'model' })
  // @ts-expect-error a payload where the table has none
  fact('thread.reopened', { reason: 'lost' })
  // @ts-expect-error a scope that the table does not have
  fact('tool.started', { name: 'look' }, { threadId: 't' })
  // @ts-expect-error a literal is checked as a call is
  const literal: Fact = { type: 'tool.started', payload: { agent: 'a' } }
  expectTypeOf(literal).toExtend<Fact>()
})

test('a code that is not listed does not compile where it is written', () => {
  // @ts-expect-error a code of a warning that the list does not have
  fact('runtime.warning', { code: 'queue_empty' })
  // @ts-expect-error a decision that the list does not have
  fact('action.resolved', { requestId: 'r', kind: 'call', decision: 'refused', by: null })
  // @ts-expect-error one payload for two types fits both of them
  fact(Math.random() > 1 ? 'tool.started' : 'effect.removed', { name: 'look' })
})

test('readers get lists of codes open, and joined fields', () => {
  type Required = ThreadEventOf<'action.required'>['payload']
  expectTypeOf<'of a later version'>().toExtend<Required['kind']>()
  expectTypeOf<Required['preview']>().toEqualTypeOf<string | null>()
  expectTypeOf<ThreadEventOf<'thread.status'>['payload']>().toEqualTypeOf<{
    readonly status: string | null
  }>()
  expectTypeOf<ThreadEventOf<'message.deleted'>['payload']>().toEqualTypeOf<Readonly<Record<string, never>>>()
})

test('readers get every type of the event table, and what is seen while it happens', () => {
  type Streamed = 'model.delta' | 'reasoning.delta' | 'tool.args' | 'tool.output' | 'tool.progress'
  expectTypeOf<keyof EventPayloads | Streamed>().toEqualTypeOf<ThreadEvent['type']>()
})
