/** A worker process with one agent, its model and its tool; it is run as JavaScript, which production is too. */
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import type { WorkflowBundleOption } from '@temporalio/worker'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from 'everthread'
import type { StoreOptions } from 'everthread/client'
import { createWorker } from 'everthread/worker'

interface Options {
  readonly address: string
  readonly taskQueue: string
  readonly store: StoreOptions
  readonly workflows: { readonly workflowBundle?: WorkflowBundleOption }
}

const { address, taskQueue, store, workflows } = JSON.parse(process.env['BENCH_START'] ?? '{}') as Options
Runtime.install({ logger: new DefaultLogger('WARN') })
const connection = await NativeConnection.connect({ address })
const languageModel = () => {
  throw new Error('Expected a worker that is only started.')
}
const worker = await createWorker({
  registry: registry({
    models: [defineModel({ name: 'none', provider: { languageModel }, model: 'none' })],
    prompts: [
      definePrompt({
        name: 'worker',
        toolDescription: 'Works',
        prompt: 'You work step by step.',
        model: 'none',
        tools: ['look_up'],
      }),
    ],
    agents: [defineAgent({ name: 'worker', sideA: { prompt: 'worker' } })],
    tools: {
      look_up: defineTool({
        description: 'Looks something up',
        execute: () => ({ status: 'success', result: 'found' }),
      }),
    },
  }),
  store,
  connection,
  taskQueue,
  ...workflows,
})
await worker.run()
