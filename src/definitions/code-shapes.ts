import { z } from 'zod'

import { LIMITS } from '../protocol/limits.js'
import { count, execute, name, schema, text, variables } from './field-shapes.js'
import { HOOK_POINTS } from './hook-points.js'

/** What a tool may look like. */
export const toolShape = z.strictObject({
  description: text,
  args: schema.optional(),
  execute,
  variables: variables.optional(),
  needsApproval: z
    .custom(
      (value) => typeof value === 'boolean' || typeof value === 'function',
      'expected a boolean or a function',
    )
    .optional(),
  retry: z
    .strictObject({ maximumAttempts: count, initialInterval: z.number().positive().optional() })
    .optional(),
  // An activity is retried for a day at most, so that no longer call could end.
  timeout: count.max(LIMITS.scheduleToClose).optional(),
  idempotent: z.boolean().optional(),
})

/** What a hook may look like. */
export const hookShape = z.strictObject({
  hook: z.enum(HOOK_POINTS),
  id: name,
  execute,
  timeout: count.max(LIMITS.longestHook).optional(),
})

/** What an effect may look like. */
export const effectShape = z.strictObject({ description: text, args: schema.optional(), execute })
