import './zod-version.js'
import { z } from 'zod'
import { LIMITS } from '../../protocol/limits.js'
import { isTaskQueue, variableNameProblem } from '../../protocol/values.js'
import { HOOK_POINTS } from '../hook.js'
import { providerVersionProblem } from '../model.js'
import { partTypeHint } from './hints.js'

// First, for everything below needs zod 4.
/** A text that says something. */
const text = z.string().refine((value) => value.trim() !== '', 'must not be empty')

const name = text.max(LIMITS.nameLength)

/** Of a variable that something reads. */
const variableName = z.string().superRefine((value, context) => {
  const problem = variableNameProblem(value)
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
})

const taskQueue = name.refine(
  isTaskQueue,
  'expected a name of a task queue: no control characters, and no /_sys/ at its beginning',
)

const count = z.int().positive()

/** The shape of arguments. */
const schema = z.custom<z.ZodObject>((value) => value instanceof z.ZodObject, 'expected a z.object of zod 4')

const execute = z.custom((value) => typeof value === 'function', 'expected a function')

/** By provider key of the AI SDK. */
const providerOptions = z.record(z.string(), z.record(z.string(), z.json()))

/** Values of variables, by name. */
const env = z.record(z.string(), z.string())

const hookIds = z.array(name)

const variables = z.array(
  z.strictObject({
    name,
    type: z.enum(['text', 'secret']),
    required: z.boolean(),
    scoped: z.boolean().optional(),
    description: z.string(),
  }),
)

/** Of an activity of another worker; ours are called `thread.…`. */
const activityType = name.refine(
  (value) => !value.startsWith('thread.'),
  'expected a type of an activity that does not begin with "thread."',
)

/** What a tool may look like. */
const toolShape = z.strictObject({
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
const hookShape = z.strictObject({
  hook: z.enum(HOOK_POINTS),
  id: name,
  execute,
  timeout: count.max(LIMITS.longestHook).optional(),
})

/** What an effect may look like. */
const effectShape = z.strictObject({ description: text, args: schema.optional(), execute })

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
const toolEntryShape = z.strictObject({
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
const agentShape = z.strictObject({
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

const price = z.number().nonnegative()

const provider = z
  .custom((value) => {
    const isHolder = typeof value === 'function' || (typeof value === 'object' && value !== null)
    return isHolder && 'languageModel' in value && typeof value.languageModel === 'function'
  }, 'expected a provider of the AI SDK: an object with languageModel(id)')
  .superRefine((value, context) => {
    const problem = providerVersionProblem(value)
    if (problem !== undefined) context.addIssue(problem)
  })

const capabilities = z.strictObject({
  supportsImages: z.boolean().optional(),
  supportsDocuments: z.boolean().optional(),
  supportsAudio: z.boolean().optional(),
  supportsToolCalls: z.boolean().optional(),
  supportsStreaming: z.boolean().optional(),
  supportsJsonMode: z.boolean().optional(),
  maxContextTokens: count.optional(),
  maxOutputTokens: count.optional(),
  reasoningLevels: z
    .record(z.string(), text.nullable())
    .refine((levels) => Object.keys(levels).every(isLevel), 'expected levels from 0 to 100 as keys')
    .optional(),
  vision: z.boolean().optional(),
})

/** What a model may look like. */
const modelShape = z.strictObject({
  name,
  provider,
  model: text,
  fallbacks: z.array(name).optional(),
  rateLimit: z
    .strictObject({ concurrency: count.optional(), requestsPerMinute: count.optional() })
    .optional(),
  taskQueue: taskQueue.optional(),
  inputPrice: price.optional(),
  outputPrice: price.optional(),
  cachedPrice: price.optional(),
  capabilities: capabilities.optional(),
  providerOptions: providerOptions.optional(),
})

function isLevel(key: string): boolean {
  return /^\d+(\.\d+)?$/.test(key) && Number(key) <= 100
}

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
const promptShape = z.strictObject({
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

/** What each kind of definition may look like: exactly these fields, so that none is ignored in silence. */
export const DEFINITION_SHAPES = {
  agents: agentShape,
  prompts: promptShape,
  models: modelShape,
  tools: toolShape,
  hooks: hookShape,
  effects: effectShape,
} as const

/** The key of a tool or an effect. */
export const KEY_SHAPE = name

/** What `registry()` takes. */
export const REGISTRY_SHAPE = z.strictObject({
  agents: z.array(z.unknown()),
  prompts: z.array(z.unknown()),
  models: z.array(z.unknown()),
  tools: byKey('tools').optional(),
  hooks: z.array(z.unknown()).optional(),
  effects: byKey('effects').optional(),
})

function byKey(what: string): z.ZodType {
  return z.custom(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    `expected an object of ${what}, by name: { my_name: … }`,
  )
}
