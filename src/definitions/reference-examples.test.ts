import { expect, test } from 'vitest'
import { assetRegistry } from '../../test/types/asset-subagent.js'
import { desk } from '../../test/types/support-desk/registry.js'
import { buildPlan } from './plan/build-plan.js'

test('SA-A-08.1 the reference example of Standard Agents loads', () => {
  expect(assetRegistry.warnings).toEqual([])
  expect(buildPlan(assetRegistry, 'asset_subagent')).toMatchObject({
    plan: {
      type: 'dual_ai',
      maxSessionTurns: 40,
      sides: {
        a: { label: 'Worker', stopOnResponse: true, sessionFail: 'fail_asset' },
        b: { label: 'Reviewer', stopOnResponse: false, sessionStop: 'approve_asset' },
      },
    },
    lifecycle: {
      a: { sessionFail: { messageProperty: 'reason', attachmentsProperty: 'attachments' } },
      b: {
        sessionStop: { messageProperty: 'summary', attachmentsProperty: 'attachments' },
        sessionStatus: { name: 'update_asset_status', messageProperty: 'status' },
      },
    },
  })
})

test('the example of the documentation loads', () => {
  expect(desk.warnings).toEqual([])
  const { tools, ...names } = desk.names()
  expect(new Set(tools)).toEqual(new Set(['lookup_order', 'refund_order', 'deliver_report', 'give_up']))
  expect(names).toEqual({
    agents: ['support', 'research'],
    prompts: ['support_desk', 'tone', 'researcher', 'reviewer'],
    models: ['chat', 'review'],
    hooks: ['mask_card_numbers'],
    effects: ['ask_satisfaction'],
  })
  expect(buildPlan(desk, 'support')).toMatchObject({
    plan: { prompts: { support_desk: { tools: { research: { kind: 'subagent' } } } } },
    prompts: {
      support_desk: {
        system: [
          { type: 'text', content: 'You are the support desk of ' },
          { type: 'env', property: 'COMPANY_NAME' },
          { type: 'text', content: '. Be brief and friendly. Never invent facts.' },
        ],
        hooks: ['mask_card_numbers'],
        variables: [{ name: 'COMPANY_NAME' }, { name: 'ORDERS_API_KEY', type: 'secret' }],
      },
    },
    models: { chat: { fallbacks: ['review'] }, review: {} },
    env: { COMPANY_NAME: 'Acme Outdoor' },
  })
})
