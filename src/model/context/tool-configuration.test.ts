import { expect, test } from 'vitest'
import { toolConfiguration } from './provider-options.js'

test('tools keep their order and their schemas', () => {
  const inputSchema = { type: 'object', properties: { order: { type: 'string' } } } as const
  const tools = [
    { name: 'refund', description: 'Refunds an order.', inputSchema },
    { name: 'look_up', description: 'Finds an order.', inputSchema },
  ]
  expect(toolConfiguration(tools)).toEqual(tools.map((tool) => ({ type: 'function', ...tool })))
})
