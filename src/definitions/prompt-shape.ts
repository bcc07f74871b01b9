import { z } from 'zod'

import { NOT_SUPPORTED_YET, partTypeHint } from './field-hints.js'
import { count, env, hookIds, name, providerOptions, schema, text, variables } from './field-shapes.js'

const no = z.custom((value) => value === false, NOT_SUPPORTED_YET).optional()

const part = z.discriminatedUnion(
  'type',
  [
    z.strictObject({ type: z.literal('text'), content: z.string() }),
    z.strictObject({ type: z.literal('include'), prompt: name }),
    z.strictObject({ type: z.literal('env'), property: name }),
  ],
  { error: (issue) => partTypeHint(issue.input) },
)

/** Which of these fields an entry may have depends on what its name stands for. */
const toolEntry = z.strictObject({
  name,
  includeTextResponse: z.boolean().optional(),
  includeToolCalls: z.boolean().optional(),
  includeErrors: z.boolean().optional(),
  blocking: z
    .boolean()
    .refine((value) => value, NOT_SUPPORTED_YET)
    .optional(),
  resumable: no,
  immediate: no,
  initUserMessageProperty: text.optional(),
  initAttachmentsProperty: text.optional(),
  initAgentNameProperty: text.optional(),
})

/** What a prompt may look like. */
export const promptShape = z.strictObject({
  name,
  toolDescription: text,
  prompt: z.union([z.string(), z.array(part)], 'expected a text or an array of parts'),
  model: name,
  includeChat: z.boolean().optional(),
  includePastTools: z.boolean().optional(),
  requiredSchema: schema.optional(),
  variables: variables.optional(),
  env: env.optional(),
  hooks: hookIds.optional(),
  parallelToolCalls: z.boolean().optional(),
  reasoning: z
    .strictObject({
      effort: z.enum(['low', 'medium', 'high']).optional(),
      maxTokens: count.optional(),
      exclude: z.boolean().optional(),
      include: z.boolean().optional(),
    })
    .optional(),
  recentImageThreshold: z.int().nonnegative().optional(),
  tools: z
    .array(z.union([name, toolEntry], 'expected the name of a tool, a prompt or an agent, or { name }'))
    .optional(),
  toolChoice: z.enum(['auto', 'none', 'required']).optional(),
  providerOptions: providerOptions.optional(),
})
