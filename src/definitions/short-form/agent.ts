/**
 * The short form of an agent: one object that names its model, tools and other agents by themselves.
 *
 * Owns: what `agent()` takes, and how a short form is recognized.
 * Does not own: the definitions of Standard Agents that it stands for (`expand.ts`), and their checks (`checks/`): whatever runs, plans or
 * inspects agents knows those alone.
 */
import type { z } from 'zod'
import type { AgentDefinition } from '../agent.js'
import type { AnyHook } from '../hook.js'
import type { ArgumentSchema } from '../plan/argument-schema.js'
import type { PromptDefinition, ProviderTool } from '../prompt.js'
import type { SubagentToolConfig } from '../subagent-tool.js'
import type { ToolSource } from '../tool-source.js'
import type { ToolArguments, ToolDefinition } from '../tool.js'
import type { AgentModel } from './agent-model.js'
import type { AiTool } from './ai-tool.js'

/** An agent to call, in either form. */
type AnyAgent = Agent | AgentDefinition

/** A subagent with settings of its entry. */
export interface SubagentSettings extends Omit<SubagentToolConfig, 'name' | 'session'> {
  readonly agent: AnyAgent
}

/** Fields that mean what they mean for an agent or a prompt of Standard Agents. */
type SharedFields = Pick<
  AgentDefinition,
  | 'maxToolIterations'
  | 'providerPatience'
  | 'runAhead'
  | 'permissions'
  | 'budget'
  | 'capabilities'
  | 'title'
  | 'description'
  | 'icon'
  | 'env'
> &
  Pick<
    PromptDefinition,
    | 'variables'
    | 'parallelToolCalls'
    | 'reasoning'
    | 'recentImageThreshold'
    | 'continueCutAnswers'
    | 'window'
    | 'compaction'
    | 'toolChoice'
    | 'providerTools'
    | 'providerOptions'
  >

type AgentTools = Readonly<Record<string, ToolDefinition | AiTool | ProviderTool | ToolSource>>

/** An agent in the short form. Its conversation and its earlier tool calls are always in its context. */
export interface AgentOptions<
  Name extends string = string,
  Output extends ArgumentSchema | undefined = ArgumentSchema | undefined,
  Tools extends AgentTools = AgentTools,
> extends SharedFields {
  /** Unique among agents. */
  readonly name: Name
  /** A model of the AI SDK, such as `openai('gpt-5-mini')`, one of `defineModel`, its name, or one of these with settings. */
  readonly model: AgentModel
  /** The system text. Parts can include prompts of the registry and show variables. */
  readonly instructions: PromptDefinition['prompt']
  /** Tools of `defineTool`, or of the AI SDK's `tool()`, by the names that the model calls. */
  readonly tools?: Tools
  /**
   * Agents that work for this one in threads of their own, by their names. An ordinary agent gets a session that ends with its answer,
   * which is the result of the call.
   */
  readonly subagents?: Readonly<Record<string, AnyAgent | SubagentSettings>>
  /**
   * Agents that can take the conversation over, by their names. A function that returns them is called when a registry is made, so
   * agents can hand over to each other. Its result has no type here: the types of two such agents would need each other.
   */
  readonly handoffs?: Readonly<Record<string, AnyAgent>> | CallableFunction
  /** Arguments of a call of this agent by another one. @default `{ message }` as a subagent, none for a handoff */
  readonly input?: z.ZodObject
  /**
   * The form of the answer that ends a run, as an object of zod, of another Standard Schema, or `jsonSchema()` of the AI SDK: `run.output`
   * has it. An answer that does not fit is asked for again, three times; then the run ends with reason `output_invalid`.
   */
  readonly output?: Output
  /** Steps of one run, after which it ends with reason `max_steps`. */
  readonly maxSteps?: number
  readonly hooks?: readonly AnyHook[]
}

declare const TYPES: unique symbol
const MARKER: unique symbol = Symbol.for('everthread.Agent')

/** An agent in the short form, for `registry({ agents })`, a worker's `agents`, or another agent. */
export interface Agent<Name extends string = string, Output = unknown, Tools = unknown> {
  readonly [MARKER]: true
  readonly name: Name
  readonly options: AgentOptions<Name>
  /** For the compiler only. */
  readonly [TYPES]?: { readonly output: Output; readonly tools: Tools }
}

/**
 * Declares an agent in the short form: `agent({ name, model: openai('gpt-5-mini'), instructions, tools: { refund } })`. It stands for
 * an agent, a prompt, a model and tools of Standard Agents; `registry()` and the worker check them.
 */
export function agent<
  const Name extends string,
  Output extends ArgumentSchema | undefined = undefined,
  Tools extends AgentTools = Record<never, never>,
>(options: AgentOptions<Name, Output, Tools>): Agent<Name, OutputOf<Output>, Tools> {
  return { [MARKER]: true, name: options.name, options }
}

/** What an agent without an output makes is a text alone. */
type OutputOf<Schema> = Schema extends undefined ? never : ToolArguments<Schema>

/** What the agents of a list make; that of the standard form is not known to the compiler. */
export type OutputsOf<Agents extends readonly unknown[]> = OutputOfAgent<Agents[number]>

type OutputOfAgent<One> = One extends Agent<string, infer Output> ? Output : unknown

/** The tools that the agents of a list have themselves. */
export type ToolsOf<Agents extends readonly unknown[]> = Together<ToolsOfAgent<Agents[number]>>

type ToolsOfAgent<One> = One extends Agent<string, unknown, infer Tools> ? Defined<Tools> : unknown

/** What is known of a tool of the AI SDK is that models may call it. */
type Defined<Tools> = {
  readonly [
    Name in keyof Tools as Tools[Name] extends ToolSource ? never : Name
  ]: Tools[Name] extends ToolDefinition<infer _> ? Tools[Name] : ToolDefinition
}

/** The intersection of the members of a union. */
type Together<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never

/** True for an agent in the short form, of any copy of this package. */
export function isAgent(value: unknown): value is Agent {
  return typeof value === 'object' && value !== null && MARKER in value
}
