import type { ActionTraits } from '../policy/action.js'
import type { Budget } from '../policy/budget.js'
import type { Permissions } from '../policy/permissions.js'
import type { RunAhead } from '../protocol/plan.js'
import type { ArgumentSchema } from './plan/argument-schema.js'

/** A tool that ends the session: its name, or its name and the arguments that carry the payload. */
export type SessionToolBinding<Tool extends string = string> =
  | Tool
  | {
      readonly name: Tool
      /** Argument whose value becomes the text of the result or failure. */
      readonly messageProperty?: string
      /** Argument that holds one attachment path or several. */
      readonly attachmentsProperty?: string
    }

/** One side of a conversation: its prompt, and when its turn and the session end. */
export interface SideConfig<Prompt extends string = string, Tool extends string = string> {
  readonly prompt: Prompt
  readonly label?: string
  /**
   * True if an answer without tool calls ends this side's turn.
   * @default true
   */
  readonly stopOnResponse?: boolean
  /** Calling this tool ends this side's turn, after it has run. */
  readonly stopTool?: Tool
  /** Argument or result property of the stop tool whose text becomes a message of this side. */
  readonly stopToolResponseProperty?: string
  /** Steps of this side in one run, after which the run ends with reason `max_steps`. */
  readonly maxSteps?: number
  /** Ends the session as a success. */
  readonly sessionStop?: SessionToolBinding<Tool>
  /** Ends the session as a failure. */
  readonly sessionFail?: SessionToolBinding<Tool>
  /** Publishes a status text to the parent's registry of children. */
  readonly sessionStatus?: SessionToolBinding<Tool>
  /** @deprecated write sessionStop */
  readonly endSessionTool?: SessionToolBinding<Tool>
  /** @deprecated write sessionFail */
  readonly failSessionTool?: SessionToolBinding<Tool>
  /** @deprecated write sessionStatus */
  readonly statusTool?: SessionToolBinding<Tool>
}

/** An agent: its kind of conversation, its sides, and whether other agents may call it. */
// A new field: `agentShape` checks it, and `PlanContent` takes it to the step, as `providerPatience` shows.
export interface AgentDefinition<
  Name extends string = string,
  Prompt extends string = string,
  Tool extends string = string,
  Hook extends string = string,
> {
  /** Unique among agents. */
  readonly name: Name
  /**
   * `ai_human`: a person is side B. `dual_ai`: two models talk to each other until a session tool ends it.
   * @default 'ai_human'
   */
  readonly type?: 'ai_human' | 'dual_ai'
  readonly sideA: SideConfig<Prompt, Tool>
  /** Required for `dual_ai`. */
  readonly sideB?: SideConfig<Prompt, Tool>
  /** Turns of both sides together, after which a `dual_ai` session ends with reason `max_session_turns`. */
  readonly maxSessionTurns?: number
  /**
   * Steps with tool calls in one run, after which the run ends with reason `max_steps`. Where the worker has a limit, too
   * (`limits.toolIterations`), the smaller one counts.
   * @default none beside those of steps
   */
  readonly maxToolIterations?: number
  /**
   * Milliseconds that one run waits altogether for model providers that ask for a later request (429, 503, 529), before it
   * ends with reason `model_failed`. With 0 it does not wait.
   * @default 86,400,000, a day
   */
  readonly providerPatience?: number
  /**
   * Whether one activity does several steps of a run: `true` for 10, a number for so many, `false` for one activity for each call
   * of a model or tool.
   * @default that of the worker
   */
  readonly runAhead?: RunAhead
  /** Rules about capabilities, for all calls that this agent makes. Other sources can only make them stricter. */
  readonly permissions?: Permissions
  /** What each of its runs may use; worker and thread can only lower a limit. */
  readonly budget?: Budget
  /**
   * The form of the answer that ends a run: an object of zod, of another Standard Schema, or `jsonSchema()` of the AI SDK. An answer that
   * does not fit is asked for again, three times; then the run ends with reason `output_invalid`. Only for type `ai_human`.
   */
  readonly output?: ArgumentSchema
  /** The authority that another agent needs to call this one, to send it a message, or to hand the thread over to it. */
  readonly capabilities?: ActionTraits['capabilities']
  readonly title?: string
  readonly description?: string
  readonly icon?: string
  /**
   * True if prompts may list this agent among their tools.
   * @default false
   */
  readonly exposeAsTool?: boolean
  /** The description for the model that may call it. @default `description` */
  readonly toolDescription?: string
  /** Values of variables that neither the thread nor the worker sets. */
  readonly env?: Readonly<Record<string, string>>
  /** Ids of hooks, for prompts that list none. */
  readonly hooks?: readonly Hook[]
  readonly packageName?: string
  readonly version?: string
  readonly author?: string
  readonly license?: string
}

/** Declares an agent; `registry()` checks it. */
export function defineAgent<
  const Name extends string,
  const Prompt extends string,
  const Tool extends string = never,
  const Hook extends string = never,
>(definition: AgentDefinition<Name, Prompt, Tool, Hook>): AgentDefinition<Name, Prompt, Tool, Hook> {
  return definition
}

/** The session tools of a side, each with the name that earlier drafts of Standard Agents gave it. */
export const SESSION_TOOLS = [
  ['sessionStop', 'endSessionTool'],
  ['sessionFail', 'failSessionTool'],
  ['sessionStatus', 'statusTool'],
] as const

/** A value that an agent needs from outside. The first source that has it counts: thread, its parents, worker, agent, prompt. */
export interface VariableDefinition {
  readonly name: string
  /** `secret`: encrypted at rest, for tools only, never in a prompt. */
  readonly type: 'text' | 'secret'
  /** A run without its value is blocked until one is supplied. */
  readonly required: boolean
  /**
   * True if a parent's value does not count here.
   * @default false
   */
  readonly scoped?: boolean
  readonly description: string
}
