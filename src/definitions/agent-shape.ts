import { z } from 'zod'

import { count, env, hookIds, name, text } from './field-shapes.js'

const sessionTool = z.union(
  [name, z.strictObject({ name, messageProperty: text.optional(), attachmentsProperty: text.optional() })],
  'expected the name of a tool, or { name, messageProperty, attachmentsProperty }',
)

const side = z.strictObject({
  prompt: name,
  label: z.string().optional(),
  stopOnResponse: z.boolean().optional(),
  stopTool: name.optional(),
  stopToolResponseProperty: text.optional(),
  maxSteps: count.optional(),
  sessionStop: sessionTool.optional(),
  sessionFail: sessionTool.optional(),
  sessionStatus: sessionTool.optional(),
  endSessionTool: sessionTool.optional(),
  failSessionTool: sessionTool.optional(),
  statusTool: sessionTool.optional(),
})

/** What an agent may look like. */
export const agentShape = z.strictObject({
  name,
  type: z.enum(['ai_human', 'dual_ai']).optional(),
  sideA: side,
  sideB: side.optional(),
  maxSessionTurns: count.optional(),
  providerPatience: z.int().nonnegative().optional(),
  title: z.string().optional(),
  description: z.string().optional(),
  icon: z.string().optional(),
  exposeAsTool: z.boolean().optional(),
  toolDescription: z.string().optional(),
  env: env.optional(),
  hooks: hookIds.optional(),
  packageName: z.string().optional(),
  version: z.string().optional(),
  author: z.string().optional(),
  license: z.string().optional(),
})
