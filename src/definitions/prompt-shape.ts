import { z } from 'zod'

import { partTypeHint } from './field-hints.js'
import { count, env, hookIds, name, providerOptions, schema, text, variables } from './field-shapes.js'
import { toolEntryShape } from './tool-entry-shape.js'

const part = z.discriminatedUnion(
  'type',
  [
    z.strictObject({ type: z.literal('text'), content: z.string() }),
    z.strictObject({ type: z.literal('include'), prompt: name }),
    z.strictObject({ type: z.literal('env'), property: name }),
  ],
  { error: (issue) => partTypeHint(issue.input) },
)

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
  continueCutAnswers: z.int().nonnegative().optional(),
  tools: z
    .array(z.union([name, toolEntryShape], 'expected the name of a tool, a prompt or an agent, or { name }'))
    .optional(),
  toolChoice: z.enum(['auto', 'none', 'required']).optional(),
  providerOptions: providerOptions.optional(),
})
