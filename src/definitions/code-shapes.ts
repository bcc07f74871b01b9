import { z } from 'zod'

import { LIMITS } from '../protocol/limits.js'
import { count, execute, name, schema, taskQueue, text, variables } from './field-shapes.js'
import { HOOK_POINTS } from './hook-points.js'

/** Of an activity of another worker; ours are called `thread.…`. */
const activityType = name.refine(
  (value) => !value.startsWith('thread.'),
  'expected a type of an activity that does not begin with "thread."',
)

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
  taskQueue: taskQueue.optional(),
  remote: z.strictObject({ taskQueue, activity: activityType }).optional(),
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
