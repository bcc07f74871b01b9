import { expect, test } from 'vitest'
import { ConfigError } from '../protocol/errors.js'
import { installLogging, isForUsers, lineLogger, readLoggingOptions } from './logging.js'
import { Runtime } from './temporal-worker.js'

test('nothing said is null', () => {
  expect(readLoggingOptions({})).toBeNull()
})

test('format and level come from the environment', () => {
  expect(readLoggingOptions({ EVERTHREAD_LOG: 'json' })).toEqual({ format: 'json', level: 'INFO' })
  expect(readLoggingOptions({ EVERTHREAD_LOG_LEVEL: 'debug' })).toEqual({ format: 'text', level: 'DEBUG' })
})

test('unknown formats and levels are refused together', () => {
  const read = (): unknown => readLoggingOptions({ EVERTHREAD_LOG: 'xml', EVERTHREAD_LOG_LEVEL: 'loud' })
  expect(read).toThrow(ConfigError)
  expect(read).toThrow(/"xml"[^]+trace, debug, info, warn, error, got "loud"/)
})

test('without a level what the SDK says of itself is left out, and what users and threads say is not', () => {
  expect(isForUsers('INFO', 'asset workflow-bundle.js 1.1 MiB', { sdkComponent: 'worker' })).toBe(false)
  expect(isForUsers('INFO', 'x', { sdkComponent: 'core' })).toBe(false)
  expect(isForUsers('WARN', 'x', { sdkComponent: 'core' })).toBe(true)
  expect(isForUsers('INFO', 'x', { sdkComponent: 'activity' })).toBe(true)
  expect(isForUsers('INFO', 'A worker runs.')).toBe(true)
})

test('a Runtime that its owner has installed stays', async () => {
  // Files of this project share a process.
  const before = Runtime._instance
  const owned = Runtime.instance()
  installLogging({})
  installLogging({ EVERTHREAD_LOG: 'json' })
  expect(Runtime.instance()).toBe(owned)
  if (before === undefined) await owned.shutdown()
})

test('a line for a terminal has the thread and the reason, whatever came in many lines', () => {
  const lines: string[] = []
  const logger = lineLogger('WARN', (line) => lines.push(line))
  const meta = { workflowType: 'agentThread', workflowId: 't1', attempt: 2 }
  logger.warn('Activity failed', { ...meta, error: new Error('No order.\n  It was eaten.') })
  logger.warn('Slow\nserver')
  logger.info('Nothing')
  expect(lines).toEqual([
    'warn: Activity failed (thread t1): No order. It was eaten.\n',
    'warn: Slow server\n',
  ])
})
