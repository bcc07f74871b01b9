import { expectTypeOf, test } from 'vitest'

import type { AgentDefinition, AgentName } from '../../src/index.js'
import type { asset, assetRegistry } from './asset-subagent.js'

import { defineAgent, definePrompt } from '../../src/index.js'

test('SA-A-01.0 the reference example of Standard Agents compiles', () => {
  expectTypeOf<typeof asset>().toEqualTypeOf<
    AgentDefinition<
      'asset_subagent',
      'asset_worker' | 'asset_reviewer',
      'fail_asset' | 'approve_asset' | 'update_asset_status',
      never
    >
  >()
  expectTypeOf<AgentName<typeof assetRegistry>>().toEqualTypeOf<'asset_subagent'>()
  expectTypeOf(defineAgent).returns.toExtend<AgentDefinition>()
  expectTypeOf(definePrompt).toBeFunction()
})

test('SA-A-00.1 an agent declares type, sides, session tools and exposure', () => {
  expectTypeOf<AgentDefinition['type']>().toEqualTypeOf<'ai_human' | 'dual_ai' | undefined>()
  defineAgent({
    name: 'all_groups',
    type: 'dual_ai',
    sideA: { prompt: 'worker', stopOnResponse: false, stopTool: 'pass', sessionFail: 'fail' },
    sideB: { prompt: 'reviewer', sessionStop: { name: 'approve', messageProperty: 'summary' } },
    exposeAsTool: true,
    toolDescription: 'Works.',
  })
  // @ts-expect-error a type is one of two
  defineAgent({ name: 'a', type: 'ai', sideA: { prompt: 'worker' } })
  // @ts-expect-error a side has a prompt
  defineAgent({ name: 'a', sideA: {} })
  // @ts-expect-error a session tool has a name
  defineAgent({ name: 'a', sideA: { prompt: 'worker', sessionStop: { messageProperty: 'text' } } })
})
