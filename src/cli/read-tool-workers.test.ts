import { expect, test } from 'vitest'
import { readToolWorkers } from './serve.js'

test('tool workers come one a line or by commas, each with its queues', () => {
  const text = `# in Python
token-of-the-python-workers python-tools python-gpu

token-of-others ruby, token-without-queues`
  expect(readToolWorkers(text)).toEqual([
    { token: 'token-of-the-python-workers', taskQueues: ['python-tools', 'python-gpu'] },
    { token: 'token-of-others', taskQueues: ['ruby'] },
    { token: 'token-without-queues', taskQueues: [] },
  ])
  expect(readToolWorkers('# none yet\n')).toEqual([])
})
