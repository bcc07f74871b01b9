/**
 * The fields that each kind of definition may have, and the sentences about wrong ones. It checks one definition by itself:
 * references to others are checked in `check-definitions.ts`.
 */
// This import comes first, because everything below needs zod 4.
import './zod-version.js'
import { z } from 'zod'
import { LIMITS } from '../../protocol/limits.js'
import { TOOL_ERROR_CATEGORIES } from '../../protocol/payloads/tool-failure.js'
import { isObject, isTaskQueue, variableNameProblem } from '../../protocol/values.js'
import { approvalRuleProblem } from '../../policy/approval.js'
import { destructiveProblem } from '../../policy/action.js'
import { budgetProblem } from '../../policy/budget.js'
import { capabilityProblem, permissionsProblem } from '../../policy/permissions.js'
import { HOOK_POINTS } from '../hook.js'
import { providerVersionProblem } from '../model.js'
import { partTypeHint } from '../prompt.js'
import { toolSourceProblem } from '../tool-source.js'
import type { ToolSource } from '../tool-source.js'
import { isZodObject } from '../plan/argument-schema.js'
import type { ArgumentSchema } from '../plan/argument-schema.js'
import { isForeignSchema } from '../plan/foreign-schema.js'
import { contextShape } from './context-shape.js'
import { adviseOnField } from './field-advice.js'

/** A text that is not blank. */
const text = z.string().refine((value) => value.trim() !== '', 'must not be empty')

const name = text.max(LIMITS.nameLength)

/** For `superRefine`: a check of another module. */
function by<T>(problemOf: (value: T) => string | undefined) {
  return (value: T, context: z.RefinementCtx): void => {
    const problem = problemOf(value)
    if (problem !== undefined) context.addIssue(problem)
  }
}

const variableName = z.string().superRefine(by(variableNameProblem))
const capabilities = z.array(z.unknown().superRefine(by(capabilityProblem))).optional()

const taskQueue = name.refine(
  isTaskQueue,
  'expected a name of a task queue: no control characters, and no /_sys/ at its beginning',
)

const count = z.int().positive()

/** The shape of arguments. */
const schema = z.custom<z.ZodObject>(isZodObject, 'expected a z.object of zod 4')

/** The shape of a tool's arguments. */
const anySchema = z.custom<ArgumentSchema>(
  (value) => isZodObject(value) || isForeignSchema(value),
  'expected a z.object of zod 4, another Standard Schema, or jsonSchema() of the AI SDK',
)

const execute = z.custom((value) => typeof value === 'function', 'expected a function')

/** Options by provider key of the AI SDK. */
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

/** The type of an activity of another worker; ours begin with `thread.`. */
const activityType = name.refine(
  (value) => !value.startsWith('thread.'),
  'expected a type of an activity that does not begin with "thread."',
)

const isCheck = (value: unknown): boolean => typeof value === 'boolean' || typeof value === 'function'

const toolRetry = z.strictObject({
  maximumAttempts: count,
  initialInterval: z.number().positive().optional(),
  on: z.array(z.enum(TOOL_ERROR_CATEGORIES)).optional(),
})

const toolErrorHandler = z.union([
  z.strictObject({
    fallback: z.custom((value) => value !== undefined && value !== null, 'expected an answer'),
  }),
  z.strictObject({ tool: text }),
  z.strictObject({ escalate: z.literal(true), form: z.record(z.string(), z.unknown()).optional() }),
])

/** The shape of a tool. */
const toolShape = z.strictObject({
  description: text,
  args: anySchema.optional(),
  execute,
  variables: variables.optional(),
  needsApproval: z.custom(isCheck, 'expected a boolean or a function').optional(),
  approval: z.unknown().superRefine(by(approvalRuleProblem)).optional(),
  preview: execute.optional(),
  retry: z.union([z.literal(false), toolRetry]).optional(),
  onError: toolErrorHandler.optional(),
  // An activity is retried for a day at most, so a longer call could not end.
  timeout: count.max(LIMITS.scheduleToClose).optional(),
  idempotent: z.boolean().optional(),
  capabilities,
  readOnly: z.boolean().optional(),
  destructive: z.unknown().superRefine(by(destructiveProblem)).optional(),
  taskQueue: taskQueue.optional(),
  remote: z.strictObject({ taskQueue, activity: activityType }).optional(),
  workflow: z.custom(isObject, 'expected what defineWorkflowTool makes').optional(),
  ...{ strict: z.boolean().optional(), providerOptions: providerOptions.optional() },
})

/** The shape of a hook. */
const hookShape = z.strictObject({
  hook: z.enum(HOOK_POINTS),
  id: name,
  execute,
  timeout: count.max(LIMITS.longestHook).optional(),
})

/** The shape of an effect. */
const effectShape = z.strictObject({ description: text, args: schema.optional(), execute })

/** The object is the first member of the union, so that problems inside it are reported. */
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

/** An entry of a prompt's tools. The kind of its callable decides which of these fields it may have. */
const toolEntryShape = z.strictObject({
  name,
  session: z.boolean().optional(),
  includeTextResponse: z.boolean().optional(),
  includeToolCalls: z.boolean().optional(),
  includeErrors: z.boolean().optional(),
  blocking: z.boolean().optional(),
  // The longest timer of a thread.
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

/** The shape of an agent. */
const agentShape = z.strictObject({
  name,
  type: z.enum(['ai_human', 'dual_ai']).optional(),
  sideA: side,
  sideB: side.optional(),
  ...{ maxSessionTurns: count.optional(), maxToolIterations: count.optional() },
  providerPatience: z.int().nonnegative().optional(),
  runAhead: z.union([z.boolean(), z.int().min(2)]).optional(),
  permissions: z.unknown().superRefine(by(permissionsProblem)).optional(),
  budget: z.unknown().superRefine(by(budgetProblem)).optional(),
  capabilities,
  title: z.string().optional(),
  description: z.string().optional(),
  icon: z.string().optional(),
  exposeAsTool: z.boolean().optional(),
  toolDescription: z.string().optional(),
  env: env.optional(),
  hooks: hookIds.optional(),
  ...{ packageName: z.string().optional(), version: z.string().optional() },
  ...{ author: z.string().optional(), license: z.string().optional() },
  output: anySchema.optional(),
})

const price = z.number().nonnegative()

const provider = z
  .custom((value) => {
    const isHolder = typeof value === 'function' || (typeof value === 'object' && value !== null)
    return isHolder && 'languageModel' in value && typeof value.languageModel === 'function'
  }, 'expected a provider of the AI SDK: an object with languageModel(id)')
  .superRefine(by(providerVersionProblem))

const modelCapabilities = z.strictObject({
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

/** The shape of a model. */
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
  capabilities: modelCapabilities.optional(),
  providerOptions: providerOptions.optional(),
  sendIds: z.boolean().optional(),
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

/** The shape of a prompt. */
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
  capabilities,
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
  continueCutAnswers: z.int().nonnegative().optional(),
  ...contextShape,
  tools: z
    .array(z.union([name, toolEntryShape], 'expected the name of a tool, a prompt or an agent, or { name }'))
    .optional(),
  toolChoice: z.enum(['auto', 'none', 'required']).optional(),
  providerTools: z.record(z.string(), z.unknown()).optional(),
  toolSources: z.array(z.custom<ToolSource>().superRefine(by(toolSourceProblem))).optional(),
  providerOptions: providerOptions.optional(),
})

/** The shapes of all kinds of definitions. They allow exactly these fields, so that none is silently ignored. */
const SHAPES = {
  agents: agentShape,
  prompts: promptShape,
  models: modelShape,
  tools: toolShape,
  hooks: hookShape,
  effects: effectShape,
  /** The key of a tool or an effect. */
  key: name,
  /** The input of `registry()`. */
  registry: z.strictObject({
    agents: z.array(z.unknown()),
    prompts: z.array(z.unknown()),
    models: z.array(z.unknown()),
    tools: byKey('tools').optional(),
    hooks: z.array(z.unknown()).optional(),
    effects: byKey('effects').optional(),
  }),
} as const

function byKey(what: string): z.ZodType {
  return z.custom(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    `expected an object of ${what}, by name: { my_name: … }`,
  )
}

type Issue = z.core.$ZodIssue

/** The units of number fields whose names do not contain one. */
const UNITS: ReadonlyMap<PropertyKey | undefined, string> = new Map([
  ['timeout', 'milliseconds'],
  ['providerPatience', 'milliseconds'],
  ['inputPrice', 'US dollars per million tokens'],
  ['outputPrice', 'US dollars per million tokens'],
  ['cachedPrice', 'US dollars per million tokens'],
])

/** Lists all problems in the fields of one definition; `owner` names the definition in each sentence. */
export function shapeProblems(kind: keyof typeof SHAPES, value: unknown, owner: string): readonly string[] {
  const shape: z.ZodType = SHAPES[kind]
  const parsed = shape.safeParse(value, { reportInput: true })
  if (parsed.success) return []
  return parsed.error.issues.flatMap(innerIssues).flatMap((issue) => sentences(shape, issue, owner))
}

/** Replaces zod's report that no member of a union fits by the problems of the nearest member, which the author needs. */
function innerIssues(issue: Issue): readonly Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const nearest = issue.errors.find((issues) => !issues.some(isWrongKind))
  if (nearest === undefined) return [issue]
  return nearest
    .map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }))
    .flatMap((inner) => innerIssues(inner))
}

function isWrongKind(issue: Issue): boolean {
  return issue.code === 'invalid_type' && issue.path.length === 0
}

function sentences(shape: z.ZodType, issue: Issue, owner: string): readonly string[] {
  if (issue.code === 'unrecognized_keys') {
    const known = listFields(shape, issue.path)
    return issue.keys.map((key) => {
      const path = z.core.toDotPath([...issue.path, key])
      return `${owner} ${adviseOnField(path, { field: key, known })}`
    })
  }
  const path = z.core.toDotPath(issue.path)
  return [path === '' ? `${owner}: ${reasonOf(issue)}` : `${owner}: ${path}: ${reasonOf(issue)}`]
}

/** Shows the value only where a number is expected: other values may be secrets. */
function reasonOf(issue: Issue): string {
  const reason = issue.message.replace(/^Invalid (input|option): /, '')
  const expected = /\bexpected (number|int)\b/.exec(reason)?.[1]
  if (expected === undefined) return reason
  const unit = UNITS.get(issue.path.at(-1))
  const wanted = `expected ${expected === 'int' ? 'a whole number' : 'a number'}${unit === undefined ? '' : ` of ${unit}`}`
  const sentence = reason.replace(/\bexpected (number|int)\b/, wanted).replace(/, received \w+$/, '')
  return `${sentence}, got ${showInput(issue.input)}`
}

function showInput(input: unknown): string {
  if (typeof input === 'string') return JSON.stringify(input.slice(0, 40))
  if (typeof input === 'number' || typeof input === 'bigint') return String(input)
  return input === null ? 'null' : typeof input
}

type Path = readonly PropertyKey[]

/**
 * The definition without its wrong fields, so that the references of its other fields are checked in the same report;
 * undefined if the definition is not valid without them.
 */
export function withoutProblems(kind: keyof typeof SHAPES, definition: unknown): unknown {
  const shape: z.ZodType = SHAPES[kind]
  const parsed = shape.safeParse(definition)
  if (parsed.success) return definition
  const paths = parsed.error.issues.flatMap(innerIssues).flatMap(wrongPaths)
  // Removes elements of a list from the last to the first, so that the indexes of the others stay valid.
  const rest = paths.toSorted(lastFirst).reduce<unknown>(removeAt, definition)
  return shape.safeParse(rest).success ? rest : undefined
}

function wrongPaths(issue: z.core.$ZodIssue): readonly Path[] {
  return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path]
}

function lastFirst(left: Path, right: Path): number {
  return String(right.join('.')).localeCompare(String(left.join('.')), undefined, { numeric: true })
}

function removeAt(value: unknown, [first, ...rest]: Path): unknown {
  if (first === undefined || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const list: readonly unknown[] = value
    if (rest.length === 0) return list.filter((_element, index) => index !== first)
    return list.map((element, index) => (index === first ? removeAt(element, rest) : element))
  }
  const fields = value as Readonly<Record<PropertyKey, unknown>>
  if (rest.length > 0) return { ...fields, [first]: removeAt(fields[first], rest) }
  const { [first]: _wrong, ...others } = fields
  return others
}

/** Lists the fields that an object at this place of a shape may have. */
function listFields(shape: z.core.$ZodType, path: readonly PropertyKey[]): readonly string[] {
  return objectsAt(shape, path).flatMap((object) => Object.keys(object.shape))
}

function objectsAt(shape: z.core.$ZodType, path: readonly PropertyKey[]): readonly z.ZodObject[] {
  if (shape instanceof z.ZodOptional) return objectsAt(shape.unwrap(), path)
  if (shape instanceof z.ZodUnion) return shape.options.flatMap((option) => objectsAt(option, path))
  const [first, ...rest] = path
  if (first === undefined) return shape instanceof z.ZodObject ? [shape] : []
  if (shape instanceof z.ZodArray) return objectsAt(shape.element, rest)
  if (shape instanceof z.ZodRecord) return objectsAt(shape.valueType, rest)
  const field: unknown = shape instanceof z.ZodObject ? shape.shape[String(first)] : undefined
  return field instanceof z.core.$ZodType ? objectsAt(field, rest) : []
}
