import { expectTypeOf, test } from 'vitest'

import type { AgentDefinition } from '../../src/index.js'

import { defineAgent } from '../../src/index.js'

test('the reference example of Standard Agents compiles', () => {
  const asset = defineAgent({
    name: 'asset_subagent',
    type: 'dual_ai',
    maxSessionTurns: 40,
    exposeAsTool: true,
    toolDescription: 'Generate and QA top-down game assets.',
    sideA: {
      label: 'Worker',
      prompt: 'asset_worker',
      stopOnResponse: true,
      sessionFail: {
        name: 'fail_asset',
        messageProperty: 'reason',
        attachmentsProperty: 'attachments',
      },
    },
    sideB: {
      label: 'Reviewer',
      prompt: 'asset_reviewer',
      stopOnResponse: false,
      sessionStop: {
        name: 'approve_asset',
        messageProperty: 'summary',
        attachmentsProperty: 'attachments',
      },
    },
  })
  expectTypeOf(asset).toEqualTypeOf<
    AgentDefinition<
      'asset_subagent',
      'asset_worker' | 'asset_reviewer',
      'fail_asset' | 'approve_asset',
      never
    >
  >()
})
