import { z } from 'zod'

import { LIMITS } from '../protocol/limits.js'
import { NOT_SUPPORTED_YET, partTypeHint } from './field-hints.js'

const text = z.string().refine((value) => value.trim() !== '', 'must not be empty')
const name = text.max(LIMITS.nameLength)
const count = z.int().positive()
const price = z.number().nonnegative()
const schema = z.custom<z.ZodObject>((value) => value instanceof z.ZodObject, 'expected a z.object of zod 4')
const execute = z.custom((value) => typeof value === 'function', 'expected a function')
const no = z.custom((value) => value === false, NOT_SUPPORTED_YET).optional()
const providerOptions = z.record(z.string(), z.record(z.string(), z.json()))

const provider = z.custom((value) => {
  const isHolder = typeof value === 'function' || (typeof value === 'object' && value !== null)
  return isHolder && 'languageModel' in value && typeof value.languageModel === 'function'
}, 'expected a provider of the AI SDK: an object with languageModel(id)')

const sessionTool = z.union(
  [name, z.strictObject({ name, messageProperty: text.optional(), attachmentsProperty: text.optional() })],
  'expected the name of a tool, or { name, messageProperty, attachmentsProperty }',
)

const side = z.strictObject({
  prompt: name,
  label: z.string().optional(),
  stopOnResponse: z.boolean().optional(),
  stopTool: name.optional(),
  maxSteps: count.optional(),
  sessionStop: sessionTool.optional(),
  sessionFail: sessionTool.optional(),
})

const agent = z.strictObject({
  name,
  type: z.enum(['ai_human', 'dual_ai']).optional(),
  sideA: side,
  sideB: side.optional(),
  maxSessionTurns: count.optional(),
  title: z.string().optional(),
  description: z.string().optional(),
  icon: z.string().optional(),
  exposeAsTool: z.boolean().optional(),
  toolDescription: z.string().optional(),
  packageName: z.string().optional(),
  version: z.string().optional(),
  author: z.string().optional(),
  license: z.string().optional(),
})

const part = z.discriminatedUnion(
  'type',
  [
    z.strictObject({ type: z.literal('text'), content: z.string() }),
    z.strictObject({ type: z.literal('include'), prompt: name }),
  ],
  { error: (issue) => partTypeHint(issue.input) },
)

const subagentTool = z.strictObject({
  name,
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

const prompt = z.strictObject({
  name,
  toolDescription: text,
  prompt: z.union([z.string(), z.array(part)], 'expected a text or an array of parts'),
  model: name,
  includeChat: z.boolean().optional(),
  includePastTools: z.boolean().optional(),
  requiredSchema: schema.optional(),
  tools: z
    .array(z.union([name, subagentTool], "expected a tool's name, or { name } of a subagent"))
    .optional(),
  toolChoice: z.enum(['auto', 'none', 'required']).optional(),
  providerOptions: providerOptions.optional(),
})

const model = z.strictObject({
  name,
  provider,
  model: text,
  inputPrice: price.optional(),
  outputPrice: price.optional(),
  cachedPrice: price.optional(),
  capabilities: z
    .strictObject({
      supportsImages: z.boolean().optional(),
      supportsToolCalls: z.boolean().optional(),
      maxContextTokens: count.optional(),
    })
    .optional(),
  providerOptions: providerOptions.optional(),
})

const tool = z.strictObject({
  description: text,
  args: schema.optional(),
  execute,
  // An activity is retried for a day at most, so that no longer call could end.
  timeout: count.max(LIMITS.scheduleToClose).optional(),
  idempotent: z.boolean().optional(),
})

/** What each kind of definition may look like: exactly these fields, so that none is ignored in silence. */
export const DEFINITION_SHAPES = {
  agent,
  prompt,
  model,
  tool,
  toolName: name,
  registry: z.strictObject({
    agents: z.array(z.unknown()),
    prompts: z.array(z.unknown()),
    models: z.array(z.unknown()),
    tools: z
      .custom((value) => typeof value === 'object' && value !== null, 'expected an object of tools, by name')
      .optional(),
  }),
} as const
