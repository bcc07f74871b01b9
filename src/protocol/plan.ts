export type Side = 'a' | 'b'

/**
 * The control facts of an agent that the workflow needs for one run: names, kinds, rules and caps, never texts.
 * At most 32 KB as JSON. Prompt texts, tool descriptions and schemas are in the store under `digest`, so that a
 * run keeps its own while workers change.
 */
export interface Plan {
  readonly digest: string
  readonly agent: string
  readonly type: 'ai_human' | 'dual_ai'
  readonly maxSessionTurns: number | null
  readonly caps: RunCaps
  readonly sides: { readonly a: SidePlan; readonly b: SidePlan | null }
  /** The prompts of the sides, and those that they reach as tools. */
  readonly prompts: Readonly<Record<string, PromptPlan>>
}

/** The runtime's own caps, which apply to every agent; a worker may set them. */
export interface RunCaps {
  readonly stepsPerRun: number
  /** The cap for agents that set no `maxSessionTurns`. */
  readonly sessionTurns: number
  /** Identical tool errors in a row. */
  readonly repeatedToolErrors: number
  /** Steps with tool calls in one run. Absent: as many as there are steps. */
  readonly toolIterations?: number
  /** Steps that one activity may do, if it runs ahead of the workflow. Absent: each call is an activity of its own. */
  readonly stepsPerActivity?: number
}

/** Whether one activity does several steps: `true` for the usual number, a number for so many. */
export type RunAhead = boolean | number

export interface SidePlan {
  readonly label: string | null
  readonly prompt: string
  readonly stopOnResponse: boolean
  readonly stopTool: string | null
  readonly maxSteps: number | null
  /** Name of the tool; the activities have the mapping of its arguments to the payload. */
  readonly sessionStop: string | null
  readonly sessionFail: string | null
}

export interface PromptPlan {
  readonly model: string
  /** The task queue on which the model and its fallbacks are called. @default the thread's own task queue */
  readonly taskQueue?: string
  /** How many times in a row the model is called for the rest of a truncated answer. @default 0 */
  readonly continueCutAnswers?: number
  readonly tools: Readonly<Record<string, ToolPlan>>
}

/** `timeout` in milliseconds. */
export type ToolPlan =
  /** `taskQueue`: the task queue on which it runs. @default the thread's own */
  | { readonly kind: 'function'; readonly timeout: number; readonly taskQueue?: string }
  | { readonly kind: 'prompt'; readonly prompt: string }
  | { readonly kind: 'hand_off'; readonly agent: string }
  /** A subagent that is not resumable is called by its own name. The activities decide whether the call waits. */
  | { readonly kind: 'subagent'; readonly agent: string }
  /** The lifecycle tools of resumable subagents; the arguments name the subagent. */
  | { readonly kind: 'subagent_create' }
  | { readonly kind: 'subagent_message' }

/** @throws for a side that the plan does not have: a bug of the caller */
export function sidePlanOf(plan: Plan, side: Side): SidePlan {
  const sidePlan = plan.sides[side]
  if (sidePlan === null) throw new Error(`The plan of agent ${plan.agent} has no side ${side}.`)
  return sidePlan
}

/** @throws for a prompt that the plan does not have: a bug of the caller */
export function promptPlanOf(plan: Plan, name: string): PromptPlan {
  const prompt = Object.hasOwn(plan.prompts, name) ? plan.prompts[name] : undefined
  if (prompt === undefined) throw new Error(`The plan of agent ${plan.agent} has no prompt ${name}.`)
  return prompt
}

/** The plan of a listed tool. A model may call a tool `constructor`: only own names of the plan count. */
export function toolPlanOf(plan: Plan, prompt: string, name: string): ToolPlan | undefined {
  const { tools } = promptPlanOf(plan, prompt)
  return Object.hasOwn(tools, name) ? tools[name] : undefined
}

/** Before its first plan a thread does not have the sides of its agent: without a side b, a message for it is side a's. */
export function actualSide(plan: Plan, side: Side): Side {
  return plan.sides.b === null ? 'a' : side
}

/** The model of a side's own prompt. */
export function modelOf(plan: Plan, side: Side): string {
  return promptPlanOf(plan, sidePlanOf(plan, actualSide(plan, side)).prompt).model
}
