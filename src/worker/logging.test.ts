import { expect, test } from 'vitest'
import { ConfigError } from '../protocol/errors.js'
import { loggingOptions } from './logging.js'

test('nothing said leaves the logger of Temporal as it is', () => {
  expect(loggingOptions({})).toBeNull()
})

test('format and level come from the environment', () => {
  expect(loggingOptions({ EVERTHREAD_LOG: 'json' })).toEqual({ format: 'json', level: 'INFO' })
  expect(loggingOptions({ EVERTHREAD_LOG_LEVEL: 'debug' })).toEqual({ format: 'text', level: 'DEBUG' })
})

test('unknown formats and levels are refused together', () => {
  const read = (): unknown => loggingOptions({ EVERTHREAD_LOG: 'xml', EVERTHREAD_LOG_LEVEL: 'loud' })
  expect(read).toThrow(ConfigError)
  expect(read).toThrow(/"xml"[^]+trace, debug, info, warn, error, got "loud"/)
})
