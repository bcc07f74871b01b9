import { TestWorkflowEnvironment } from '@temporalio/testing'
import { expect, inject, onTestFinished, test } from 'vitest'

import { reading_room } from '../../examples/python-tool/registry.js'
import { serveThreads } from '../../src/server/index.js'
import { createTestEnvironment } from '../../src/testing/index.js'
import { startPythonWorker } from '../support/python-worker.js'
import { toolResults } from '../support/thread-facts.js'
import { createVoice } from '../support/voice.js'

const token = 'the-token-of-the-python-example'

test('the worker of the Python example counts the words of a file', async () => {
  const address = inject('devServerAddress')
  const voice = createVoice()
  const env = await createTestEnvironment({
    registry: reading_room,
    models: { chat: voice.model },
    server: await TestWorkflowEnvironment.createFromExistingServer({ address }),
    worker: { workflowBundle: { codePath: inject('workflowBundlePath') } },
  })
  onTestFinished(() => env.close())
  const toolWorkers = [{ token, taskQueues: ['python-tools'] }]
  const server = await serveThreads({
    client: env.threads,
    tokens: [{ token: `${token}-of-people`, account: 'people' }],
    toolWorkers,
    port: 0,
  })
  onTestFinished(() => server.close())
  const place = { address, taskQueue: 'python-tools', url: server.url, token, effects: '' }
  const python = await startPythonWorker(place, 'examples/python-tool/worker.py')
  onTestFinished(() => python.kill())

  voice.says(
    { toolCalls: [{ name: 'count_words', args: { path: '/attachments/song.txt', top: 1 } }] },
    { text: 'Mostly "la".' },
  )
  const song = { name: 'song.txt', mimeType: 'text/plain', data: Buffer.from('la la la lu') }
  const message = { content: 'What is it about?', attachments: [song] }
  const thread = await env.threads.create({ agent: 'reader', message })
  expect((await thread.waitUntilIdle()).reply?.content).toBe('Mostly "la".')
  const [result] = await toolResults(thread)
  expect(JSON.parse(result?.content ?? '')).toEqual({ words: 4, most: [['la', 3]] })
  expect(result?.attachments).toMatchObject([{ path: '/reports/words.json', mimeType: 'application/json' }])
})
