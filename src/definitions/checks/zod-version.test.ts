import { expect, test } from 'vitest'
import { z } from 'zod'
import { z as older } from 'zod/v3'
import { checkZodVersion } from './zod-version.js'

test('E4 an older zod is named with the command that mends it', () => {
  expect(() => checkZodVersion(older)).toThrow(
    'Expected zod 4 for Everthread, got zod 3 or older: run "npm install zod@4"',
  )
  expect(() => checkZodVersion(z)).not.toThrow()
})
