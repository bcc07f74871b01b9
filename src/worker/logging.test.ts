import { expect, test } from 'vitest'
import { ConfigError } from '../protocol/errors.js'
import { installLogging, readLoggingOptions } from './logging.js'
import { Runtime } from './temporal-worker.js'

test('nothing said leaves the logger of Temporal as it is', () => {
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

test('a Runtime that its owner has installed stays, and none is made where nothing is set', async () => {
  // Files of this project share a process.
  const before = Runtime._instance
  installLogging({})
  expect(Runtime._instance).toBe(before)
  const owned = Runtime.instance()
  installLogging({ EVERTHREAD_LOG: 'json' })
  expect(Runtime.instance()).toBe(owned)
  if (before === undefined) await owned.shutdown()
})
