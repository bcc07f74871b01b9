// One green test of an agent with the kit, alone in its process: with whatever the kit says on its own.
import { createTestEnvironment, scriptedModel } from '../../src/testing/index.js'
import { workflowDesk } from '../support/workflow-desk.js'

const silent = scriptedModel([])
const chat = scriptedModel([{ toolCalls: [{ name: 'work', args: { task: 'count' } }] }, { text: 'Done' }])
const env = await createTestEnvironment({
  registry: workflowDesk,
  models: { chat, narrow: silent, backed: silent, review: silent },
  tools: { work: ({ task }) => ({ status: 'success', result: task }) },
})
const thread = await env.threads.create({ agent: 'clerk', message: 'Hello' })
const { reply } = await thread.waitUntilIdle()
await env.close()
process.stdout.write(`${reply?.content}\n`)
