/**
 * What a worker records about the tools of an agent when it starts, so that clients can say what a thread may call without a
 * worker.
 * Owns: the facts of each kind of tool.
 * Does not own: what a model is offered (`plan/offered-tools.ts`), and what is decided about a call (`policy/`).
 * Invariants: it is JSON, and holds no code and no value of a variable.
 */
import type { ActionTraits } from '../policy/action.js'
import { traitsOfStart } from '../policy/action.js'
import type { ApprovalRule } from '../policy/approval.js'
import type { PermissionMode } from '../policy/judge.js'
import type { Permissions } from '../policy/permissions.js'
import { LIMITS } from '../protocol/limits.js'
import type { Side } from '../protocol/plan.js'
import type { WorkflowMode } from '../protocol/payloads/tool-workflow.js'
import { withoutUndefined } from '../protocol/values.js'
import { requireDefinition } from './known-definitions.js'
import type { Registry } from './known-definitions.js'
import { LIFECYCLE_TOOLS } from './plan/lifecycle-tools.js'
import { isResumable, listTools } from './plan/listed-tools.js'
import type { ListedTool } from './plan/listed-tools.js'
import { promptOf } from './plan/plan-content.js'
import type { PlanContent, PromptContent } from './plan/plan-content.js'
import type { SourceTool } from './tool-source.js'
import type { ToolDefinition } from './tool.js'

/** The tools of an agent's prompts, and what says whether they may be called. */
export interface AgentInventory {
  /** The rules of the agent. */
  readonly permissions?: Permissions
  readonly worker: WorkerJudgement
  /** The names of variables that threads of this agent do not inherit. */
  readonly scoped: readonly string[]
  readonly sides: Readonly<Record<Side, SideInventory | null>>
}

/** How the worker judges calls. */
export interface WorkerJudgement {
  readonly permissions?: Permissions
  readonly permissionMode?: PermissionMode
  /** Who may approve. */
  readonly approval?: ApprovalRule
  readonly hasPolicy: boolean
}

export interface SideInventory extends Pick<
  PromptContent,
  'tools' | 'subagents' | 'providerTools' | 'toolSources'
> {
  readonly prompt: string
  /** Why its model calls no tools; null: it may. */
  readonly refusal: string | null
  /** The variables that enable subagents, by name. */
  readonly flags: Readonly<Record<string, Flag>>
  /** By the name of the tool. */
  readonly facts: Readonly<Record<string, ToolFacts>>
}

/** A variable that enables a subagent. */
export interface Flag {
  /** As the agent declares it; null: it does not. */
  readonly type: 'text' | 'secret' | null
  /** Whether it is on where no thread has a value. */
  readonly isOn: boolean
}

export interface ToolFacts {
  readonly kind:
    | 'function'
    /** Of a source of tools, such as an MCP server. */
    | 'source'
    | 'remote'
    | 'prompt'
    | 'hand_off'
    | 'subagent'
    /** Their traits are those of the agent that a call names. */
    | 'subagent_create'
    | 'subagent_message'
  readonly traits: ActionTraits
  /** Whether a person is always asked, or the arguments decide. */
  readonly needsApproval: boolean | 'by_arguments'
  /** Who may approve a call. */
  readonly approval?: ApprovalRule
  /** Whether a call that a crash interrupted runs again. */
  readonly idempotent: boolean
  /** Milliseconds; null: no limit of its own. */
  readonly timeout: number | null
  /** The task queue of its code, unless it is the thread's own. */
  readonly taskQueue?: string
  /** The activity of a remote tool. */
  readonly activity?: string
  /** The workflow of a tool that is one. */
  readonly workflow?: { readonly type: string; readonly mode: WorkflowMode }
  /** What a stop does to its work. @default 'cancel' */
  readonly interruptBehavior?: 'cancel' | 'abandon'
}

/** The tools of one side; null: the agent has no such side. */
export function sideTools(
  registry: Registry,
  content: PlanContent,
  side: Side,
): Omit<SideInventory, 'flags'> | null {
  if (content.plan.sides[side] === null) return null
  const prompt = promptOf(content, side)
  const { name, tools, subagents, providerTools, toolSources } = prompt
  const definition = requireDefinition(registry.prompt(name), `prompt '${name}'`)
  const listed = listTools(registry, definition)
  return {
    prompt: name,
    refusal: refusalOf(content, prompt),
    tools,
    subagents,
    // Without sources nothing else needs these names.
    ...(toolSources !== undefined && { toolSources, ...withoutUndefined({ providerTools }) }),
    facts: {
      ...Object.fromEntries(
        listed.filter((tool) => !isResumable(tool)).map((tool) => [tool.name, factsOf(tool)]),
      ),
      ...(listed.some(isResumable) ? LIFECYCLE_FACTS : {}),
    },
  }
}

function refusalOf(
  { models }: PlanContent,
  prompt: PromptContent & { readonly name: string },
): string | null {
  if (prompt.toolChoice === 'none') return `The prompt "${prompt.name}" has the toolChoice "none".`
  const candidates = [prompt.model, ...(models[prompt.model]?.fallbacks ?? [])]
  return candidates.some((name) => models[name]?.supportsToolCalls === true)
    ? null
    : `No model of the prompt "${prompt.name}" can call tools.`
}

/** What holds for the start of all agents and prompts: it writes to the store only, so it may run again. */
const OF_STARTS = { traits: traitsOfStart(), needsApproval: false, idempotent: true, timeout: null } as const

const LIFECYCLE_FACTS: SideInventory['facts'] = {
  [LIFECYCLE_TOOLS.create]: { ...OF_STARTS, kind: 'subagent_create' },
  [LIFECYCLE_TOOLS.message]: { ...OF_STARTS, kind: 'subagent_message' },
}

function factsOf(listed: ListedTool): ToolFacts {
  if (listed.kind === 'function') return factsOfFunction(listed.tool)
  const { capabilities } = listed.kind === 'prompt' ? listed.prompt : listed.agent
  return {
    ...OF_STARTS,
    kind: listed.kind,
    traits: traitsOfStart(capabilities),
    timeout: listed.kind === 'subagent' ? (listed.config.timeout ?? null) : null,
  }
}

/** What is known of a tool of a source, as a run has got it. */
export function factsOfSourceTool(tool: SourceTool): ToolFacts {
  const { capabilities = [], readOnly = false, destructive = false } = tool
  return {
    kind: 'source',
    traits: { capabilities, readOnly, destructive },
    needsApproval: tool.needsApproval ?? false,
    idempotent: tool.idempotent ?? false,
    timeout: tool.timeout ?? LIMITS.toolTimeout,
  }
}

function factsOfFunction(tool: ToolDefinition): ToolFacts {
  const { capabilities = [], readOnly = false, destructive = false } = tool
  const { needsApproval = false, approval, remote, workflow } = tool
  const taskQueue = remote?.taskQueue ?? workflow?.taskQueue ?? tool.taskQueue
  return {
    kind: remote === undefined ? 'function' : 'remote',
    traits: { capabilities, readOnly, destructive },
    needsApproval: typeof needsApproval === 'function' ? 'by_arguments' : needsApproval,
    ...(approval === undefined ? {} : { approval }),
    idempotent: tool.idempotent ?? false,
    timeout: (workflow?.mode === 'execute' ? workflow.timeout : tool.timeout) ?? LIMITS.toolTimeout,
    ...(taskQueue === undefined ? {} : { taskQueue }),
    ...(remote === undefined ? {} : { activity: remote.activity }),
    ...(workflow === undefined
      ? {}
      : {
          workflow: { type: workflow.type, mode: workflow.mode },
          interruptBehavior: workflow.interruptBehavior,
        }),
  }
}
