import { expectTypeOf, test } from 'vitest'

import type { CallModelInput } from '../../src/protocol/activities.js'
import { toMicros, toMillis } from '../../src/protocol/time.js'
import type { Micros, Millis } from '../../src/protocol/time.js'
import type { ControlSnapshot, QueuedItem } from '../../src/protocol/status.js'

test('milliseconds and microseconds are two types, and plain numbers fit both', () => {
  expectTypeOf<Millis>().not.toExtend<Micros>()
  expectTypeOf<Micros>().not.toExtend<Millis>()
  expectTypeOf<number>().toExtend<Millis & number>()
  expectTypeOf(toMicros).parameter(0).toEqualTypeOf<Millis>()
  expectTypeOf(toMillis).returns.toEqualTypeOf<Millis>()
})

test('the workflow counts milliseconds, and what callers read microseconds', () => {
  expectTypeOf<CallModelInput['now']>().toEqualTypeOf<Millis>()
  expectTypeOf<ControlSnapshot['queue'][number]['queuedAt']>().toEqualTypeOf<Millis>()
  expectTypeOf<QueuedItem['queuedAt']>().toEqualTypeOf<Micros>()
})
