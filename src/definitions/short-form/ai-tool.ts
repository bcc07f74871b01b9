/**
 * Tools of the AI SDK, made by its `tool()` or by an MCP client.
 *
 * Owns: which of their fields count, which are refused by name, and how their answers become results.
 * Does not own: the check of the arguments (`plan/`), and plain answers of our own tools (`activities/tool/tool-values.ts`).
 * Invariant: one tool object is one definition, so agents that share it share its name.
 */
import { isObject, withoutUndefined } from '../../protocol/values.js'
import type { Fields, JsonValue } from '../../protocol/values.js'
import { foreignJsonSchema, isForeignSchema } from '../plan/foreign-schema.js'
import type { ThreadState } from '../thread-state.js'
import type { ToolAnswer, ToolResult, ToolResultPart } from '../tool-result.js'
import type { ToolDefinition } from '../tool.js'

/** A tool of the AI SDK. */
export interface AiTool {
  readonly inputSchema: unknown
  readonly description?: unknown
  readonly execute?: unknown
}

export function isAiTool(value: unknown): value is AiTool {
  return isObject(value) && 'inputSchema' in value
}

const KEPT = ['strict', 'providerOptions']
/** For people and for the compiler only. */
const WITHOUT_EFFECT = ['title', 'metadata', '_meta']
const READ = [
  'type',
  'description',
  'inputSchema',
  'outputSchema',
  'execute',
  'needsApproval',
  'toModelOutput',
]

/** Fields that would be lost in silence, and what to do in their place. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ['onInputStart', 'follow the events of the thread'],
  ['onInputDelta', 'follow the events of the thread'],
  ['onInputAvailable', 'write a hook before_tool_call'],
  ['contextSchema', 'give values to the thread as variables, and read them in a tool of defineTool'],
  ['inputExamples', 'write examples into the descriptions of the schema'],
  ['deferLoading', 'leave it out, all tools of an agent are offered'],
])

/** The definition that an AI SDK tool stands for, or what is wrong with it. */
type ReadTool = { readonly tool: ToolDefinition } | { readonly problems: readonly string[] }

const known = new WeakMap<object, ReadTool>()

export function readAiTool(given: AiTool): ReadTool {
  const read = known.get(given) ?? readFields({ ...given })
  known.set(given, read)
  return read
}

function readFields(fields: Fields): ReadTool {
  const problems = problemsOf(fields)
  if (problems.length > 0) return { problems }
  const { description, needsApproval, execute, outputSchema, toModelOutput } = fields
  const definition = {
    ...withoutUndefined(Object.fromEntries(KEPT.map((field) => [field, fields[field]]))),
    description,
    args: schemaOf(fields['inputSchema']),
    execute:
      typeof execute === 'function'
        ? runBy(execute as Execute, toModelOutput as ToModelOutput | undefined)
        : answeredFromOutside(schemaOf(outputSchema)),
    ...(needsApproval !== undefined && {
      needsApproval:
        typeof needsApproval === 'function' ? approvalBy(needsApproval as Approves) : needsApproval,
    }),
  }
  // `registry()` checks the fields.
  return { tool: definition as ToolDefinition }
}

function problemsOf(fields: Fields): readonly string[] {
  const { type, description, execute, toModelOutput } = fields
  if (type !== undefined && type !== 'function' && type !== 'dynamic')
    return [
      `is a tool of type '${typeof type === 'string' ? type : typeof type}', which its provider runs or defines: expected one with an execute of yours`,
    ]
  const problems = Object.keys(fields).flatMap((field) => {
    if ([...KEPT, ...WITHOUT_EFFECT, ...READ].includes(field) || fields[field] === undefined) return []
    const advice = REFUSED.get(field)
    return [`has ${field}, which has no effect here: ${advice ?? 'leave it out'}`]
  })
  if (typeof description === 'function')
    problems.push('has a description that is a function: expected a text, which is the same in each step')
  if (execute !== undefined && typeof execute !== 'function')
    problems.push('has an execute that is no function')
  if (toModelOutput !== undefined && typeof toModelOutput !== 'function')
    problems.push('has a toModelOutput that is no function')
  return problems
}

/** The AI SDK also takes a function that makes the schema. */
function schemaOf(schema: unknown): unknown {
  return typeof schema === 'function' && !('~standard' in schema) ? (schema as () => unknown)() : schema
}

/** What the AI SDK gives to functions of a tool, as far as it is known here. */
interface ExecutionOptions {
  readonly toolCallId: string
  readonly messages: never
  readonly abortSignal: AbortSignal | undefined
}

type Execute = (input: unknown, options: ExecutionOptions) => unknown
type Approves = (input: unknown, options: Omit<ExecutionOptions, 'abortSignal'>) => unknown
type ToModelOutput = (given: {
  readonly toolCallId: string
  readonly input: unknown
  readonly output: unknown
}) => unknown

function optionsOf(toolCallId: string, state: ThreadState): ExecutionOptions {
  return {
    toolCallId,
    abortSignal: state.execution?.abortSignal,
    get messages(): never {
      throw new Error(
        'The messages of a thread are not given to a tool of the AI SDK: write it with defineTool, and read state.getMessages().',
      )
    },
  }
}

function runBy(execute: Execute, toModelOutput: ToModelOutput | undefined): ToolDefinition['execute'] {
  return async (state, input, call) => {
    const output = await lastOf(execute(input, optionsOf(call.id, state)))
    if (toModelOutput !== undefined)
      return toToolResult(await toModelOutput({ toolCallId: call.id, input, output }))
    return plain(output)
  }
}

/** Of a tool that streams its output the last value counts. */
async function lastOf(output: unknown): Promise<unknown> {
  if (typeof output !== 'object' || output === null || !(Symbol.asyncIterator in output)) return output
  let last: unknown
  for await (const value of output as AsyncIterable<unknown>) last = value
  return last
}

/** A value that looks like a result of ours is none: the tool knows nothing of it. */
function plain(output: unknown): ToolAnswer {
  if (output === undefined) return undefined
  const json: unknown = JSON.stringify(output)
  if (typeof json !== 'string')
    throw new Error(`Expected a value that is JSON from the tool, got a ${typeof output}.`)
  return { status: 'success', result: JSON.parse(json) as JsonValue }
}

/** A tool without code waits for its answer from outside, which has to fit its output schema. */
function answeredFromOutside(outputSchema: unknown): ToolDefinition['execute'] {
  const form = isForeignSchema(outputSchema) ? foreignJsonSchema(outputSchema) : undefined
  return () => ({ status: 'pending', ...(form !== undefined && { form: form as never }) })
}

function approvalBy(needsApproval: Approves): NonNullable<ToolDefinition['needsApproval']> {
  // The call has no id before it is judged. Whatever is not false asks.
  return async (state, input) => (await needsApproval(input, optionsOf('', state))) !== false
}

/** What `toModelOutput` has made. @throws for parts that only one provider could read */
function toToolResult(output: unknown): ToolResult {
  const { type, value, reason }: Fields = isObject(output) ? output : {}
  switch (type) {
    case 'text':
    case 'json':
      return { status: 'success', result: value as JsonValue }
    case 'error-text':
    case 'error-json':
      return { status: 'error', error: typeof value === 'string' ? value : JSON.stringify(value) }
    case 'execution-denied':
      return {
        status: 'error',
        error: typeof reason === 'string' ? reason : 'The tool has denied the call.',
        error_code: 'denied',
      }
    case 'content':
      return { status: 'success', content: (Array.isArray(value) ? value : []).map(toPart) }
    default:
      throw new Error(`Expected an output of toModelOutput, got the type ${String(type)}.`)
  }
}

function toPart(part: unknown): ToolResultPart {
  const { type, text, data, mediaType, filename }: Fields = isObject(part) ? part : {}
  if (type === 'text') return { type: 'text', text: String(text) }
  const bytes = isObject(data) && data['type'] === 'data' ? data['data'] : data
  const isFile = type === 'file' || type === 'file-data' || type === 'image-data' || type === 'media'
  if (!isFile || !(typeof bytes === 'string' || bytes instanceof Uint8Array) || typeof mediaType !== 'string')
    throw new Error(
      `Expected parts of toModelOutput to be texts, or files with their data, got the type ${String(type)}: a URL or an id of one provider cannot be stored.`,
    )
  const name = typeof filename === 'string' ? filename : `file.${mediaType.split('/')[1] ?? 'bin'}`
  return { type: 'file', file: { name, mimeType: mediaType, data: bytes } }
}
