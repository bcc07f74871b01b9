import { expectTypeOf, test } from 'vitest'

import type { AgentName, ModelName, Registry, ToolInput, ToolName } from '../../src/index.js'

import { defineTool, registry } from '../../src/index.js'
import { desk } from './support-desk/registry.js'

type Tools = 'lookup_order' | 'refund_order' | 'deliver_report' | 'give_up'

test('a registry knows the names of its parts', () => {
  expectTypeOf<AgentName<typeof desk>>().toEqualTypeOf<'support' | 'research'>()
  expectTypeOf<ModelName<typeof desk>>().toEqualTypeOf<'chat' | 'review'>()
  expectTypeOf<ToolName<typeof desk>>().toEqualTypeOf<Tools>()
})

test('a registry knows what callers write for its tools', () => {
  type Input = ToolInput<typeof desk, 'lookup_order'>
  expectTypeOf<Input>().toEqualTypeOf<{ orderId: string; withInvoice?: boolean | undefined }>()
  const now = defineTool({
    description: 'The time.',
    execute: (state) => ({ status: 'success', result: state.createdAt }),
  })
  const clock = registry({ agents: [], prompts: [], models: [], tools: { now } })
  expectTypeOf<ToolInput<typeof clock, 'now'>>().toEqualTypeOf<Record<string, never>>()
})

test('a registry of any names stands for every registry', () => {
  expectTypeOf(desk).toExtend<Registry>()
  expectTypeOf<AgentName<Registry>>().toEqualTypeOf<string>()
  expectTypeOf<ToolName<Registry>>().toEqualTypeOf<string>()
  expectTypeOf<ToolInput<Registry, string>>().toEqualTypeOf<Record<string, unknown>>()
})
