import { afterEach, expect, test, vi } from 'vitest'
import { readTokens, readToolWorkers, serve } from './serve.js'
import { readSweepTimes } from './sweep-times.js'
import type { CommandContext } from './terminal.js'

afterEach(() => {
  vi.unstubAllEnvs()
})

test("tokens come one a line or by commas, with their account or an operator's", () => {
  const text = `# of the shop
first-token-of-acme acme
operators-own-token

second-token  Acme Outdoor, third-token`
  expect(readTokens(text)).toEqual([
    { token: 'first-token-of-acme', account: 'acme' },
    { token: 'operators-own-token' },
    { token: 'second-token', account: 'Acme Outdoor' },
    { token: 'third-token' },
  ])
})

test.each(['', ' \n# none\n'])('no token in %j is said, with how to make one', (text) => {
  expect(() => readTokens(text)).toThrow('openssl rand -hex 32')
})

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

test('a time of a sweep without a unit is refused before anything is served', async () => {
  vi.stubEnv('EVERTHREAD_TOKENS', 'operators-own-token')
  const served = serve.run({} as CommandContext, {
    arguments: [],
    flags: { 'closed-for': '90', 'no-page': true },
  })
  await expect(served).rejects.toThrow('Expected --closed-for with a unit, such as "90d", got "90".')
  expect(readSweepTimes({ 'inactive-for': '24h', other: 'x' })).toEqual({ inactiveFor: '24h' })
})

test.each(['x', '-1', '65536', '80.5'])('port %j is refused before anything is served', async (port) => {
  vi.stubEnv('EVERTHREAD_TOKENS', 'operators-own-token')
  const served = serve.run({} as CommandContext, { arguments: [], flags: { port } })
  await expect(served).rejects.toThrow(`Expected --port to be a number from 0 to 65535, got "${port}"`)
})
