import { expect, test } from 'vitest'
import { build, research, support } from '../../test/support/loose-registry.js'
import { agentListing } from './worker-agents.js'

test('a listing shows what agents say of themselves', () => {
  const described = { ...support, title: 'Help', description: 'Answers customers', icon: '/help.svg' }
  const registry = build({ agents: [described, research] })
  expect(agentListing({ registry })).toMatchObject([
    {
      name: 'support',
      type: 'ai_human',
      title: 'Help',
      description: 'Answers customers',
      icon: '/help.svg',
      expose_as_tool: false,
    },
    {
      name: 'research',
      type: 'dual_ai',
      title: null,
      description: null,
      icon: null,
      expose_as_tool: true,
    },
  ])
})
