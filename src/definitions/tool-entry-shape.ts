import { z } from 'zod'

import { LIMITS } from '../protocol/limits.js'
import { count, name, text, variableName } from './field-shapes.js'

/** The object comes first: what is wrong inside of it is what its author needs to know. */
const resumable = z.union([
  z.strictObject({
    receives_messages: z.enum(['side_a', 'side_b']),
    maxInstances: count.optional(),
    parentCommunication: z.enum(['implicit', 'explicit']).optional(),
  }),
  z.custom((value) => value === false, "expected false or { receives_messages: 'side_a' or 'side_b' }"),
])

const immediate = z.union([
  z.strictObject({
    nameEnv: variableName.optional(),
    descriptionEnv: variableName.optional(),
    scopedEnv: z.array(variableName).optional(),
  }),
  z.custom(
    (value) => typeof value === 'boolean',
    'expected true, false or { nameEnv, descriptionEnv, scopedEnv }',
  ),
])

/** An entry of a prompt's tools; which of these fields it may have depends on what its name stands for. */
export const toolEntryShape = z.strictObject({
  name,
  includeTextResponse: z.boolean().optional(),
  includeToolCalls: z.boolean().optional(),
  includeErrors: z.boolean().optional(),
  blocking: z.boolean().optional(),
  // No timer of a thread is longer.
  timeout: count.max(LIMITS.longestTimer).optional(),
  resumable: resumable.optional(),
  immediate: immediate.optional(),
  optional: variableName.optional(),
  fanOut: z.boolean().optional(),
  initUserMessageProperty: text.optional(),
  initAttachmentsProperty: text.optional(),
  initAgentNameProperty: text.optional(),
})
